import { isDatabaseOutage } from '../platform/db/sql-errors.js'
import { AssayError, databaseUnavailable, httpStatus, type PublicError } from '../platform/errors/errors.js'

/** What the caller may know of `error`: its own facts when it is ours, nothing but the code when it is not. */
export function toPublicError(error: unknown): PublicError {
  const known = findAssayError(error)
  if (known) return known
  if (isDatabaseOutage(error)) return databaseUnavailable('The database is unavailable. Retry later.')
  return { code: 'internal_server_error', message: 'An unexpected fault; it was logged under this request id.', details: {} }
}

function findAssayError(error: unknown): AssayError | undefined {
  for (let at = error, depth = 0; at && typeof at === 'object' && depth < 5; depth++) {
    if (at instanceof AssayError) return at
    at = (at as { originalError?: unknown }).originalError
  }
  return undefined
}

type Told = Pick<PublicError, 'code' | 'message' | 'details' | 'retryAfter'>

/** A failure as REST answers it (contract §1). */
export const errorBody = ({ code, message, details }: Told, requestId: string) => ({
  status: 'ERROR',
  message,
  error: { code, details },
  request_id: requestId,
  timestamp: new Date().toISOString(),
})

/** The same failure as RFC 9457 has it. */
export const problemBody = ({ code, message, details }: Told, requestId: string) => ({
  type: `urn:assay:error:${code}`,
  title: code.replaceAll('_', ' '),
  status: httpStatus[code],
  detail: message,
  instance: `urn:assay:request:${requestId}`,
  code,
  details,
})

/** The same failure as one of GraphQL's `errors`: the code in upper case. */
export const graphqlError = ({ code, message, details, retryAfter }: Told, place: object = {}) => ({
  message,
  ...place,
  extensions: { code: code.toUpperCase(), details, ...(retryAfter !== undefined && { retryAfter }) },
})

/** The headers that go with it, by either door. */
export function errorHeaders({ code, details, retryAfter }: Told, authorization: string | undefined): Record<string, string> {
  const again = retryAfter ?? (httpStatus[code] === 503 ? 5 : undefined)
  return {
    ...(code === 'unauthenticated' && { 'WWW-Authenticate': authorization ? 'Bearer error="invalid_token"' : 'Bearer' }),
    ...(code === 'method_not_allowed' && { Allow: (details.allowed as string[]).join(', ') }),
    ...(again !== undefined && { 'Retry-After': String(again) }),
  }
}
