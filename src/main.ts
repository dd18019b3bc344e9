import { setTimeout as sleep } from 'node:timers/promises'
import pino, { type Logger } from 'pino'
import { banner } from './banner.js'
import type { FirstRun } from './bootstrap.js'
import { type Config, readConfig } from './config/config.js'
import { type OpenDatabase, openDatabase } from './db/embedded/embedded.js'
import { migrate } from './db/migrate.js'
import { endOnFaults, endOnSignals, fail, tell } from './ending.js'
import { armFaultPoint } from './fault-points.js'
import { Lifecycle } from './lifecycle.js'
import { refuseUsedPort } from './listen.js'
import { LogOutput } from './log-output.js'
import type { Started } from './processes/messages.js'
import { delayAfter, type Serving } from './serving.js'

/** config -> database -> one process that serves, or several; everything that was opened is closed in reverse, however it ends. */
async function start(lifecycle: Lifecycle): Promise<void> {
  config = readConfig()
  const output = new LogOutput(1, { isShared: config.processes > 1 })
  process.on('exit', () => output.flushSync())
  const logger = pino({ level: config.logLevel, base: undefined }, output)
  endOnFaults(logger)
  armFaultPoint(config.faultPoint)
  // Before anything is made: a first key that is shown once must not be lost to a port in use.
  await refuseUsedPort(config)

  say(config.databaseUrl === undefined ? `Starting PostgreSQL in ${config.dataDir}…` : 'Connecting to PostgreSQL…')
  const { processes, databasePoolSize } = config
  const place = { ...config, connections: processes * (databasePoolSize + connectionsBeside) }
  const opening = lifecycle.open(
    () => openDatabase(place, say),
    (database) => database.stop(),
  )
  // Half a second of loading, while PostgreSQL starts.
  const [database, run] = await Promise.all([opening, processes === 1 ? loadOne() : loadSeveral(processes)])
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
      fail(logger, 'The embedded PostgreSQL ended by itself and cannot be started again; see postgres.log in DATA_DIR.'),
  )
}

interface Parts {
  config: Config
  logger: Logger
  database: OpenDatabase
}
type Run = (parts: Parts) => Promise<Started<FirstRun>>

// Of each process: the ledger's ten, and ten for notifications, exports and the reconciler.
const connectionsBeside = 20

async function loadOne(): Promise<Run> {
  const { serve } = await import('./serve.js')
  return async (parts) => {
    const serving = await serve(lifecycle, parts)
    leave = serving.leave
    return serving
  }
}

async function loadSeveral(processes: number): Promise<Run> {
  const { Supervisor } = await import('./processes/supervisor.js')
  return async ({ config, logger, database }) => {
    const { url, directUrl, isDiskFull } = database
    const patienceMs = (config.shutdownDelaySeconds + config.shutdownGraceSeconds + secondsToClose) * 1000
    const beginning = { database: { url, directUrl } }
    // Open before it starts: a signal meanwhile ends what has been started.
    const supervisor = await lifecycle.open(
      async () => new Supervisor({ processes, beginning, isDiskFull, patienceMs, logger }),
      (opened) => opened.close(),
    )
    const first = await supervisor.start()
    leave = async (signal) => {
      supervisor.signal(signal)
      await sleep(delayAfter(signal, config))
    }
    return first as Started<FirstRun>
  }
}

const secondsToClose = 5

const say = (what: string) => console.log(what)

const lifecycle = new Lifecycle()
let config: Config | undefined
let leave: Serving['leave'] | undefined

endOnSignals(async (signal) => {
  // A balancer hears of the end by readiness alone, and late: until then it goes on sending. At a terminal there is none.
  const delayMs = leave && config ? delayAfter(signal, config) : 0
  if (delayMs > 0) say(`${signal}: serving for another ${delayMs / 1000} s, not ready any more…`)
  await leave?.(signal)
  say(`${signal}: finishing what is under way (${config?.shutdownGraceSeconds} s at most; a second signal ends it at once)…`)
  await lifecycle.close()
})

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
