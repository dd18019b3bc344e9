import { readConfig } from '../config/config.js'
import type { LoadApplication } from './application.js'
import { Lifecycle } from './lifecycle.js'
import { type RunningServer, serve } from './serve.js'
import { openLog, runProcess } from './shutdown.js'
import { Siblings } from './siblings.js'

/** Runs one of several processes that serve on one port. The supervisor starts, replaces and stops them. */
export async function runServingProcess(loadApplication: LoadApplication): Promise<void> {
  const lifecycle = new Lifecycle()
  let serving: RunningServer | undefined
  const start = async () => {
    const config = readConfig()
    const [{ siblings, database }, createApp] = await Promise.all([Siblings.connect(), loadApplication()])
    const { logger, flush } = openLog(config, siblings.self.number)
    const isDiskFull = () => siblings.state.isDiskFull
    serving = await serve(lifecycle, { createApp, config, logger, database: { ...database, isDiskFull }, siblings })
    flush()
    siblings.reportStarted(serving.started)
  }
  await runProcess(lifecycle, start, async (signal) => serving?.prepareShutdown(signal))
}
