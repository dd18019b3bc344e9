import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Config, readConfig } from '../config/config.js'
import { migrate } from '../db/migrate.js'
import { type OpenDatabase, openDatabase } from '../db/open-database.js'
import type { FirstRun, LoadApplication } from './application.js'
import { createBanner } from './banner.js'
import { Lifecycle } from './lifecycle.js'
import { assertPortIsFree } from './listen.js'
import type { Started } from './messages.js'
import type { RunningServer } from './serve.js'
import { exitWithError, getShutdownDelayMs, openLog, runProcess } from './shutdown.js'

/** State that the shutdown shares with the startup. */
interface Service {
  readonly lifecycle: Lifecycle
  readonly loadApplication: LoadApplication
  config?: Config
  prepareShutdown?: RunningServer['prepareShutdown']
}

/** Reads the configuration, opens the database and serves requests. On exit, closes everything in reverse order. */
export async function runService(loadApplication: LoadApplication): Promise<void> {
  const service: Service = { lifecycle: new Lifecycle(), loadApplication }
  await runProcess(
    service.lifecycle,
    () => startService(service),
    (signal) => prepareShutdown(service, signal),
  )
}

async function startService(service: Service): Promise<void> {
  const { lifecycle } = service
  const config = readConfig()
  service.config = config
  const { logger, flush } = openLog(config)
  // Check the port first. A first start that fails because of the port would lose its credentials, which are shown only once.
  await assertPortIsFree(config)

  logMessage(config.databaseUrl === undefined ? `Starting PostgreSQL in ${config.dataDir}…` : 'Connecting to PostgreSQL…')
  const { processes, databasePoolSize } = config
  const location = { ...config, connections: processes * (databasePoolSize + extraConnections) }
  const opening = lifecycle.open(
    () => openDatabase(location, logMessage),
    (database) => database.stop(),
  )
  // PostgreSQL starts while the modules load, which takes half a second.
  const [database, run] = await Promise.all([
    opening,
    processes === 1 ? serveInThisProcess(service) : serveInProcesses(service, processes),
  ])
  await database.verify()
  const applied = await migrate(database.directUrl)
  if (applied.length > 0) logMessage(`Applied ${applied.length} database migration${applied.length === 1 ? '' : 's'}.`)
  lifecycle.assertNotClosing()

  logMessage('Opening the blob store and the virus scanner…')
  const started = await run({ config, logger, database })
  flush()
  console.log(createBanner(config, database.description, started))
  void database.lost.then(
    () =>
      lifecycle.isClosing ||
      exitWithError(
        logger,
        'The embedded PostgreSQL stopped unexpectedly and cannot be restarted. See postgres.log in DATA_DIR.',
      ),
  )
}

async function prepareShutdown({ config, prepareShutdown }: Service, signal: NodeJS.Signals): Promise<void> {
  // Load balancers send requests until their next readiness check fails. There is no load balancer for a service in a terminal.
  const delayMs = prepareShutdown && config ? getShutdownDelayMs(signal, config) : 0
  if (delayMs > 0) logMessage(`${signal}: the readiness check now fails. Accepting calls for another ${delayMs / 1000} s…`)
  await prepareShutdown?.(signal)
  logMessage(
    `${signal}: finishing calls in progress, for at most ${config?.shutdownGraceSeconds} s. A second signal stops the service immediately…`,
  )
}

interface StartOptions {
  config: Config
  logger: Logger
  database: OpenDatabase
}
type Run = (options: StartOptions) => Promise<Started<FirstRun>>

// Connections that each process uses outside its pool: ten for the ledger, and ten for notifications, exports and the reconciler.
const extraConnections = 20

/** Returns a function that serves in this process. Loads the modules first. */
async function serveInThisProcess(service: Service): Promise<Run> {
  const [{ serve }, createApp] = await Promise.all([import('./serve.js'), service.loadApplication()])
  return async (options) => {
    const serving = await serve(service.lifecycle, { createApp, ...options })
    service.prepareShutdown = serving.prepareShutdown
    return serving.started
  }
}

/** Returns a function that starts several serving processes. Loads the supervisor first. */
async function serveInProcesses(service: Service, processes: number): Promise<Run> {
  const { Supervisor } = await import('./supervisor.js')
  return async ({ config, logger, database }) => {
    const { url, directUrl, isDiskFull } = database
    const stopTimeoutMs = (config.shutdownDelaySeconds + config.shutdownGraceSeconds + closeTimeoutSeconds) * 1000
    const startParameters = { database: { url, directUrl } }
    // Register the supervisor before it starts, so that a signal during startup also stops processes that are already running.
    const supervisor = await service.lifecycle.open(
      async () => new Supervisor({ processes, startParameters, isDiskFull, stopTimeoutMs, logger }),
      (opened) => opened.close(),
    )
    const first = await supervisor.start()
    service.prepareShutdown = async (signal) => {
      supervisor.forwardSignal(signal)
      await sleep(getShutdownDelayMs(signal, config))
    }
    return first as Started<FirstRun>
  }
}

const closeTimeoutSeconds = 5

const logMessage = (message: string) => console.log(message)
