import type { BlockReason, PolicyRejection } from './block-reasons.js'
import { type ErrorCode, errorCodeRows, errorCodes } from './error-codes.js'

export { type BlockReason, blockReasons } from './block-reasons.js'
export type { ErrorCode } from './error-codes.js'

export const httpStatus = Object.fromEntries(errorCodes.map((code) => [code, errorCodeRows[code].status])) as Record<
  ErrorCode,
  number
>

/** An invalid request field. `field` is its path, and `message` states the rule, such as "must be between 1 and 100". */
export interface FieldError {
  field: string
  message: string
  /** Rejected value. The error message contains it, but the error details do not. */
  value?: string | number
}

export interface PublicError {
  code: ErrorCode
  message: string
  details: Record<string, unknown>
  /** Seconds to wait before a retry, sent in the `Retry-After` header. */
  retryAfter?: number
}

/** An error whose message may be sent to the client. All other errors become `internal_server_error`. */
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

export const badUserInput = (errors: FieldError[]) =>
  new AssayError('bad_user_input', errors.map(formatFieldError).join(' '), {
    details: { fields: errors.map(({ field, message }) => ({ field, message })) },
  })

export const invalidField = (field: string, message: string) => badUserInput([{ field, message }])

function formatFieldError({ field, message, value }: FieldError): string {
  if (value === undefined) return `\`${field}\` ${message}${/[.?]$/.test(message) ? '' : '.'}`
  const text = toPrintableText(String(value))
  return `\`${field}\` is ${/^[+-]?\d+(\.\d+)?$/.test(text) ? text : JSON.stringify(text)}. It ${message}.`
}

export const unauthenticated = (message: string) => new AssayError('unauthenticated', message)

export const forbidden = (message: string, details: Record<string, unknown> = {}) =>
  new AssayError('forbidden', message, { details })

/**
 * Creates the 404 error. `entity` is, for example, 'file' or 'API key'. An id that belongs to another tenant causes the same
 * error, so that clients cannot detect that it exists.
 */
export const notFound = (entity: string, id: string) =>
  new AssayError('not_found', `${entity[0]!.toUpperCase()}${entity.slice(1)} '${toPrintableText(id)}' was not found.`, {
    details: { [entity.toLowerCase().replace(' ', '_')]: toPrintableText(id) },
  })

/** Creates the error for unknown, expired, used and revoked upload links, which clients cannot distinguish. */
export const invalidUploadLink = () =>
  new AssayError('not_found', 'This upload link does not exist or is no longer valid. Ask the person who sent it for a new link.')

export const conflict = (message: string, details: Record<string, unknown> = {}) =>
  new AssayError('conflict', message, { details })

export const createDisabledContextError = (contextKey: string, status: string) =>
  conflict(`Context '${contextKey}' is disabled. Enable the context, or use another one.`, { context_key: contextKey, status })

/** Creates the 405 error. The response also lists `allowed` in its `Allow` header. */
export const methodNotAllowed = (method: string | undefined, allowed: readonly string[]) =>
  new AssayError('method_not_allowed', `Method ${method} is not allowed for this path. Allowed methods: ${allowed.join(', ')}.`, {
    details: { allowed },
  })

/** Rejects a request whose method a read-only path does not support. */
export function rejectMethod({ method }: { method: string }): never {
  throw methodNotAllowed(method, ['GET', 'HEAD'])
}

export const createOnHoldError = (fileId: string) =>
  new AssayError('on_hold', `File '${toPrintableText(fileId)}' is on hold and cannot be deleted. Release the hold first.`, {
    details: { file_id: toPrintableText(fileId) },
  })

export const createQuarantinedError = (fileId: string) =>
  new AssayError(
    'quarantined',
    `File '${toPrintableText(fileId)}' is quarantined: a later scan found a virus, or the file was restored and is waiting to be scanned. An admin can release or purge it.`,
    {
      details: { file_id: toPrintableText(fileId) },
    },
  )

export const createIdempotencyMismatchError = (key: string) =>
  new AssayError(
    'idempotency_mismatch',
    `Idempotency-Key '${toPrintableText(key)}' was used with a different request body. Send the same body, or another key.`,
  )

export const rejected = (
  reason: BlockReason | PolicyRejection | 'scan_incomplete',
  message: string,
  details: Record<string, unknown> = {},
) => new AssayError(reason, message, { details })

export const quotaExceeded = (message: string, details: Record<string, unknown>) =>
  new AssayError('quota_exceeded', message, { details })

export const rateLimited = (message: string, retryAfter: number, details: Record<string, unknown> = {}) =>
  new AssayError('rate_limited', message, { retryAfter, details: { retry_after: retryAfter, ...details } })

const createUnavailableErrorFactory =
  (code: 'scanner_unavailable' | 'storage_unavailable' | 'database_unavailable' | 'overloaded') =>
  (message: string, cause?: unknown, retryAfter = code === 'overloaded' ? 1 : 5) =>
    new AssayError(code, message, { retryAfter, cause })

export const scannerUnavailable = createUnavailableErrorFactory('scanner_unavailable')
export const storageUnavailable = createUnavailableErrorFactory('storage_unavailable')
export const databaseUnavailable = createUnavailableErrorFactory('database_unavailable')
export const overloaded = createUnavailableErrorFactory('overloaded')

/**
 * Creates the only 503 error that can be returned even though the change was stored. All other 503 errors mean that nothing was
 * stored.
 */
export const createOutcomeUnknownError = (cause: unknown) =>
  new AssayError(
    'database_unavailable',
    'The database connection was lost during the commit, so the outcome is unknown. Retry with the same Idempotency-Key, or check whether the change was stored.',
    { retryAfter: 5, cause, details: { outcome: 'unknown' } },
  )

/** Prepares a client's value for an error message: truncates it to 100 characters and replaces control characters. */
export function toPrintableText(value: string): string {
  const clean = value.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '�')
  return clean.length > 100 ? `${clean.slice(0, 100)}…` : clean
}
