import { toPublicError } from '../access/public-error.js'
import { ConfigError } from '../platform/config/config.js'
import { UsageError } from './command.js'

/** Prints one sentence for an error that the operator can fix, and the stack of any other error. */
export function printError(error: unknown): void {
  const response = toPublicError(error)
  if (isOperatorError(error)) console.error(error.message)
  else console.error(response.code === 'internal_server_error' ? error : response.message)
}

// Returns true for a plain Error without a code, which the service throws for operator mistakes. Errors from Node.js and database
// drivers have a code.
const isOperatorError = (error: unknown): error is Error =>
  error instanceof ConfigError ||
  error instanceof UsageError ||
  (error instanceof Error && error.constructor === Error && !('code' in error))
