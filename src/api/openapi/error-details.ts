import type { ErrorCode } from '../../platform/errors/error-codes.js'
import type { Json } from './schemas.js'

/** Schema of an error's `details`, and an example of the error. */
interface ErrorDescription {
  details: Json
  example: { message: string; details: Json }
}

const textSchema = (description: string): Json => ({ type: 'string', description })
const integerSchema = (description: string): Json => ({ type: 'integer', format: 'int64', description })
const textListSchema = (description: string): Json => ({ type: 'array', items: { type: 'string' }, description })
/** All members are optional, because they depend on the cause of the error. */
const optionalMembers = (properties: Record<string, Json>): Json => ({ type: 'object', properties, additionalProperties: true })
const noMembers: Json = { type: 'object', additionalProperties: true, description: 'This error has no details.' }

const fields: Json = {
  type: 'object',
  properties: {
    fields: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        properties: {
          field: textSchema('Name of the field, as in the request.'),
          message: textSchema('Rule that the value must follow.'),
        },
        required: ['field', 'message'],
        additionalProperties: false,
      },
      description: 'All invalid fields, named as in the request.',
    },
  },
  required: ['fields'],
  additionalProperties: false,
}

const fileId = 'file_01kqzv6y8xw3f5t2n7m4c9d1b0'
const file = optionalMembers({ file_id: textSchema('ID of the file.') })
const reader = {
  reader: textSchema('Name of the format reader that found the problem.'),
  worker: textSchema('Reason why the content could not be read: `died`, `hung` or `out_of_memory`.'),
  trap: textSchema('Kind of malicious file, such as a decompression bomb.'),
  sha256: textSchema('SHA-256 checksum of the file, if it differs from the one that the upload link requires.'),
  expected_sha256: textSchema('SHA-256 checksum that the upload link requires.'),
}
const policy = {
  encrypted: { type: 'boolean', description: 'True if the file or a part of it requires a password.' },
  active_content: textListSchema('Short descriptions of the active content.'),
}
const scanner = { engine: textSchema('Name and version of the scanner.') }
const describeUnavailable = (message: string): ErrorDescription => ({ details: noMembers, example: { message, details: {} } })

