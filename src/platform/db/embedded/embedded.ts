import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DiskReserve } from '../../disk-reserve.js'
import { megabyte } from '../../units.js'
import { type DatabaseUrls, withoutSecrets } from '../database-url.js'
import { proveDatabase } from '../prove-database.js'
import { diskFull, syncFolder } from './cluster.js'
import { takeFileLock } from './file-lock.js'
import { keepRunning } from './keeper.js'
import { isAlive, type LockHolder, tryLock } from './lock.js'
import { startServer } from './server.js'

export interface OpenDatabase extends DatabaseUrls {
  description: string
  /** Throws one sentence where an outside one lacks what the service needs. */
  prove(): Promise<void>
  /** The embedded server stops cleanly; an outside one is left alone. */
  stop(): Promise<void>
  /** Resolves when the embedded server ended by itself and could not be started again; never for an outside one. */
  lost: Promise<void>
  /** True while the embedded server's disk is full: deletes work, and nothing is to take more of it. */
  isDiskFull(): boolean
}

export interface DatabasePlace {
  dataDir: string
  databaseUrl: string | undefined
  /** Where `databaseUrl` is that of a pooler in transaction mode. */
  databaseDirectUrl?: string | undefined
  /** How many the service may open; the embedded server allows a hundred, and more where that is not enough. */
  connections?: number
}

type Say = (what: string) => void

// An operator's command is done in seconds; a service that starts in the meantime waits for it. A service that was
// just asked to stop needs a moment; one that lives on is not going to go.
const patienceMs = { command: 60_000, service: 2000 }

// Two segments of PostgreSQL's log: what a recovery and many deletes take.
const reserveBytes = 32 * megabyte

/** The database for the service: the outside one, or the embedded one on a DATA_DIR that is then ours alone. */
export async function openDatabase(place: DatabasePlace, say: Say = () => {}): Promise<OpenDatabase> {
  if (place.databaseUrl !== undefined) return outside(place.databaseUrl, place.databaseDirectUrl)
  return openEmbedded(place.dataDir, { purpose: 'service', say, connections: place.connections }).catch(
    tellOfFullDisk(place.dataDir),
  )
}

/**
 * The database for one of the operator's commands: the running service's own where there is one,
 * else the embedded one, started for this command and stopped after it.
 */
export async function borrowDatabase(place: DatabasePlace, say: Say = () => {}): Promise<OpenDatabase> {
  if (place.databaseUrl !== undefined) return outside(place.databaseUrl, place.databaseDirectUrl)
  return openEmbedded(place.dataDir, { purpose: 'command', say }).catch(tellOfFullDisk(place.dataDir))
}

const elsewhere = { stop: async () => {}, lost: new Promise<void>(() => {}), isDiskFull: () => false }

function outside(url: string, directUrl = url): OpenDatabase {
  const urls = { url, directUrl }
  const sessions = url === directUrl ? '' : `, sessions at ${withoutSecrets(directUrl)}`
  return {
    ...elsewhere,
    ...urls,
    description: `PostgreSQL at ${withoutSecrets(url)}${sessions}`,
    prove: () => proveDatabase(urls),
  }
}

const tellOfFullDisk = (dataDir: string) => (error: NodeJS.ErrnoException) => {
  throw error.code === 'ENOSPC' ? diskFull(dataDir, error.message) : error
}

const ours = (url: string) => ({ url, directUrl: url, prove: async () => {} })

async function openEmbedded(
  dataDir: string,
  { purpose, say, connections }: { purpose: LockHolder['purpose']; say: Say; connections?: number | undefined },
): Promise<OpenDatabase> {
  // On a full disk neither the lock nor a recovery could be written.
  const reserve = new DiskReserve({ file: join(dataDir, 'postgres.reserve'), mostBytes: reserveBytes })
  await reserve.look()
  makeDataDir(dataDir)
  const began = Date.now()
  for (let told = false; ; await sleep(50)) {
    const attempt = tryLock(join(dataDir, 'postgres.lock'), purpose)
    if (attempt.held) {
      const lock = await takeFileLock(join(dataDir, 'postgres.flock'))
      const release = () => {
        attempt.release()
        if (lock.held) lock.release()
      }
      if (lock.held) return startOwn({ dataDir, release, say, reserve, connections })
      release()
      if (Date.now() - began > patienceMs.service) throw inUseElsewhere(dataDir)
      continue
    }
    const { holder } = attempt
    const bothServe = holder.purpose === 'service' && purpose === 'service'
    const running = holder.purpose === 'service' && !bothServe ? await findRunning(dataDir, holder) : undefined
    if (running) return running
    if (Date.now() - began > patienceMs[bothServe ? 'service' : 'command']) throw inUse(dataDir, holder)
    if (!told && !bothServe) say(`Waiting for process ${holder.pid}, which uses the database in '${dataDir}'…`)
    told = true
  }
}

