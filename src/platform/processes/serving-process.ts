import pino from 'pino'
import { readConfig } from '../config/config.js'
import { LogOutput } from '../telemetry/log-output.js'
import type { LoadApplication } from './application.js'
import { Lifecycle } from './lifecycle.js'
import { serve } from './serve.js'
import type { Serving } from './serving.js'
import { exitOnSignals, exitOnUncaughtError, printError } from './shutdown.js'
import { Siblings } from './siblings.js'

/** Runs one of several processes that serve on one port. The supervisor starts, replaces and stops them. */
export async function runServingProcess(loadApplication: LoadApplication): Promise<void> {
  const lifecycle = new Lifecycle()
  let serving: Serving | undefined
  exitOnSignals(async (signal) => {
    await serving?.prepareShutdown(signal)
    await lifecycle.close()
  })
  try {
    const config = readConfig()
    const [{ siblings, database }, createApp] = await Promise.all([Siblings.connect(), loadApplication()])
    const output = new LogOutput(1, { isShared: true })
    process.on('exit', () => output.flushSync())
    const logger = pino({ level: config.logLevel, base: { process: siblings.self.number } }, output)
    exitOnUncaughtError(logger)
    const isDiskFull = () => siblings.state.isDiskFull
    serving = await serve(lifecycle, { createApp, config, logger, database: { ...database, isDiskFull }, siblings })
    output.flushSync()
    siblings.reportStarted({ port: serving.port, descriptions: serving.descriptions, firstRun: serving.firstRun })
  } catch (error) {
    // A signal during startup already closes everything.
    if (lifecycle.isClosing) return
    printError(error)
    await lifecycle.close().catch(printError)
    process.exit(1)
  }
}
