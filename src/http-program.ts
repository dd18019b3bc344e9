// One of several processes that serve behind one port: started, replaced and ended by processes/supervisor.ts.
import pino from 'pino'
import { readConfig } from './config/config.js'
import { endOnFaults, endOnSignals, tell } from './ending.js'
import { armFaultPoint } from './fault-points.js'
import { Lifecycle } from './lifecycle.js'
import { LogOutput } from './log-output.js'
import { Siblings } from './processes/siblings.js'
import { serve } from './serve.js'
import type { Serving } from './serving.js'

const lifecycle = new Lifecycle()
let serving: Serving | undefined

endOnSignals(async (signal) => {
  await serving?.leave(signal)
  await lifecycle.close()
})

try {
  const config = readConfig()
  const { siblings, database } = await Siblings.meet()
  const output = new LogOutput(1, { isShared: true })
  process.on('exit', () => output.flushSync())
  const logger = pino({ level: config.logLevel, base: { process: siblings.place.number } }, output)
  endOnFaults(logger)
  armFaultPoint(config.faultPoint)
  const isDiskFull = () => siblings.state.isDiskFull
  serving = await serve(lifecycle, { config, logger, database: { ...database, isDiskFull }, siblings })
  output.flushSync()
  siblings.started({ port: serving.port, descriptions: serving.descriptions, firstRun: serving.firstRun })
} catch (error) {
  // A signal in the middle of starting unwinds by itself.
  if (!lifecycle.isClosing) {
    tell(error)
    await lifecycle.close().catch(tell)
    process.exit(1)
  }
}
