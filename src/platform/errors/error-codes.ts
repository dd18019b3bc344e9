import { blockReasonRows, policyRefusals } from './block-reasons.js'

interface ErrorCodeRow {
  status: number
  meaning: string
}

/** Every fault that Assay tells, by name (contract, section 1). Edges only translate: the status for REST, upper case for GraphQL. */
const rows = {
  ...blockReasonRows,
  bad_user_input: { status: 400, meaning: 'a field, a parameter or the body is at fault.' },
  unauthenticated: { status: 401, meaning: 'no, an unknown, a malformed, disabled, revoked or expired credential.' },
  forbidden: {
    status: 403,
    meaning: 'the credential lacks the scope or is restricted to other contexts, or its tenant is suspended.',
  },
  quarantined: {
    status: 403,
    meaning: 'the file is quarantined: a later scan found a virus in it, or it was restored and waits for its scan.',
  },
  not_found: { status: 404, meaning: 'there is no such thing in this tenant.' },
  method_not_allowed: { status: 405, meaning: 'the path has other methods.' },
  conflict: {
    status: 409,
    meaning: 'it exists already, its state does not allow it, or the key of this Idempotency-Key was made before.',
  },
  on_hold: { status: 409, meaning: 'the file is on hold, and cannot be deleted before the hold is lifted.' },
  idempotency_mismatch: { status: 409, meaning: 'the Idempotency-Key was used with another body.' },
  unsupported_media_type: { status: 415, meaning: 'the body is of another type.' },
  ...policyRefusals,
  scan_incomplete: { status: 422, meaning: 'the scanner could not look at all of it.' },
  quota_exceeded: { status: 422, meaning: 'it does not fit the quota of the context or of the tenant.' },
  rate_limited: { status: 429, meaning: 'too many calls; see Retry-After.' },
  internal_server_error: { status: 500, meaning: 'a fault of ours; it was logged under the request id.' },
  scanner_unavailable: { status: 503, meaning: 'the scanner cannot be asked; nothing was stored.' },
  storage_unavailable: { status: 503, meaning: 'the store cannot be used; nothing was stored.' },
  database_unavailable: {
    status: 503,
    meaning:
      'the database is unavailable and nothing was stored. If `details.outcome` is `unknown`, the connection was lost during the commit: repeat the request with the same Idempotency-Key, or check first.',
  },
  overloaded: { status: 503, meaning: 'too much waits already; try again.' },
} as const satisfies Record<string, ErrorCodeRow>

export type ErrorCode = keyof typeof rows

export const errorCodeRows: Readonly<Record<ErrorCode, ErrorCodeRow>> = rows

export const errorCodes = Object.keys(rows) as readonly ErrorCode[]
