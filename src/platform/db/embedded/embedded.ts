import { spawnSync } from 'node:child_process'
import { closeSync, fstatSync, ftruncateSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createDataDir } from '../../data-dir.js'
import { DiskReserve } from '../../disk-reserve.js'
import { isProcessAlive } from '../../is-process-alive.js'
import { megabyte } from '../../units.js'
import { type EmbeddedServer, isReady, startServer } from './server.js'

export interface EmbeddedDatabase {
  url: string
  description: string
  /** Stops the server if this process started it. */
  stop(): Promise<void>
  /** Resolves when the server has stopped and could not be restarted. */
  lost: Promise<void>
  /** True while the server's disk is full. Deletions still work, but nothing else may use disk space. */
  isDiskFull(): boolean
}

interface EmbeddedDatabaseOptions {
  dataDir: string
  purpose: LockHolder['purpose']
  connections: number
  print: (message: string) => void
}

// Additional connections for operator commands and for PostgreSQL itself.
const spareConnections = 20
// Maximum number of consecutive failed restarts or short runs. After that, further restarts would probably fail too.
const maxFailures = 5
const shortRunMs = 30_000
// Pause after a failed restart, doubled after each further failure. If a server was killed, its remaining processes block a new
// start until they exit.
const pauseMs = 1000

