import pino from 'pino'
import { readConfig } from '../config/config.js'
import { LogOutput } from '../telemetry/log-output.js'
import type { LoadApplication } from './application.js'
import { Lifecycle } from './lifecycle.js'
import { serve } from './serve.js'
import type { Serving } from './serving.js'
import { endOnFaults, endOnSignals, tell } from './shutdown.js'
import { Siblings } from './siblings.js'

/** Runs one of several processes that serve behind one port. The supervisor starts, replaces and ends them. */
export async function runServingProcess(loadApplication: LoadApplication): Promise<void> {
  const lifecycle = new Lifecycle()
  let serving: Serving | undefined
  endOnSignals(async (signal) => {
    await serving?.leave(signal)
    await lifecycle.close()
  })
  try {
    const config = readConfig()
    const [{ siblings, database }, createApp] = await Promise.all([Siblings.meet(), loadApplication()])
    const output = new LogOutput(1, { isShared: true })
    process.on('exit', () => output.flushSync())
    const logger = pino({ level: config.logLevel, base: { process: siblings.place.number } }, output)
    endOnFaults(logger)
    const isDiskFull = () => siblings.state.isDiskFull
    serving = await serve(lifecycle, { createApp, config, logger, database: { ...database, isDiskFull }, siblings })
    output.flushSync()
    siblings.started({ port: serving.port, descriptions: serving.descriptions, firstRun: serving.firstRun })
  } catch (error) {
    // A signal during the start already closes everything.
    if (lifecycle.isClosing) return
    tell(error)
    await lifecycle.close().catch(tell)
    process.exit(1)
  }
}
