import { setTimeout as sleep } from 'node:timers/promises'
import pino, { type Logger } from 'pino'
import { banner } from './banner.js'
import { ConfigError, readConfig } from './config/config.js'
import { createDatabase } from './db/client.js'
import { openDatabase } from './db/embedded/embedded.js'
import { migrate } from './db/migrate.js'
import { type Draining, drainable } from './drain.js'
import { armFaultPoint } from './fault-points.js'
import { Lifecycle } from './lifecycle.js'
import { listen, refuseUsedPort } from './listen.js'
import { LogOutput } from './log-output.js'

/** config -> database -> app -> listen; everything that was opened is closed in reverse, however it ends. */
async function start(lifecycle: Lifecycle): Promise<void> {
  const config = readConfig()
  const output = new LogOutput(1)
  process.on('exit', () => output.flushSync())
  const logger = pino({ level: config.logLevel, base: undefined }, output)
  endOnFaults(logger)
  armFaultPoint(config.faultPoint)
  // Before anything is made: a first key that is shown once must not be lost to a port in use.
  await refuseUsedPort(config)

  say(config.databaseUrl === undefined ? `Starting PostgreSQL in ${config.dataDir}…` : 'Connecting to PostgreSQL…')
  const opening = lifecycle.open(
    () => openDatabase(config, say),
    (database) => database.stop(),
  )
  // Half a second of loading, while PostgreSQL starts.
  const [opened, { createApp }] = await Promise.all([opening, import('./app.js')])
  await opened.prove()
  const applied = await migrate(opened.directUrl)
  if (applied.length > 0) say(`Applied ${applied.length} database migration${applied.length === 1 ? '' : 's'}.`)
  lifecycle.refuseToGoOn()

  const database = await lifecycle.open(
    async () => createDatabase(opened.url, { poolSize: config.databasePoolSize, directUrl: opened.directUrl, logger }),
    (pool) => pool.close(),
  )
  say('Opening the blob store and the virus scanner…')
  const app = await lifecycle.open(
    () => createApp({ config, database, databaseUrl: opened.directUrl, isDiskFull: opened.isDiskFull, logger }),
    (open) => open.close(),
  )
  await app.warm()
  app.startMaintenance()
  if (app.firstRun && app.firstRun.apiKey.length < 32)
    logger.warn('BOOTSTRAP_API_KEY is short enough to be guessed; rotate the first key, or choose 32 random characters or more.')
  shutdown.graceMs = config.shutdownGraceSeconds * 1000
  const drain = drainable(app.httpServer)
  const port = await lifecycle.open(
    () => listen(app.httpServer, config),
    () => drain(shutdown),
  )
  const { metricsServer } = app
  if (metricsServer && config.metricsPort !== undefined) {
    const place = { host: config.host, port: config.metricsPort }
    const drainMetrics = drainable(metricsServer)
    await lifecycle.open(
      () => listen(metricsServer, place),
      () => drainMetrics({ graceMs: 1000, lingerMs: 0 }),
    )
  }
  serving = { announceStop: app.announceStop, delayMs: config.shutdownDelaySeconds * 1000 }
  output.flushSync()
  console.log(banner({ config, port, database: opened.description, app }))
  void opened.lost.then(
    () =>
      lifecycle.isClosing ||
      fail(logger, 'The embedded PostgreSQL ended by itself and cannot be started again; see postgres.log in DATA_DIR.'),
  )
}

const say = (what: string) => console.log(what)

function endOnFaults(logger: Logger) {
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error) => fail(logger, 'A fault that nothing handled; the process ends.', error))
  }
}

// The state is unknown: no draining. PostgreSQL is stopped as the process exits, and what was answered is committed.
function fail(logger: Logger, message: string, error?: unknown): never {
  // Once: what goes wrong while that is written ends the process as well.
  if (!isFailing) {
    isFailing = true
    logger.fatal({ err: error }, message)
  }
  process.exit(1)
}

let isFailing = false

function tell(error: unknown) {
  const known = error instanceof ConfigError || (error instanceof Error && error.constructor === Error)
  console.error(known ? error.message : error)
}

const lifecycle = new Lifecycle()

const mostLingerMs = 2000
const shutdown: Draining = { graceMs: 30_000, lingerMs: 0 }
let serving: { announceStop(): void; delayMs: number } | undefined

// npm hands a terminal's Ctrl-C on to us, which has it from the terminal already: within a second both are one.
const sameSignalMs = 1000
let firstSignal = 0

function onSignal(signal: NodeJS.Signals) {
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

// A balancer hears of the end by readiness alone, and late: until then it goes on sending. At a terminal there is none.
async function end(signal: NodeJS.Signals): Promise<void> {
  const delayMs = signal === 'SIGTERM' ? (serving?.delayMs ?? 0) : 0
  serving?.announceStop()
  if (delayMs > 0) {
    say(`${signal}: serving for another ${delayMs / 1000} s, not ready any more…`)
    shutdown.lingerMs = Math.min(delayMs, mostLingerMs)
    await sleep(delayMs)
  }
  say(
    `${signal}: finishing what is under way (${Math.round(shutdown.graceMs / 1000)} s at most; a second signal ends it at once)…`,
  )
  await lifecycle.close()
}

for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
process.on('SIGTERM', onSignal).on('SIGINT', onSignal)

try {
  await start(lifecycle)
} catch (error) {
  // A signal in the middle of starting unwinds by itself.
  if (!lifecycle.isClosing) {
    tell(error)
    await lifecycle.close().catch(tell)
    process.exit(1)
  }
}
