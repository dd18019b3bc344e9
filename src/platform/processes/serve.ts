import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/config.js'
import { createDatabase } from '../db/client.js'
import type { LoadApplication } from './application.js'
import { type Draining, drainable } from './drain.js'
import type { Lifecycle } from './lifecycle.js'
import { listen } from './listen.js'
import { delayAfter, type Serving } from './serving.js'
import type { Siblings } from './siblings.js'

const mostLingerMs = 5000

interface Parts {
  createApp: Awaited<ReturnType<LoadApplication>>
  config: Config
  logger: Logger
  database: { url: string; directUrl: string; isDiskFull: () => boolean }
  /** Where several processes serve behind the port. */
  siblings?: Siblings
}

/** database -> app -> listen: one process that serves. */
export async function serve(lifecycle: Lifecycle, parts: Parts): Promise<Serving> {
  const { createApp, config, logger, database: place, siblings } = parts
  const { databasePoolSize: poolSize, databaseReadUrl: readUrl } = config
  const database = await lifecycle.open(
    async () => createDatabase(place.url, { poolSize, directUrl: place.directUrl, readUrl, logger }),
    (pool) => pool.close(),
  )
  const app = await lifecycle.open(
    () =>
      createApp({
        config,
        database,
        databaseUrl: place.directUrl,
        isDiskFull: place.isDiskFull,
        logger,
        ...(siblings && { siblings }),
      }),
    (open) => open.close(),
  )
  await app.warm()
  app.startMaintenance()
  const shutdown: Draining = { graceMs: config.shutdownGraceSeconds * 1000, lingerMs: 0 }
  const drain = drainable(app.httpServer)
  const port = await lifecycle.open(
    () => listen(app.httpServer, config),
    () => {
      app.endStreams()
      return drain(shutdown)
    },
  )
  const { metricsServer, descriptions, firstRun } = app
  if (metricsServer && config.metricsPort !== undefined) {
    const metricsPlace = { host: config.host, port: config.metricsPort }
    const drainMetrics = drainable(metricsServer)
    await lifecycle.open(
      () => listen(metricsServer, metricsPlace),
      () => drainMetrics({ graceMs: 1000, lingerMs: 0 }),
    )
  }
  const leave = async (signal: NodeJS.Signals) => {
    app.announceStop()
    const delayMs = delayAfter(signal, config)
    shutdown.lingerMs = Math.min(delayMs, mostLingerMs)
    await sleep(delayMs)
  }
  return { port, descriptions, firstRun, leave }
}
