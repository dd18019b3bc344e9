import { toPublicError } from '../access/public-error.js'
import { ConfigError } from '../platform/config/config.js'
import { UsageFault } from './command.js'

/** One sentence for what an operator can mend; the whole of it for what is our own fault. */
export function tell(error: unknown): void {
  const told = toPublicError(error)
  if (isSentence(error)) console.error(error.message)
  else console.error(told.code === 'internal_server_error' ? error : told.message)
}

// A plain Error without a code is one of ours, written for the operator; those of Node and of drivers have one.
const isSentence = (error: unknown): error is Error =>
  error instanceof ConfigError ||
  error instanceof UsageFault ||
  (error instanceof Error && error.constructor === Error && !('code' in error))
