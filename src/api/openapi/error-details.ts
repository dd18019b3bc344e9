import type { ErrorCode } from '../../platform/errors/error-codes.js'
import { closedObject, type Json } from './schemas.js'

/** Schema of an error's `details`, and an example of the error. */
interface ErrorDescription {
  details: Json
  example: { message: string; details: Json }
}

const textSchema = (description: string): Json => ({ type: 'string', description })
const integerSchema = (description: string): Json => ({ type: 'integer', format: 'int64', description })
const textListSchema = (description: string): Json => ({ type: 'array', items: { type: 'string' }, description })
const noMembers: Json = { type: 'object', additionalProperties: true, description: 'This error has no details.' }

const describe = (message: string, exampleDetails: Json = {}, details = noMembers): ErrorDescription => ({
  details,
  example: { message, details: exampleDetails },
})

/** Describes an error whose details have only optional members, because they depend on the cause of the error. */
const describeOptional = (message: string, exampleDetails: Json, properties: Record<string, Json>): ErrorDescription =>
  describe(message, exampleDetails, { type: 'object', properties, additionalProperties: true })

const fileId = 'file_01kqzv6y8xw3f5t2n7m4c9d1b0'
const file = { file_id: textSchema('ID of the file.') }
const encrypted = { type: 'boolean', description: 'True if the file or a part of it requires a password.' }
const policy = { encrypted, active_content: textListSchema('Short descriptions of the active content.') }
const scanner = { engine: textSchema('Name and version of the scanner.') }

