import type { ErrorCode } from '../../src/platform/errors/error-codes.js'
import { createClosedObjectSchema, type Json } from './schemas.js'

interface ErrorDescription {
  details: Json
  example: { message: string; details: Json }
}

const createTextSchema = (description: string): Json => ({ type: 'string', description })
const createIntegerSchema = (description: string): Json => ({ type: 'integer', format: 'int64', description })
const createTextListSchema = (description: string): Json => ({ type: 'array', items: { type: 'string' }, description })
const noMembers: Json = { type: 'object', additionalProperties: true, description: 'This error has no details.' }

const describeError = (message: string, exampleDetails: Json = {}, details = noMembers): ErrorDescription => ({
  details,
  example: { message, details: exampleDetails },
})

/** Describes an error whose details have only optional members, because they depend on the cause of the error. */
const describeErrorWithOptionalDetails = (
  message: string,
  exampleDetails: Json,
  properties: Record<string, Json>,
): ErrorDescription => describeError(message, exampleDetails, { type: 'object', properties, additionalProperties: true })

const fileId = 'file_01kqzv6y8xw3f5t2n7m4c9d1b0'
const file = { file_id: createTextSchema('ID of the file.') }
const encrypted = { type: 'boolean', description: 'True if the file or a part of it requires a password.' }
const policy = { encrypted, active_content: createTextListSchema('Short descriptions of the active content.') }
const scanner = { engine: createTextSchema('Name and version of the scanner.') }

