import pino, { type Logger } from 'pino'
import { type Config, ConfigError } from '../config/config.js'
import { LogOutput } from '../telemetry/log-output.js'
import { Lifecycle } from './lifecycle.js'

// On Ctrl-C, npm and the terminal both signal the process. Two signals within a second therefore count as one.
const sameSignalMs = 1000

/** Runs `start`. If it fails, or if a signal arrives, closes the components of the lifecycle and exits. */
export async function runProcess(start: (lifecycle: Lifecycle) => Promise<void>): Promise<void> {
  const lifecycle = new Lifecycle()
  exitOnSignals((signal) => lifecycle.shutDown(signal))
  try {
    await start(lifecycle)
  } catch (error) {
    // Ignore an error after a signal, because the signal handler is already closing everything and will then exit.
    if (lifecycle.isClosing) return
    printError(error)
    await lifecycle.close().catch(printError)
    process.exit(1)
  }
}

/** Exits on SIGTERM and SIGINT after `shutDown` has finished, and immediately on a second signal. */
function exitOnSignals(shutDown: (signal: NodeJS.Signals) => Promise<void>): void {
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

/** Returns how long the service accepts requests after a signal. Load balancers send requests for some time after SIGTERM. */
export const getShutdownDelayMs = (signal: NodeJS.Signals, { shutdownDelaySeconds }: Config): number =>
  signal === 'SIGTERM' ? shutdownDelaySeconds * 1000 : 0

/** Opens the log on standard output, and logs uncaught errors. `processNumber` is set if there are several processes. */
export function openLog({ logLevel, processes }: Config, processNumber?: number): { logger: Logger; flush: () => void } {
  const output = new LogOutput(1, { isShared: processes > 1 })
  const flush = () => output.flushSync()
  process.on('exit', flush)
  const logger = pino({ level: logLevel, base: processNumber === undefined ? undefined : { process: processNumber } }, output)
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error) => exitWithError(logger, 'An unhandled error occurred. The process will exit.', error))
  }
  return { logger, flush }
}

let isFailing = false

// Exits without draining connections, because the state of the process is unknown. Committed changes are safe, and the embedded
// PostgreSQL stops when the process exits.
export function exitWithError(logger: Logger, message: string, error?: unknown): never {
  // Log only once, because an error while logging would call `exitWithError` again.
  if (!isFailing) {
    isFailing = true
    logger.fatal({ err: error }, message)
  }
  process.exit(1)
}

/** Prints an expected error without its stack trace. */
function printError(error: unknown): void {
  const known = error instanceof ConfigError || (error instanceof Error && error.constructor === Error)
  console.error(known ? error.message : error)
}