/** Details of every error code. The type requires an entry for each new code. */
export const errorDescriptions: Record<ErrorCode, ErrorDescription> = {
  bad_user_input: describe(
    '`page_size` is 500. It must be between 1 and 100.',
    { fields: [{ field: 'page_size', message: 'must be between 1 and 100' }] },
    closedObject({
      fields: {
        type: 'array',
        minItems: 1,
        items: closedObject({
          field: textSchema('Name of the field, as in the request.'),
          message: textSchema('Rule that the value must follow.'),
        }),
        description: 'All invalid fields, named as in the request.',
      },
    }),
  ),
  unauthenticated: describeOptional(
    'Missing credential. Send `Authorization: Bearer <API key or token>`.',
    {},
    { second_factor: textSchema('`code` if the sign-in requires a second-factor code.') },
  ),
  forbidden: describeOptional(
    "This credential lacks the scope 'metadata'. Use a credential that has it.",
    { scope: 'metadata' },
    { scope: textSchema('Scope that the credential lacks.') },
  ),
  quarantined: describeOptional(
    `File '${fileId}' is quarantined: a later scan found a virus, or the file was restored and is waiting to be scanned. An admin can release or purge it.`,
    { file_id: fileId },
    file,
  ),
  not_found: describe(
    `File '${fileId}' was not found.`,
    { file: fileId },
    {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Kind of the missing resource and its ID or key, for example `{ "file": "file_…" }`.',
    },
  ),
  method_not_allowed: describeOptional(
    'Method PUT is not allowed for this path. Allowed methods: GET, HEAD.',
    { allowed: ['GET', 'HEAD'] },
    { allowed: textListSchema('Methods that the path supports.') },
  ),
  conflict: describeOptional(
    "Context 'invoices' already exists. Choose another key.",
    { context_key: 'invoices' },
    {
      context_key: textSchema('Key of the context that already exists, is disabled or contains files.'),
      status: textSchema('Current status of the resource.'),
      files: integerSchema('Number of files in the context.'),
      limit: integerSchema('Maximum number of resources of this kind.'),
      upload_offset: integerSchema('Number of received bytes of a resumable upload.'),
      resumable: { type: 'boolean', description: 'True if the upload can be resumed.' },
    },
  ),
  on_hold: describeOptional(
    `File '${fileId}' is on hold and cannot be deleted. Release the hold first.`,
    { file_id: fileId },
    file,
  ),
  idempotency_mismatch: describe(
    "Idempotency-Key 'order-4711' was used with a different request body. Send the same body, or another key.",
  ),
  size_exceeded: describe(
    "The file size is 10485761 bytes. The limit of context 'invoices' is 10 MB (10485760 bytes).",
    { size_bytes: 10485761, limit_bytes: 10485760 },
    closedObject({
      size_bytes: integerSchema('Size of the file in bytes, or its minimum size if the upload was stopped.'),
      limit_bytes: integerSchema('Maximum size of a file in bytes.'),
    }),
  ),
  unsupported_media_type: describe('The body has no Content-Type. Send application/json.'),
  invalid_extension: describeOptional(
    "Extension 'exe' is not allowed in context 'invoices'. Allowed extensions: pdf, png.",
    { extension: 'exe', allowed: ['pdf', 'png'] },
    {
      extension: textSchema('Extension of the file name, without the dot.'),
      allowed: textListSchema('Extensions that the context allows, if it rejects the extension of the file.'),
      recognized: { type: ['string', 'null'], description: 'Detected file type, if it does not match the extension.' },
      content_type: { type: ['string', 'null'], description: 'Media type of the detected file type.' },
    },
  ),
  blank_file: describeOptional(
    'The file is empty (0 bytes).',
    { size_bytes: 0 },
    { size_bytes: integerSchema('Size of the file in bytes.') },
  ),
  corrupt_file: describeOptional(
    'Not a valid .png file: the image is truncated.',
    { reader: 'png' },
    {
      reader: textSchema('Name of the format reader that found the problem.'),
      worker: textSchema('Reason why the content could not be read: `died`, `hung` or `out_of_memory`.'),
      trap: textSchema('Kind of malicious file, such as a decompression bomb.'),
      sha256: textSchema('SHA-256 checksum of the file, if it differs from the one that the upload link requires.'),
      expected_sha256: textSchema('SHA-256 checksum that the upload link requires.'),
      ...policy,
    },
  ),
  virus_detected: describeOptional(
    'Virus found by ClamAV 1.4.3: Win.Test.EICAR_HDB-1.',
    { signature: 'Win.Test.EICAR_HDB-1', engine: 'ClamAV 1.4.3' },
    { signature: textSchema('Name of the signature that matched.'), ...scanner },
  ),
  encrypted_file: describeOptional(
    "The file, or a part of it, requires a password. Context 'invoices' rejects encrypted files.",
    { encrypted: true },
    policy,
  ),
  active_content: describeOptional(
    "The file contains active content (VBA macros). Context 'invoices' rejects active content.",
    { active_content: ['VBA macros'] },
    policy,
  ),
  scan_incomplete: describeOptional(
    'A part of the file is encrypted and cannot be scanned.',
    { cause: 'a part of the file is encrypted and cannot be scanned', engine: 'ClamAV 1.4.3' },
    { cause: textSchema('Part of the file that was not scanned, with the reason.'), ...scanner },
  ),
  quota_exceeded: describeOptional(
    "Context 'invoices' has 1024 bytes of its quota of 10240 MB left. The file has 48213 bytes. Delete files or increase the quota.",
    { quota_mb: 10240, used_bytes: 10737417216, remaining_bytes: 1024, size_bytes: 48213 },
    {
      quota_mb: integerSchema('Quota of the context or of the tenant, in MB of 1,048,576 bytes.'),
      used_bytes: integerSchema('Number of stored bytes.'),
      unfinished_bytes: integerSchema('Number of bytes in unfinished uploads, if they exhaust the quota.'),
      remaining_bytes: integerSchema('Number of bytes remaining in the quota.'),
      size_bytes: integerSchema('Size of the file or request in bytes.'),
    },
  ),
  rate_limited: describeOptional(
    'Too many calls by this API key. The limit is 120000 per minute. Retry in 12 s.',
    { retry_after: 12 },
    { retry_after: integerSchema('Number of seconds to wait, as in the `Retry-After` header.') },
  ),
  internal_server_error: describe('Internal error. It was logged with the request id.'),
  scanner_unavailable: describe('The file could not be scanned: no clamd server is responding correctly. Retry later.'),
  storage_unavailable: describe('The file store currently cannot write a file (connection refused). Retry later.'),
  database_unavailable: describeOptional(
    'The database connection was lost during the commit, so the outcome is unknown. Retry with the same Idempotency-Key, or check whether the change was stored.',
    { outcome: 'unknown' },
    { outcome: { type: 'string', const: 'unknown', description: 'Present if the connection was lost during the commit.' } },
  ),
  overloaded: describe('The service is overloaded. Retry later.'),
}