/** Details of every error code. The type requires an entry for each new code. */
export const errorDescriptions: Record<ErrorCode, ErrorDescription> = {
  bad_user_input: {
    details: fields,
    example: {
      message: '`page_size` is 500. It must be between 1 and 100.',
      details: { fields: [{ field: 'page_size', message: 'must be between 1 and 100' }] },
    },
  },
  unauthenticated: {
    details: optionalMembers({ second_factor: textSchema('`code` if the sign-in requires a second-factor code.') }),
    example: { message: 'Missing credential. Send `Authorization: Bearer <API key or token>`.', details: {} },
  },
  forbidden: {
    details: optionalMembers({ scope: textSchema('Scope that the credential lacks.') }),
    example: {
      message: "This credential lacks the scope 'metadata'. Use a credential that has it.",
      details: { scope: 'metadata' },
    },
  },
  quarantined: {
    details: file,
    example: {
      message: `File '${fileId}' is quarantined: a later scan found a virus, or the file was restored and is waiting to be scanned. An admin can release or purge it.`,
      details: { file_id: fileId },
    },
  },
  not_found: {
    details: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Kind of the missing resource and its ID or key, for example `{ "file": "file_…" }`.',
    },
    example: { message: `File '${fileId}' was not found.`, details: { file: fileId } },
  },
  method_not_allowed: {
    details: optionalMembers({ allowed: textListSchema('Methods that the path supports.') }),
    example: {
      message: 'Method PUT is not allowed for this path. Allowed methods: GET, HEAD.',
      details: { allowed: ['GET', 'HEAD'] },
    },
  },
  conflict: {
    details: optionalMembers({
      context_key: textSchema('Key of the context that already exists, is disabled or contains files.'),
      status: textSchema('Current status of the resource.'),
      files: integerSchema('Number of files in the context.'),
      limit: integerSchema('Maximum number of resources of this kind.'),
      upload_offset: integerSchema('Number of received bytes of a resumable upload.'),
      resumable: { type: 'boolean', description: 'True if the upload can be resumed.' },
    }),
    example: { message: "Context 'invoices' already exists. Choose another key.", details: { context_key: 'invoices' } },
  },
  on_hold: {
    details: file,
    example: {
      message: `File '${fileId}' is on hold and cannot be deleted. Release the hold first.`,
      details: { file_id: fileId },
    },
  },
  idempotency_mismatch: {
    details: noMembers,
    example: {
      message: "Idempotency-Key 'order-4711' was used with a different request body. Send the same body, or another key.",
      details: {},
    },
  },
  size_exceeded: {
    details: {
      type: 'object',
      properties: {
        size_bytes: integerSchema('Size of the file in bytes, or its minimum size if the upload was stopped.'),
        limit_bytes: integerSchema('Maximum size of a file in bytes.'),
      },
      required: ['size_bytes', 'limit_bytes'],
      additionalProperties: false,
    },
    example: {
      message: "The file size is 10485761 bytes. The limit of context 'invoices' is 10 MB (10485760 bytes).",
      details: { size_bytes: 10485761, limit_bytes: 10485760 },
    },
  },
  unsupported_media_type: {
    details: noMembers,
    example: { message: 'The body has no Content-Type. Send application/json.', details: {} },
  },
  invalid_extension: {
    details: optionalMembers({
      extension: textSchema('Extension of the file name, without the dot.'),
      allowed: textListSchema('Extensions that the context allows, if it rejects the extension of the file.'),
      recognised: { type: ['string', 'null'], description: 'Detected file type, if it does not match the extension.' },
      content_type: { type: ['string', 'null'], description: 'Media type of the detected file type.' },
    }),
    example: {
      message: "Extension 'exe' is not allowed in context 'invoices'; allowed: pdf, png.",
      details: { extension: 'exe', allowed: ['pdf', 'png'] },
    },
  },
  blank_file: {
    details: optionalMembers({ size_bytes: integerSchema('Size of the file in bytes.') }),
    example: { message: 'The file is empty (0 bytes).', details: { size_bytes: 0 } },
  },
  corrupt_file: {
    details: optionalMembers({ ...reader, ...policy }),
    example: { message: 'Not a valid .png file: the image is truncated.', details: { reader: 'png' } },
  },
  virus_detected: {
    details: optionalMembers({ signature: textSchema('Name of the signature that matched.'), ...scanner }),
    example: {
      message: 'Virus found by ClamAV 1.4.3: Win.Test.EICAR_HDB-1.',
      details: { signature: 'Win.Test.EICAR_HDB-1', engine: 'ClamAV 1.4.3' },
    },
  },
  encrypted_file: {
    details: optionalMembers(policy),
    example: {
      message: "The file, or a part of it, requires a password. Context 'invoices' rejects encrypted files.",
      details: { encrypted: true },
    },
  },
  active_content: {
    details: optionalMembers(policy),
    example: {
      message: "The file contains active content (VBA macros). Context 'invoices' rejects active content.",
      details: { active_content: ['VBA macros'] },
    },
  },
  scan_incomplete: {
    details: optionalMembers({ cause: textSchema('Part of the file that was not scanned, with the reason.'), ...scanner }),
    example: {
      message: 'A part of the file is encrypted and cannot be scanned.',
      details: { cause: 'a part of the file is encrypted and cannot be scanned', engine: 'ClamAV 1.4.3' },
    },
  },
  quota_exceeded: {
    details: optionalMembers({
      quota_mb: integerSchema('Quota of the context or of the tenant, in MB of 1,048,576 bytes.'),
      used_bytes: integerSchema('Number of stored bytes.'),
      unfinished_bytes: integerSchema('Number of bytes in unfinished uploads, if they exhaust the quota.'),
      remaining_bytes: integerSchema('Number of bytes remaining in the quota.'),
      size_bytes: integerSchema('Size of the file or request in bytes.'),
    }),
    example: {
      message:
        "Context 'invoices' has 1024 bytes of its quota of 10240 MB left. The file has 48213 bytes. Delete files or increase the quota.",
      details: { quota_mb: 10240, used_bytes: 10737417216, remaining_bytes: 1024, size_bytes: 48213 },
    },
  },
  rate_limited: {
    details: optionalMembers({ retry_after: integerSchema('Number of seconds to wait, as in the `Retry-After` header.') }),
    example: {
      message: 'Too many calls by this API key. The limit is 120000 per minute. Retry in 12 s.',
      details: { retry_after: 12 },
    },
  },
  internal_server_error: describeUnavailable('Internal error. It was logged with the request id.'),
  scanner_unavailable: describeUnavailable(
    'The file could not be scanned: no clamd server is responding correctly. Retry later.',
  ),
  storage_unavailable: describeUnavailable('The file store currently cannot write a file (connection refused). Retry later.'),
  database_unavailable: {
    details: optionalMembers({
      outcome: { type: 'string', const: 'unknown', description: 'Present if the connection was lost during the commit.' },
    }),
    example: {
      message:
        'The database connection was lost during the commit, so the outcome is unknown. Retry with the same Idempotency-Key, or check whether the change was stored.',
      details: { outcome: 'unknown' },
    },
  },
  overloaded: describeUnavailable('The service is overloaded. Retry later.'),
}
