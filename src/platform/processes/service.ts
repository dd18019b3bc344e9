import { type Config, readConfig } from '../config/config.js'
import { migrate } from '../db/migrate.js'
import { openDatabase } from '../db/open-database.js'
import type { LoadApplication } from './application.js'
import { createBanner } from './banner.js'
import type { Lifecycle } from './lifecycle.js'
import { assertPortIsFree } from './listen.js'
import type { RunningService, ServeOptions } from './serve.js'
import { exitWithError, getShutdownDelayMs, openLog, runProcess } from './shutdown.js'

// Number of connections per process outside its pool: ten for the ledger, and ten for notifications, exports and the reconciler.
const extraConnections = 20

/** Reads the configuration, opens the database and serves requests. On exit, closes everything in reverse order. */
export const runService = (loadApplication: LoadApplication): Promise<void> =>
  runProcess((lifecycle) => startService(lifecycle, loadApplication))

async function startService(lifecycle: Lifecycle, loadApplication: LoadApplication): Promise<void> {
  const config = readConfig()
  let service: RunningService | undefined
  lifecycle.onShutdown((signal) => prepareShutdown(signal, config, service))
  const { logger, flush } = openLog(config)
  // Check the port first. A first start that fails because of the port would lose its credentials, which are shown only once.
  await assertPortIsFree(config)

  console.log(config.databaseUrl === undefined ? `Starting PostgreSQL in ${config.dataDir}…` : 'Connecting to PostgreSQL…')
  const connections = config.processes * (config.databasePoolSize + extraConnections)
  // PostgreSQL starts while the modules load, which takes half a second.
  const [database, run] = await Promise.all([
    lifecycle.open(
      () => openDatabase({ ...config, connections }, console.log),
      (opened) => opened.stop(),
    ),
    loadServer(config, loadApplication),
  ])
  await database.verify()
  const applied = await migrate(database.directUrl)
  if (applied.length > 0) console.log(`Applied ${applied.length} database migration${applied.length === 1 ? '' : 's'}.`)
  lifecycle.assertNotClosing()

  console.log('Opening the blob store and the virus scanner…')
  service = await run(lifecycle, { config, logger, database })
  flush()
  console.log(createBanner(config, database.description, service.started))
  void database.lost.then(
    () =>
      lifecycle.isClosing ||
      exitWithError(
        logger,
        'The embedded PostgreSQL stopped unexpectedly and cannot be restarted. See postgres.log in DATA_DIR.',
      ),
  )
}

type Run = (lifecycle: Lifecycle, options: ServeOptions) => Promise<RunningService>

/** Loads the modules that serve requests in this process, or those that supervise several serving processes. */
async function loadServer({ processes }: Config, loadApplication: LoadApplication): Promise<Run> {
  if (processes > 1) return (await import('./supervisor.js')).superviseProcesses
  const [{ serve }, createApp] = await Promise.all([import('./serve.js'), loadApplication()])
  return (lifecycle, options) => serve(lifecycle, { createApp, ...options })
}

async function prepareShutdown(signal: NodeJS.Signals, config: Config, service: RunningService | undefined): Promise<void> {
  // Load balancers send requests until their next readiness check fails, so continue to accept calls. After Ctrl-C in a terminal,
  // there is no delay, because there is no load balancer.
  const delayMs = service ? getShutdownDelayMs(signal, config) : 0
  if (delayMs > 0) console.log(`${signal}: the readiness check now fails. Accepting calls for another ${delayMs / 1000} s…`)
  await service?.prepareShutdown(signal)
  console.log(
    `${signal}: finishing calls in progress, for at most ${config.shutdownGraceSeconds} s. A second signal stops the service immediately…`,
  )
}
