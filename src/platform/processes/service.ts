import { setTimeout as sleep } from 'node:timers/promises'
import pino, { type Logger } from 'pino'
import { type Config, readConfig } from '../config/config.js'
import { migrate } from '../db/migrate.js'
import { type OpenDatabase, openDatabase } from '../db/open-database.js'
import { LogOutput } from '../telemetry/log-output.js'
import type { FirstRun, LoadApplication } from './application.js'
import { banner } from './banner.js'
import { Lifecycle } from './lifecycle.js'
import { refuseUsedPort } from './listen.js'
import type { Started } from './messages.js'
import { delayAfter, type Serving } from './serving.js'
import { endOnFaults, endOnSignals, fail, tell } from './shutdown.js'

/** The state that the signal handlers share with the start. */
interface Service {
  readonly lifecycle: Lifecycle
  readonly loadApplication: LoadApplication
  config?: Config
  leave?: Serving['leave']
}

/**
 * Reads the configuration, opens the database, and serves in this process or in several.
 * Everything that was opened is closed in reverse order, however the service ends.
 */
export async function runService(loadApplication: LoadApplication): Promise<void> {
  const service: Service = { lifecycle: new Lifecycle(), loadApplication }
  const { lifecycle } = service
  endOnSignals((signal) => stop(service, signal))
  try {
    await start(service)
  } catch (error) {
    // A signal during the start already closes everything.
    if (lifecycle.isClosing) return
    tell(error)
    await lifecycle.close().catch(tell)
    process.exit(1)
  }
}

async function start(service: Service): Promise<void> {
  const { lifecycle } = service
  const config = readConfig()
  service.config = config
  const output = new LogOutput(1, { isShared: config.processes > 1 })
  process.on('exit', () => output.flushSync())
  const logger = pino({ level: config.logLevel, base: undefined }, output)
  endOnFaults(logger)
  // Check the port first. Otherwise the credentials of a first start, shown once, could be lost to a port in use.
  await refuseUsedPort(config)

  say(config.databaseUrl === undefined ? `Starting PostgreSQL in ${config.dataDir}…` : 'Connecting to PostgreSQL…')
  const { processes, databasePoolSize } = config
  const place = { ...config, connections: processes * (databasePoolSize + extraConnections) }
  const opening = lifecycle.open(
    () => openDatabase(place, say),
    (database) => database.stop(),
  )
  // Loading the modules takes half a second. PostgreSQL starts in the meantime.
  const [database, run] = await Promise.all([
    opening,
    processes === 1 ? serveHere(service) : serveInProcesses(service, processes),
  ])
  await database.prove()
  const applied = await migrate(database.directUrl)
  if (applied.length > 0) say(`Applied ${applied.length} database migration${applied.length === 1 ? '' : 's'}.`)
  lifecycle.refuseToGoOn()

  say('Opening the blob store and the virus scanner…')
  const { firstRun, ...started } = await run({ config, logger, database })
  output.flushSync()
  console.log(banner({ config, database: database.description, started: { ...started, firstRun } }))
  void database.lost.then(
    () =>
      lifecycle.isClosing ||
      fail(logger, 'The embedded PostgreSQL stopped unexpectedly and cannot be restarted. See postgres.log in DATA_DIR.'),
  )
}

async function stop({ lifecycle, config, leave }: Service, signal: NodeJS.Signals): Promise<void> {
  // A load balancer learns of the stop from readiness only, and late: it sends requests until then. A terminal has none.
  const delayMs = leave && config ? delayAfter(signal, config) : 0
  if (delayMs > 0) say(`${signal}: not ready any more. Calls are accepted for another ${delayMs / 1000} s…`)
  await leave?.(signal)
  say(
    `${signal}: finishing calls in progress, for at most ${config?.shutdownGraceSeconds} s. A second signal stops the service immediately…`,
  )
  await lifecycle.close()
}

interface Parts {
  config: Config
  logger: Logger
  database: OpenDatabase
}
type Run = (parts: Parts) => Promise<Started<FirstRun>>

// Connections of each process beside its pool: ten of the ledger, ten for notifications, exports and the reconciler.
const extraConnections = 20

/** Loads what serves in this process. */
async function serveHere(service: Service): Promise<Run> {
  const [{ serve }, createApp] = await Promise.all([import('./serve.js'), service.loadApplication()])
  return async (parts) => {
    const serving = await serve(service.lifecycle, { createApp, ...parts })
    service.leave = serving.leave
    return serving
  }
}

/** Loads the supervisor of several processes. */
async function serveInProcesses(service: Service, processes: number): Promise<Run> {
  const { Supervisor } = await import('./supervisor.js')
  return async ({ config, logger, database }) => {
    const { url, directUrl, isDiskFull } = database
    const patienceMs = (config.shutdownDelaySeconds + config.shutdownGraceSeconds + secondsToClose) * 1000
    const beginning = { database: { url, directUrl } }
    // Register the supervisor before it starts, so that a signal during the start ends the processes that already run.
    const supervisor = await service.lifecycle.open(
      async () => new Supervisor({ processes, beginning, isDiskFull, patienceMs, logger }),
      (opened) => opened.close(),
    )
    const first = await supervisor.start()
    service.leave = async (signal) => {
      supervisor.signal(signal)
      await sleep(delayAfter(signal, config))
    }
    return first as Started<FirstRun>
  }
}

const secondsToClose = 5

const say = (what: string) => console.log(what)
