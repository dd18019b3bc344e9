import { isDatabaseOutage } from '../platform/db/sql-errors.js'
import { AssayError, databaseUnavailable, httpStatus, type PublicError } from '../platform/errors/errors.js'

/** Returns the public part of an error. For an unexpected error, this is only a generic code and message. */
export function toPublicError(error: unknown): PublicError {
  const known = findAssayError(error)
  if (known) return known
  if (isDatabaseOutage(error)) return databaseUnavailable('The database is unavailable. Retry later.')
  return { code: 'internal_server_error', message: 'Internal error. It was logged with the request id.', details: {} }
}

function findAssayError(error: unknown): AssayError | undefined {
  for (let at = error, depth = 0; at && typeof at === 'object' && depth < 5; depth++) {
    if (at instanceof AssayError) return at
    at = (at as { originalError?: unknown }).originalError
  }
  return undefined
}

type ErrorFields = Pick<PublicError, 'code' | 'message' | 'details' | 'retryAfter'>

export const createErrorBody = ({ code, message, details }: ErrorFields, requestId: string) => ({
  status: 'ERROR',
  message,
  error: { code, details },
  request_id: requestId,
  timestamp: new Date().toISOString(),
})

/** Returns the JSON body of a REST error in the RFC 9457 format (problem details). */
export const createProblemBody = ({ code, message, details }: ErrorFields, requestId: string) => ({
  type: `urn:assay:error:${code}`,
  title: code.replaceAll('_', ' '),
  status: httpStatus[code],
  detail: message,
  instance: `urn:assay:request:${requestId}`,
  code,
  details,
})

/** Converts an error to an item of the GraphQL `errors` array, with the code in upper case. */
export const toGraphqlError = ({ code, message, details, retryAfter }: ErrorFields, location: object = {}) => ({
  message,
  ...location,
  extensions: { code: code.toUpperCase(), details, ...(retryAfter !== undefined && { retryAfter }) },
})

export function createErrorHeaders(
  { code, details, retryAfter }: ErrorFields,
  authorization: string | undefined,
): Record<string, string> {
  const again = retryAfter ?? (httpStatus[code] === 503 ? 5 : undefined)
  return {
    ...(code === 'unauthenticated' && { 'WWW-Authenticate': authorization ? 'Bearer error="invalid_token"' : 'Bearer' }),
    ...(code === 'method_not_allowed' && { Allow: (details.allowed as string[]).join(', ') }),
    ...(again !== undefined && { 'Retry-After': String(again) }),
  }
}
