// Work for the worker pool: returns the received content, or dies before the second attempt.
import { createHash } from 'node:crypto'

export const digest = (_data, { bytes }) => createHash('sha256').update(bytes).digest('hex')

/** `settings`, shared by all attempts, counts them. */
export function dieOnce(data, call) {
  if (call.settings[0]++ === 0) process.exit(1)
  return digest(data, call)
}
