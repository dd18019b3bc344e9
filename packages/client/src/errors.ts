import type { components } from './generated/openapi.js'

type Schemas = components['schemas']

/** Union of the `error` objects in all error responses. */
type ServiceError = { [Name in keyof Schemas]: Name extends `${string}Error` ? Schemas[Name] : never }[keyof Schemas]

/** API error codes, plus the client's own codes `network_error` and `invalid_response`. */
export type ErrorCode = ServiceError['code'] | 'network_error' | 'invalid_response'

/** Type of `details` for an error with the given code. */
export type ErrorDetails<Code extends ErrorCode> = [Extract<ServiceError, { code: Code }>] extends [never]
  ? Record<string, unknown>
  : Extract<ServiceError, { code: Code }>['details']

/** Error thrown when a call fails. If the service sent no response, the code is `network_error` and the status is 0. */
export class AssayError extends Error {
  override readonly name = 'AssayError'
  readonly code: ErrorCode
  /** Machine-readable details of the error. `isAssayError` narrows their type. */
  readonly details: unknown
  readonly status: number
  /** Request id in the service's logs. */
  readonly requestId: string | undefined
  /** Seconds to wait before a retry, from the `Retry-After` header. */
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

/** Checks whether an error is an `AssayError`, optionally with a specific code. Narrows the type of `details`. */
export function isAssayError<Code extends ErrorCode = ErrorCode>(
  error: unknown,
  code?: Code,
): error is AssayError & { code: Code; details: ErrorDetails<Code> } {
  // `instanceof` fails if a program loads the package both as an ES module and as CommonJS.
  const isOwn = error instanceof Error && error.name === 'AssayError'
  return isOwn && (code === undefined || (error as AssayError).code === code)
}

/**
 * Converts an error response to an `AssayError`. The code is `invalid_response` if another server, such as a proxy, responded.
 */
export function parseErrorResponse(status: number, headers: Headers, text: string): AssayError {
  const requestId = headers.get('x-request-id') ?? undefined
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  const facts = { status, ...(requestId !== undefined && { requestId }), ...(seconds >= 0 && { retryAfter: seconds }) }
  const body = parseJson(text) as { message?: string; error?: { code?: ErrorCode; details?: unknown } } | undefined
  if (body?.error?.code === undefined)
    return new AssayError(
      'invalid_response',
      `Unexpected response with status ${status}. Check the base URL and any proxy. Response: ${text.slice(0, 200)}`,
      facts,
    )
  return new AssayError(body.error.code, body.message ?? body.error.code, { ...facts, details: body.error.details })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
