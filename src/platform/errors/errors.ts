import type { BlockReason, PolicyRefusal } from './block-reasons.js'
import { type ErrorCode, errorCodeRows, errorCodes } from './error-codes.js'

export { type BlockReason, blockReasons } from './block-reasons.js'
export type { ErrorCode } from './error-codes.js'

export const httpStatus = Object.fromEntries(errorCodes.map((code) => [code, errorCodeRows[code].status])) as Record<
  ErrorCode,
  number
>

/** An invalid field. `field` is its path as the request names it, and `message` completes the sentence "`page_size` …". */
export interface FieldFault {
  field: string
  message: string
  /** The rejected number, or the text in its place. Part of the error's message, not of its details. */
  value?: string | number
}

export interface PublicError {
  code: ErrorCode
  message: string
  details: Record<string, unknown>
  /** Seconds after which trying again makes sense; sent as `Retry-After`. */
  retryAfter?: number
}

/** A fault whose message the caller may read. All else is answered as `internal_server_error`. */
export class AssayError extends Error implements PublicError {
  override readonly name = 'AssayError'
  readonly code: ErrorCode
  readonly details: Record<string, unknown>
  readonly retryAfter?: number

  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: Record<string, unknown>; retryAfter?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details ?? {}
    if (options.retryAfter !== undefined) this.retryAfter = options.retryAfter
  }
}

export const badUserInput = (faults: FieldFault[]) =>
  new AssayError('bad_user_input', faults.map(faultText).join('; ').replaceAll('.; ', '. '), {
    details: { fields: faults.map(({ field, message }) => ({ field, message })) },
  })

function faultText({ field, message, value }: FieldFault): string {
  if (value === undefined) return `${field}: ${message}`
  const text = shown(String(value))
  return `\`${field}\` is ${/^[+-]?\d+(\.\d+)?$/.test(text) ? text : JSON.stringify(text)}. It ${message}.`
}

export const unauthenticated = (message: string) => new AssayError('unauthenticated', message)

export const forbidden = (message: string, details: Record<string, unknown> = {}) =>
  new AssayError('forbidden', message, { details })

/** `noun` as in the specification ('file', 'context', 'API key'). Another tenant's id reads exactly like an unknown one. */
export const notFound = (noun: string, id: string) =>
  new AssayError('not_found', `${noun[0]!.toUpperCase()}${noun.slice(1)} '${shown(id)}' was not found.`, {
    details: { [noun.toLowerCase().replace(' ', '_')]: shown(id) },
  })

export const conflict = (message: string, details: Record<string, unknown> = {}) =>
  new AssayError('conflict', message, { details })

/** The answer names them in `Allow` too. */
export const methodNotAllowed = (method: string | undefined, allowed: readonly string[]) =>
  new AssayError('method_not_allowed', `${method} is not allowed here. Allowed: ${allowed.join(', ')}.`, { details: { allowed } })

/** Handles every other method where there is only something to read. */
export function refuseMethod({ method }: { method: string }): never {
  throw methodNotAllowed(method, ['GET', 'HEAD'])
}

export const onHold = (fileId: string) =>
  new AssayError('on_hold', `File '${shown(fileId)}' is on hold and cannot be deleted. Release the hold first.`, {
    details: { file_id: shown(fileId) },
  })

/** A later scan found a virus, or a restored file waits for its scan. */
export const quarantined = (fileId: string) =>
  new AssayError(
    'quarantined',
    `File '${shown(fileId)}' is quarantined: a later scan found a virus, or the file was restored and waits for its scan. An admin can release or purge it.`,
    {
      details: { file_id: shown(fileId) },
    },
  )

export const idempotencyMismatch = (key: string) =>
  new AssayError(
    'idempotency_mismatch',
    `Idempotency-Key '${shown(key)}' was used with a different request body. Send the same body, or another key.`,
  )

/** A file that failed a check: `reason` is the block reason that decided. */
export const rejected = (
  reason: BlockReason | PolicyRefusal | 'scan_incomplete',
  message: string,
  details: Record<string, unknown> = {},
) => new AssayError(reason, message, { details })

export const quotaExceeded = (message: string, details: Record<string, unknown>) =>
  new AssayError('quota_exceeded', message, { details })

export const rateLimited = (message: string, retryAfter: number, details: Record<string, unknown> = {}) =>
  new AssayError('rate_limited', message, { retryAfter, details: { retry_after: retryAfter, ...details } })

const unavailable =
  (code: 'scanner_unavailable' | 'storage_unavailable' | 'database_unavailable' | 'overloaded') =>
  (message: string, cause?: unknown, retryAfter = code === 'overloaded' ? 1 : 5) =>
    new AssayError(code, message, { retryAfter, cause })

export const scannerUnavailable = unavailable('scanner_unavailable')
export const storageUnavailable = unavailable('storage_unavailable')
export const databaseUnavailable = unavailable('database_unavailable')
export const overloaded = unavailable('overloaded')

/** The connection was lost during the commit (contract, section 1). Any other 503 means that nothing was stored. */
export const outcomeUnknown = (cause: unknown) =>
  new AssayError(
    'database_unavailable',
    'The database connection was lost during the commit, so the outcome is unknown. Retry with the same Idempotency-Key, or check whether the change was stored.',
    { retryAfter: 5, cause, details: { outcome: 'unknown' } },
  )

/** A caller's value inside a message: short, and without control characters. */
export function shown(value: string): string {
  const clean = value.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '�')
  return clean.length > 100 ? `${clean.slice(0, 100)}…` : clean
}
