import type { components } from './generated/openapi.js'

type Schemas = components['schemas']

/** Every `error` member that the service answers with, by its code. */
type ServiceError = { [Name in keyof Schemas]: Name extends `${string}Error` ? Schemas[Name] : never }[keyof Schemas]

/** The codes of failures; `network_error` and `invalid_response` are the client's own. */
export type ErrorCode = ServiceError['code'] | 'network_error' | 'invalid_response'

/** What `details` holds under a code. */
export type ErrorDetails<Code extends ErrorCode> = [Extract<ServiceError, { code: Code }>] extends [never]
  ? Record<string, unknown>
  : Extract<ServiceError, { code: Code }>['details']

/** A call that failed: refused by the service, or never answered (`network_error`, status 0). */
export class AssayError extends Error {
  override readonly name = 'AssayError'
  readonly code: ErrorCode
  /** For programs; typed once `isAssayError` has checked the code. */
  readonly details: unknown
  readonly status: number
  /** What the service logged the call under. */
  readonly requestId: string | undefined
  /** Seconds after which trying again makes sense. */
  readonly retryAfter: number | undefined

  constructor(
    code: ErrorCode,
    message: string,
    fields: { details?: unknown; status?: number; requestId?: string; retryAfter?: number; cause?: unknown } = {},
  ) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause })
    this.code = code
    this.details = fields.details ?? {}
    this.status = fields.status ?? 0
    this.requestId = fields.requestId
    this.retryAfter = fields.retryAfter
  }
}

/** Whether a caught error is a failure with that code; narrows its `details`. */
export const isAssayError = <Code extends ErrorCode>(
  error: unknown,
  code: Code,
): error is AssayError & { code: Code; details: ErrorDetails<Code> } => error instanceof AssayError && error.code === code

/** The failure that an answer tells, also where something in between answered in another form. */
export function parseErrorResponse(status: number, headers: Headers, text: string): AssayError {
  const requestId = headers.get('x-request-id') ?? undefined
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  const facts = { status, ...(requestId !== undefined && { requestId }), ...(seconds >= 0 && { retryAfter: seconds }) }
  const body = parseJson(text) as { message?: string; error?: { code?: ErrorCode; details?: unknown } } | undefined
  if (body?.error?.code === undefined)
    return new AssayError('invalid_response', `The answer (${status}) is not the service's: ${text.slice(0, 200)}`, facts)
  return new AssayError(body.error.code, body.message ?? body.error.code, { ...facts, details: body.error.details })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
