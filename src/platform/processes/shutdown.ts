import type { Logger } from 'pino'
import { ConfigError } from '../config/config.js'

// npm forwards Ctrl-C, which the terminal also sends to the process directly. Two signals within a second therefore count as one.
const sameSignalMs = 1000

/** Exits on SIGTERM and SIGINT after `shutDown` has finished, and immediately on a second signal. */
export function exitOnSignals(shutDown: (signal: NodeJS.Signals) => Promise<void>): void {
  let firstSignal = 0
  const onSignal = (signal: NodeJS.Signals) => {
    if (firstSignal === 0) {
      firstSignal = Date.now()
      void shutDown(signal).then(
        () => process.exit(0),
        (error) => {
          printError(error)
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

export function exitOnUncaughtError(logger: Logger): void {
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error) => exitWithError(logger, 'An unhandled error occurred. The process exits.', error))
  }
}

let isFailing = false

// Exits without draining, because the state is unknown. PostgreSQL stops when the process exits. Committed changes are safe.
export function exitWithError(logger: Logger, message: string, error?: unknown): never {
  // Log only once, because an error in this log line would call `exitWithError` again.
  if (!isFailing) {
    isFailing = true
    logger.fatal({ err: error }, message)
  }
  process.exit(1)
}

/** Prints an expected error without its stack trace. */
export function printError(error: unknown): void {
  const known = error instanceof ConfigError || (error instanceof Error && error.constructor === Error)
  console.error(known ? error.message : error)
}