/** Starts the server in `dataDir`. If the service is already running, CLI commands connect to its server instead. */
export async function openEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  const { dataDir, connections, print } = options
  // The reserve is the size of two WAL segments. On a full disk, it provides space for the lock file, a recovery and many
  // deletions.
  const reserve = new DiskReserve({ file: join(dataDir, 'postgres.reserve'), maxBytes: 32 * megabyte })
  await reserve.adjust()
  createDataDir(dataDir)
  const lock = await waitForLock(options)
  if (!lock.held) {
    const description = `PostgreSQL of the running service, in ${dataDir}`
    return { url: lock.url, description, stop: async () => {}, lost: new Promise(() => {}), isDiskFull: () => false }
  }
  const settings = { max_connections: String(Math.max(100, connections + spareConnections)) }
  try {
    const server = await superviseServer(async (socketFolder) => {
      await reserve.adjust()
      return startServer({ folder: dataDir, lock: lock.descriptor, print, settings, socketFolder })
    }, print)
    reserve.watch()
    lock.publish(server.url)
    return {
      url: server.url,
      description: `PostgreSQL from npm, in ${join(dataDir, 'postgres')}`,
      stop: async () => {
        await server.stop()
        await reserve.close()
        lock.release()
      },
      lost: server.lost,
      isDiskFull: reserve.isFull,
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Starts a server, and restarts it at the same address after an unexpected exit, for example an out-of-memory kill. */
export async function superviseServer(
  start: (socketFolder?: string) => Promise<EmbeddedServer>,
  print: (message: string) => void,
): Promise<{ url: string; lost: Promise<void>; stop(): Promise<void> }> {
  let server = await start()
  const stopping = new AbortController()
  const supervise = async () => {
    for (let failures = 0; !stopping.signal.aborted; failures++) {
      const startedAt = Date.now()
      await server.exited
      if (Date.now() - startedAt > shortRunMs) failures = 0
      if (stopping.signal.aborted || failures === maxFailures) return
      try {
        server = await start(server.socketFolder)
        print('PostgreSQL stopped unexpectedly and was restarted.')
      } catch (error) {
        print((error as Error).message)
        await sleep(pauseMs * 2 ** failures, undefined, { signal: stopping.signal }).catch(() => {})
      }
    }
  }
  const supervision = supervise()
  return {
    url: server.url,
    lost: supervision.then(() => (stopping.signal.aborted ? new Promise<void>(() => {}) : undefined)),
    stop: async () => {
      stopping.abort()
      await server.stop()
      // A restart may be in progress, so wait for it and stop the new server too.
      await supervision
      await server.stop()
    },
  }
}

async function waitForLock({ dataDir, purpose, print }: EmbeddedDatabaseOptions) {
  const startedAt = Date.now()
  for (let isReported = false; ; await sleep(50)) {
    const lock = tryLock(join(dataDir, 'postgres.lock'), purpose)
    if (lock.held) return lock
    const { holder } = lock
    const url = purpose === 'command' && holder?.purpose === 'service' && !isHolderProcessGone(holder) ? holder.url : undefined
    if (url !== undefined && (await isReady(url))) return { held: false as const, url }
    // Commands, and the servers of killed services, exit within seconds, so wait for them. A command also waits for a service,
    // which may be shutting down.
    const waits = purpose === 'command' || holder?.purpose === 'command' || isHolderProcessGone(holder)
    if (Date.now() - startedAt > (waits ? 60_000 : 2000)) throw createInUseError(dataDir, holder)
    if (waits && !isReported) print(`Waiting for process ${holder?.pid}, which is using the database in '${dataDir}'…`)
    isReported = true
  }
}

const isHolderProcessGone = (holder: LockHolder | undefined) => holder?.host === hostname() && !isProcessAlive(holder.pid)

function createInUseError(dataDir: string, holder: LockHolder | undefined): Error {
  const name = `DATA_DIR '${dataDir}'`
  if (holder?.host !== hostname())
    return new Error(
      `${name} is in use by another container or machine. Each embedded PostgreSQL needs its own directory. Stop the other one, set another DATA_DIR, or set DATABASE_URL for both.`,
    )
  if (isHolderProcessGone(holder))
    return new Error(
      `${name} is in use by the PostgreSQL server of a killed service. Stop that server, then start the service again.`,
    )
  const user = holder.purpose === 'service' ? 'the Assay service' : 'a command'
  return new Error(`${name} is in use by ${user} with process id ${holder.pid}. Stop that process, or set another DATA_DIR.`)
}

/** Content of a lock file. It only describes the holder, because the kernel maintains the actual lock. */
export interface LockHolder {
  host: string
  pid: number
  purpose: 'service' | 'command'
  url?: string | undefined
}

/** Locks a file, even across containers. The lock ends when all processes that have `descriptor` open have exited. */
export function tryLock(path: string, purpose: LockHolder['purpose']) {
  const descriptor = openSync(path, 'a', 0o600)
  // The previous holder may have deleted the file after it was opened here. A lock on a deleted file would not exclude other
  // processes.
  const isLockFileCurrent = () => fstatSync(descriptor).ino === statSync(path, { throwIfNoEntry: false })?.ino
  if (!flock(descriptor) || !isLockFileCurrent()) {
    closeSync(descriptor)
    return { held: false as const, holder: readLockHolder(path) }
  }
  const writeHolder = (url?: string) => {
    ftruncateSync(descriptor)
    writeSync(descriptor, JSON.stringify({ host: hostname(), pid: process.pid, purpose, url } satisfies LockHolder))
  }
  writeHolder()
  const release = () => {
    rmSync(path, { force: true })
    closeSync(descriptor)
  }
  return { held: true as const, descriptor, publish: writeHolder, release }
}

/** Node.js has no flock(2), so flock(1) locks the inherited descriptor 3. macOS has no flock(1), so Perl is used there. */
function flock(descriptor: number): boolean {
  const perl = 'open(F, "+<&=", 3) or exit 2; exit(flock(F, 6) ? 0 : $!{EWOULDBLOCK} ? 1 : 2)'
  for (const [program, ...args] of [['flock', '-n', '3'] as const, ['perl', '-e', perl] as const]) {
    const { status } = spawnSync(program, args, { stdio: ['ignore', 'ignore', 'ignore', descriptor] })
    if (status === 0 || status === 1) return status === 0
  }
  throw new Error('DATA_DIR cannot be locked. Install flock (util-linux) and use a local file system, or set DATABASE_URL.')
}

function readLockHolder(path: string): LockHolder | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
