import { isDatabaseOutage } from './db/sql-errors.js'
import { AssayError, databaseUnavailable, type PublicError } from './errors.js'

/** What the caller may know of `error`: its own facts when it is ours, nothing but the code when it is not. */
export function publicError(error: unknown): PublicError {
  const known = findAssayError(error)
  if (known) return known
  if (isDatabaseOutage(error))
    return databaseUnavailable('The database cannot be reached at the moment; look before you repeat what changes something.')
  return { code: 'internal_server_error', message: 'An unexpected fault; it was logged under this request id.', details: {} }
}

function findAssayError(error: unknown): AssayError | undefined {
  for (let at = error, depth = 0; at && typeof at === 'object' && depth < 5; depth++) {
    if (at instanceof AssayError) return at
    at = (at as { originalError?: unknown }).originalError
  }
  return undefined
}
