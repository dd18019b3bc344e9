import { createOutcomeUnknownError } from '../errors/errors.js'
import { getSqlErrorKind } from './sql-errors.js'

/**
 * Wraps a statement that runs outside a transaction. Throws an unknown-outcome error if the connection was lost after the
 * statement may have been sent.
 */
export async function detectLostCommit<T>(statement: Promise<T>): Promise<T> {
  try {
    return await statement
  } catch (error) {
    throw getSqlErrorKind(error) === 'unreachable' && !isConnectFailure(error) ? createOutcomeUnknownError(error) : error
  }
}

/** True if no connection was established, so that no statement was sent. */
function isConnectFailure(error: unknown): boolean {
  const { code, syscall, message, errors } = error as { code?: string; syscall?: string; message?: string; errors?: unknown[] }
  // If a host has several addresses, Node.js tries all of them and throws an AggregateError without a syscall.
  if (errors) return errors.every(isConnectFailure)
  return (
    syscall === 'connect' ||
    syscall === 'getaddrinfo' ||
    code === '57P03' ||
    /timeout exceeded when trying to connect|due to connection timeout/.test(message ?? '')
  )
}
