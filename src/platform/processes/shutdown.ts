import type { Logger } from 'pino'
import { ConfigError } from '../config/config.js'

// npm hands a terminal's Ctrl-C on to us, which has it from the terminal already: within a second both are one.
const sameSignalMs = 1000

/** Ends the process on SIGTERM and SIGINT when `end` is done, and at once on a second signal. */
export function endOnSignals(end: (signal: NodeJS.Signals) => Promise<void>): void {
  let firstSignal = 0
  const onSignal = (signal: NodeJS.Signals) => {
    if (firstSignal === 0) {
      firstSignal = Date.now()
      void end(signal).then(
        () => process.exit(0),
        (error) => {
          tell(error)
          process.exit(1)
        },
      )
    } else if (Date.now() - firstSignal > sameSignalMs) {
      process.exit(1)
    }
  }
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
}

export function endOnFaults(logger: Logger): void {
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error) => fail(logger, 'An unhandled error occurred. The process exits.', error))
  }
}

let isFailing = false

// The state is unknown: no draining. PostgreSQL is stopped as the process exits, and what was answered is committed.
export function fail(logger: Logger, message: string, error?: unknown): never {
  // Once: what goes wrong while that is written ends the process as well.
  if (!isFailing) {
    isFailing = true
    logger.fatal({ err: error }, message)
  }
  process.exit(1)
}

/** On standard error: the sentence alone where the fault is a known one. */
export function tell(error: unknown): void {
  const known = error instanceof ConfigError || (error instanceof Error && error.constructor === Error)
  console.error(known ? error.message : error)
}