/** Details for every error code. The type requires an entry for each new code. */
export const errorDescriptions: Record<ErrorCode, ErrorDescription> = {
  bad_user_input: describeError(
    '`page_size` is 500. It must be between 1 and 100.',
    { fields: [{ field: 'page_size', message: 'must be between 1 and 100' }] },
    createClosedObjectSchema({
      fields: {
        type: 'array',
        minItems: 1,
        items: createClosedObjectSchema({
          field: createTextSchema('Name of the field, as in the request.'),
          message: createTextSchema('Rule that the value violates.'),
        }),
        description: 'All invalid fields, named as in the request.',
      },
    }),
  ),
  unauthenticated: describeErrorWithOptionalDetails(
    'Missing credential. Send `Authorization: Bearer <API key or token>`.',
    {},
    { second_factor: createTextSchema('`code` if the sign-in requires a second-factor code.') },
  ),
  forbidden: describeErrorWithOptionalDetails(
    "This credential lacks the scope 'metadata'. Use a credential that has it.",
    { scope: 'metadata' },
    { scope: createTextSchema('Scope that the credential lacks.') },
  ),
  quarantined: describeErrorWithOptionalDetails(
    `File '${fileId}' is quarantined: a later scan found a virus, or the file was restored and is waiting to be scanned. An admin can release or purge it.`,
    { file_id: fileId },
    file,
  ),
  not_found: describeError(
    `File '${fileId}' was not found.`,
    { file: fileId },
    {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Kind of the missing resource and its ID or key, for example `{ "file": "file_…" }`.',
    },
  ),
  method_not_allowed: describeErrorWithOptionalDetails(
    'Method PUT is not allowed for this path. Allowed methods: GET, HEAD.',
    { allowed: ['GET', 'HEAD'] },
    { allowed: createTextListSchema('Methods that the path supports.') },
  ),
  conflict: describeErrorWithOptionalDetails(
    "Context 'invoices' already exists. Choose another key.",
    { context_key: 'invoices' },
    {
      context_key: createTextSchema('Key of the context that already exists, is disabled or contains files.'),
      status: createTextSchema('Current status of the resource.'),
      files: createIntegerSchema('Number of files in the context.'),
      limit: createIntegerSchema('Maximum number of resources of this kind.'),
      upload_offset: createIntegerSchema('Number of bytes received in a resumable upload.'),
      resumable: { type: 'boolean', description: 'True if the upload can be resumed.' },
    },
  ),
  on_hold: describeErrorWithOptionalDetails(
    `File '${fileId}' is on hold and cannot be deleted. Release the hold first.`,
    { file_id: fileId },
    file,
  ),
  idempotency_mismatch: describeError(
    "Idempotency-Key 'order-4711' was used with a different request body. Send the same body, or another key.",
  ),
  size_exceeded: describeError(
    "The file size is 10485761 bytes. The limit of context 'invoices' is 10 MB (10485760 bytes).",
    { size_bytes: 10485761, limit_bytes: 10485760 },
    createClosedObjectSchema({
      size_bytes: createIntegerSchema('Size of the file in bytes, or its minimum size if the upload was stopped.'),
      limit_bytes: createIntegerSchema('Maximum file size in bytes.'),
    }),
  ),
  unsupported_media_type: describeError('The body has no Content-Type. Send application/json.'),
  invalid_extension: describeErrorWithOptionalDetails(
    "Extension 'exe' is not allowed in context 'invoices'. Allowed extensions: pdf, png.",
    { extension: 'exe', allowed: ['pdf', 'png'] },
    {
      extension: createTextSchema('Extension of the file name, without the dot.'),
      allowed: createTextListSchema("Extensions that the context allows. Present if the file's extension is not allowed."),
      recognised: { type: ['string', 'null'], description: 'Detected file type, if it does not match the extension.' },
      content_type: { type: ['string', 'null'], description: 'Media type of the detected file type.' },
    },
  ),
  blank_file: describeErrorWithOptionalDetails(
    'The file is empty (0 bytes).',
    { size_bytes: 0 },
    { size_bytes: createIntegerSchema('Size of the file in bytes.') },
  ),
  corrupt_file: describeErrorWithOptionalDetails(
    'Not a valid .png file: the image is truncated.',
    { reader: 'png' },
    {
      reader: createTextSchema('Name of the format reader that found the problem.'),
      worker: createTextSchema('Reason why the content could not be read: `died`, `hung` or `out_of_memory`.'),
      trap: createTextSchema('Kind of malicious file, such as a decompression bomb.'),
      sha256: createTextSchema('SHA-256 checksum of the file, if it differs from the one that the upload link requires.'),
      expected_sha256: createTextSchema('SHA-256 checksum that the upload link requires.'),
      ...policy,
    },
  ),
  virus_detected: describeErrorWithOptionalDetails(
    'Virus found by ClamAV 1.4.3: Win.Test.EICAR_HDB-1.',
    { signature: 'Win.Test.EICAR_HDB-1', engine: 'ClamAV 1.4.3' },
    { signature: createTextSchema('Name of the signature that matched.'), ...scanner },
  ),
  encrypted_file: describeErrorWithOptionalDetails(
    "The file, or a part of it, requires a password. Context 'invoices' rejects encrypted files.",
    { encrypted: true },
    policy,
  ),
  active_content: describeErrorWithOptionalDetails(
    "The file contains active content (VBA macros). Context 'invoices' rejects active content.",
    { active_content: ['VBA macros'] },
    policy,
  ),
  scan_incomplete: describeErrorWithOptionalDetails(
    'A part of the file is encrypted and cannot be scanned.',
    { cause: 'a part of the file is encrypted and cannot be scanned', engine: 'ClamAV 1.4.3' },
    { cause: createTextSchema('Unscanned part of the file and the reason why it was not scanned.'), ...scanner },
  ),
  quota_exceeded: describeErrorWithOptionalDetails(
    "Context 'invoices' has 1024 bytes left of its 10240 MB quota. The file is 48213 bytes. Delete files or increase the quota.",
    { quota_mb: 10240, used_bytes: 10737417216, remaining_bytes: 1024, size_bytes: 48213 },
    {
      quota_mb: createIntegerSchema('Quota of the context or tenant in MB (1 MB is 1,048,576 bytes).'),
      used_bytes: createIntegerSchema('Number of stored bytes.'),
      unfinished_bytes: createIntegerSchema('Number of bytes in unfinished uploads, if they exhaust the quota.'),
      remaining_bytes: createIntegerSchema('Number of bytes remaining in the quota.'),
      size_bytes: createIntegerSchema('Size of the file or request in bytes.'),
    },
  ),
  rate_limited: describeErrorWithOptionalDetails(
    'Too many calls by this API key. The limit is 120000 per minute. Retry in 12 s.',
    { retry_after: 12 },
    { retry_after: createIntegerSchema('Number of seconds to wait, as in the `Retry-After` header.') },
  ),
  internal_server_error: describeError('Internal error. It was logged with the request id.'),
  scanner_unavailable: describeError('The file could not be scanned: no clamd server is responding correctly. Retry later.'),
  storage_unavailable: describeError('The file store cannot write a file at the moment (connection refused). Retry later.'),
  database_unavailable: describeErrorWithOptionalDetails(
    'The database connection was lost during the commit, so the outcome is unknown. Retry with the same Idempotency-Key, or check whether the change was stored.',
    { outcome: 'unknown' },
    { outcome: { type: 'string', const: 'unknown', description: 'Present if the connection was lost during the commit.' } },
  ),
  overloaded: describeError('The service is overloaded. Retry later.'),
}
