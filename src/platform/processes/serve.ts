import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Config, readConfig } from '../config/config.js'
import { createDatabase } from '../db/client.js'
import type { DatabaseUrls } from '../db/database-url.js'
import type { CreateApp, LoadApplication } from './application.js'
import { createDrainFunction, type DrainOptions } from './drain.js'
import type { Lifecycle, PrepareShutdown } from './lifecycle.js'
import { listen } from './listen.js'
import type { Started } from './messages.js'
import { getShutdownDelayMs, openLog, runProcess } from './shutdown.js'
import { Siblings } from './siblings.js'

const maxLingerMs = 5000

export interface ServeOptions {
  config: Config
  logger: Logger
  database: DatabaseUrls & { isDiskFull: () => boolean }
}

/** The started service, which runs in this process or in several processes. */
export interface RunningService {
  started: Started
  /** Makes the readiness check fail. Resolves after load balancers have had time to detect it. */
  prepareShutdown: PrepareShutdown
}

/** Runs one of several processes that share one port. The supervisor starts, replaces and stops them. */
export const runServingProcess = (loadApplication: LoadApplication): Promise<void> =>
  runProcess(async (lifecycle) => {
    const config = readConfig()
    const [{ siblings, database }, createApp] = await Promise.all([Siblings.connect(), loadApplication()])
    const { logger, flush } = openLog(config, siblings.self.number)
    const isDiskFull = () => siblings.state.isDiskFull
    const options = { createApp, config, logger, database: { ...database, isDiskFull }, siblings }
    const { started, prepareShutdown } = await serve(lifecycle, options)
    lifecycle.onShutdown(prepareShutdown)
    flush()
    siblings.reportStarted(started)
  })

/** Opens the database, creates the application and listens. */
export async function serve(
  lifecycle: Lifecycle,
  { createApp, config, logger, database: location, siblings }: ServeOptions & { createApp: CreateApp; siblings?: Siblings },
): Promise<RunningService> {
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
  const prepareShutdown: PrepareShutdown = async (signal) => {
    app.announceStop()
    const delayMs = getShutdownDelayMs(signal, config)
    shutdown.lingerMs = Math.min(delayMs, maxLingerMs)
    await sleep(delayMs)
  }
  return { started: { port, descriptions, firstRun }, prepareShutdown }
}
