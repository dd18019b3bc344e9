import { blockReasonRows, policyRejections } from './block-reasons.js'

interface ErrorCodeRow {
  status: number
  meaning: string
}

/** All error codes. REST responses have the HTTP status `status`, and GraphQL errors contain the code in upper case. */
const rows = {
  ...blockReasonRows,
  bad_user_input: {
    status: 400,
    meaning: 'A field, a parameter or the body is invalid. `details.fields` lists all invalid fields.',
  },
  unauthenticated: {
    status: 401,
    meaning:
      'The credential is missing, unknown, malformed, disabled, revoked or expired. Send `Authorization: Bearer` with a valid API key or token.',
  },
  forbidden: {
    status: 403,
    meaning:
      'The credential lacks the required scope or is restricted to other contexts, or its tenant is suspended. If a scope is missing, the message names it.',
  },
  quarantined: {
    status: 403,
    meaning: 'The file is quarantined: a later scan found a virus, or the file was restored and is waiting to be scanned.',
  },
  not_found: { status: 404, meaning: 'The resource does not exist in this tenant. Check the ID or key.' },
  method_not_allowed: {
    status: 405,
    meaning: 'The path does not support this method. The `Allow` header lists the supported methods.',
  },
  conflict: {
    status: 409,
    meaning:
      'The resource already exists, its state does not allow the operation, or an API key was already created with this `Idempotency-Key`.',
  },
  on_hold: { status: 409, meaning: 'The file is on hold. Release the hold before you delete the file.' },
  idempotency_mismatch: {
    status: 409,
    meaning: 'The `Idempotency-Key` was already used with a different request body. Send the same body or another key.',
  },
  unsupported_media_type: {
    status: 415,
    meaning: 'The request body has an unsupported media type. Send JSON, or multipart/form-data for uploads.',
  },
  ...policyRejections,
  scan_incomplete: { status: 422, meaning: 'The scanner could not scan the whole file, for example because it is encrypted.' },
  quota_exceeded: {
    status: 422,
    meaning: 'The file exceeds the quota of the context or tenant. Delete files or raise the quota.',
  },
  rate_limited: { status: 429, meaning: 'Too many requests. Retry after the number of seconds in `Retry-After`.' },
  internal_server_error: {
    status: 500,
    meaning: 'An unexpected error occurred. The service logged it with the request ID. Report that ID to the operator.',
  },
  scanner_unavailable: { status: 503, meaning: 'The scanner is unavailable. The file was not stored. Retry later.' },
  storage_unavailable: { status: 503, meaning: 'The file store is unavailable. The file was not stored. Retry later.' },
  database_unavailable: {
    status: 503,
    meaning:
      'The database is unavailable and nothing was stored. If `details.outcome` is `unknown`, the connection was lost during the commit: retry with the same `Idempotency-Key`.',
  },
  overloaded: { status: 503, meaning: 'The service is overloaded. Retry later.' },
} as const satisfies Record<string, ErrorCodeRow>

export type ErrorCode = keyof typeof rows

export const errorCodeRows: Readonly<Record<ErrorCode, ErrorCodeRow>> = rows

export const errorCodes = Object.keys(rows) as readonly ErrorCode[]
