import type { PublicError } from './errors.js'

/** The one shape of all failures (contract §1). */
export const errorBody = ({ code, message, details }: Pick<PublicError, 'code' | 'message' | 'details'>, requestId: string) => ({
  status: 'ERROR',
  message,
  error: { code, details },
  request_id: requestId,
  timestamp: new Date().toISOString(),
})
