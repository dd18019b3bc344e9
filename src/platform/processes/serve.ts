import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/config.js'
import { createDatabase } from '../db/client.js'
import type { DatabaseUrls } from '../db/database-url.js'
import type { FirstRun, LoadApplication } from './application.js'
import { createDrainFunction, type DrainOptions } from './drain.js'
import type { Lifecycle } from './lifecycle.js'
import { listen } from './listen.js'
import type { Started } from './messages.js'
import { getShutdownDelayMs } from './shutdown.js'
import type { Siblings } from './siblings.js'

const maxLingerMs = 5000

interface ServeOptions {
  createApp: Awaited<ReturnType<LoadApplication>>
  config: Config
  logger: Logger
  database: DatabaseUrls & { isDiskFull: () => boolean }
  /** Undefined if there is only one serving process. */
  siblings?: Siblings
}

/** The running service in this process. */
export interface RunningServer {
  started: Started<FirstRun>
  /** Makes the readiness check fail. Resolves after load balancers have had time to detect it. */
  prepareShutdown(signal: NodeJS.Signals): Promise<void>
}

/** Opens the database, creates the application and listens. */
export async function serve(lifecycle: Lifecycle, options: ServeOptions): Promise<RunningServer> {
  const { createApp, config, logger, database: location, siblings } = options
  const { databasePoolSize: poolSize, databaseReadUrl: readUrl } = config
  const database = await lifecycle.open(
    async () => createDatabase(location.url, { poolSize, directUrl: location.directUrl, readUrl, logger }),
    (pool) => pool.close(),
  )
  const app = await lifecycle.open(
    () =>
      createApp({
        config,
        database,
        databaseUrl: location.directUrl,
        isDiskFull: location.isDiskFull,
        logger,
        ...(siblings && { siblings }),
      }),
    (open) => open.close(),
  )
  await app.warm()
  app.startMaintenance()
  const shutdown: DrainOptions = { graceMs: config.shutdownGraceSeconds * 1000, lingerMs: 0 }
  const drain = createDrainFunction(app.httpServer)
  const port = await lifecycle.open(
    () => listen(app.httpServer, config),
    () => {
      app.endStreams()
      return drain(shutdown)
    },
  )
  const { metricsServer, descriptions, firstRun } = app
  if (metricsServer && config.metricsPort !== undefined) {
    const metricsAddress = { host: config.host, port: config.metricsPort }
    const drainMetrics = createDrainFunction(metricsServer)
    await lifecycle.open(
      () => listen(metricsServer, metricsAddress),
      () => drainMetrics({ graceMs: 1000, lingerMs: 0 }),
    )
  }
  const prepareShutdown = async (signal: NodeJS.Signals) => {
    app.announceStop()
    const delayMs = getShutdownDelayMs(signal, config)
    shutdown.lingerMs = Math.min(delayMs, maxLingerMs)
    await sleep(delayMs)
  }
  return { started: { port, descriptions, firstRun }, prepareShutdown }
}