const inUse = (dataDir: string, { pid, purpose }: LockHolder) =>
  new Error(
    `DATA_DIR '${dataDir}' is in use by ${purpose === 'service' ? 'the Assay service' : 'a command'} with process id ${pid}; stop that one, or set another DATA_DIR.`,
  )

const inUseElsewhere = (dataDir: string) =>
  new Error(
    `DATA_DIR '${dataDir}' is in use by another container or machine: one embedded PostgreSQL serves one folder. Stop that one, give this one a DATA_DIR of its own, or set DATABASE_URL for both.`,
  )

function makeDataDir(dataDir: string) {
  try {
    mkdirSync(dirname(dataDir), { recursive: true })
    // 0711 as root: an account made for PostgreSQL must pass through, and may not look around.
    if (!existsSync(dataDir)) {
      mkdirSync(dataDir, { mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
      syncFolder(dirname(dataDir))
    }
    writeFileSync(join(dataDir, '.writable'), '')
    rmSync(join(dataDir, '.writable'))
  } catch (error) {
    throw new Error(
      `DATA_DIR '${dataDir}' cannot be written (${(error as NodeJS.ErrnoException).code}); set DATA_DIR to a folder of your own.`,
    )
  }
}

interface Running {
  url: string
  service: number
}

interface Own {
  dataDir: string
  release: () => void
  say: Say
  reserve: DiskReserve
  connections: number | undefined
}

// For the operator's commands, and PostgreSQL's own.
const sparedConnections = 20

async function startOwn({ dataDir, release, say, reserve, connections = 0 }: Own): Promise<OpenDatabase> {
  const notice = join(dataDir, 'postgres.json')
  const settings = { max_connections: String(Math.max(100, connections + sparedConnections)) }
  try {
    await refuseForeign(dataDir)
    const server = await keepRunning(async (socketFolder) => {
      await reserve.look()
      return startServer({ folder: dataDir, say, settings, ...(socketFolder && { socketFolder }) })
    }, say)
    reserve.watch()
    const running: Running = { url: server.url, service: process.pid }
    writeFileSync(`${notice}.new`, JSON.stringify(running), { mode: 0o600 })
    renameSync(`${notice}.new`, notice)
    const stop = async () => {
      rmSync(notice, { force: true })
      await server.stop()
      await reserve.close()
      release()
    }
    let once: Promise<void> | undefined
    return {
      ...ours(server.url),
      description: `PostgreSQL from npm, in ${join(dataDir, 'postgres')}`,
      stop: () => {
        once ??= stop()
        return once
      },
      lost: server.lost,
      isDiskFull: () => reserve.isFull,
    }
  } catch (error) {
    release()
    throw error
  }
}

/** The database that `holder`, a live service, has open; undefined while it is still starting. */
async function findRunning(dataDir: string, holder: LockHolder): Promise<OpenDatabase | undefined> {
  const running = readNotice(dataDir)
  if (running?.service !== holder.pid || !isAlive(holder) || !(await answers(running.url))) return undefined
  return { ...elsewhere, ...ours(running.url), description: `PostgreSQL of the running service, in ${dataDir}` }
}

/**
 * A container that shares the folder has process ids of its own, so its live service looks dead to our lock; but its
 * socket answers here too. A second server on the same files would destroy them.
 */
async function refuseForeign(dataDir: string) {
  const running = readNotice(dataDir)
  // An orphan of ours may be shutting down just now: only who goes on answering without a process here is foreign.
  for (let attempt = 0; attempt < 20; attempt++) {
    const mine = Number(readFirstLine(join(dataDir, 'postgres', 'postmaster.pid')))
    if (!running || processExists(mine) || !(await answers(running.url))) return
    await sleep(100)
  }
  throw new Error(
    `DATA_DIR '${dataDir}' is in use by an Assay service in another container; stop that one, or set another DATA_DIR.`,
  )
}

function readNotice(dataDir: string): Running | undefined {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'postgres.json'), 'utf8'))
  } catch {
    return undefined
  }
}

function readFirstLine(path: string): string {
  return existsSync(path) ? (readFileSync(path, 'utf8').split('\n')[0] ?? '') : ''
}

function processExists(pid: number): boolean {
  try {
    return pid > 1 && process.kill(pid, 0)
  } catch {
    return false
  }
}

function answers(url: string): Promise<boolean> {
  const folder = new URL(url).searchParams.get('host') ?? ''
  return new Promise((resolve) => {
    const socket = connect(join(folder, '.s.PGSQL.5432'))
    const end = (yes: boolean) => {
      socket.destroy()
      resolve(yes)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
}
