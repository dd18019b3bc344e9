import { spawn } from 'node:child_process'
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Account, chooseAccount, parentDeathPrefix, serverEnv } from './account.js'
import { findBinaries, type PostgresBinaries } from './binaries.js'
import { diskFull, initialise, stopOrphan } from './cluster.js'

export interface EmbeddedServer {
  url: string
  pid: number
  /** Of its socket: the URL stays the same as long as this does. */
  socketFolder: string
  /** Resolves when the server is gone, however it ended. */
  exited: Promise<void>
  /** A fast shutdown: connections are cut, everything committed is kept. */
  stop(): Promise<void>
}

export interface EmbeddedOptions {
  /** An existing folder, where the server keeps everything: `postgres`, its socket and its log. */
  folder: string
  settings?: Record<string, string>
  /** The one that an earlier server on `folder` had; unset, one is chosen. */
  socketFolder?: string
  say?: (what: string) => void
}

const database = 'assay'

// Modest for a laptop, safe for data: fsync and synchronous_commit stay on.
const ourSettings = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '100',
  shared_buffers: '128MB',
  effective_cache_size: '1GB',
  max_wal_size: '1GB',
  checkpoint_timeout: '15min',
  wal_compression: 'on',
  random_page_cost: '1.1',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // What a client did wrong is answered to the client; the statements of others have no place in a log.
  log_min_messages: 'log',
  log_checkpoints: 'off',
}

/** Starts PostgreSQL from npm on `folder`; the caller holds the folder's lock. */
export async function startServer({ folder, settings = {}, say = () => {}, ...given }: EmbeddedOptions): Promise<EmbeddedServer> {
  const binaries = findBinaries()
  const [account] = await Promise.all([chooseAccount(binaries, folder), parentDeathPrefix()])
  await stopOrphan(folder, say)
  await initialise({ folder, binaries, account, say })
  const socketFolder = makeSocketFolder(given.socketFolder ?? chooseSocketFolder(folder), account)
  const server = await launch({ folder, socketFolder, binaries, account, settings: { ...ourSettings, ...settings }, say })
  try {
    await makeDatabase(server.url)
    return server
  } catch (error) {
    await server.stop()
    throw error
  }
}

// The address of a unix socket holds 107 bytes; '/.s.PGSQL.5432' needs 14 of them.
const longestSocketFolder = 107 - '/.s.PGSQL.5432'.length

function chooseSocketFolder(folder: string): string {
  const path = join(folder, 'postgres.socket')
  if (Buffer.byteLength(path) <= longestSocketFolder) return path
  const base = Buffer.byteLength(tmpdir()) + 20 > longestSocketFolder ? '/tmp' : tmpdir()
  return mkdtempSync(join(base, 'assay-pg-'))
}

function makeSocketFolder(path: string, account: Account): string {
  mkdirSync(path, { recursive: true })
  chmodSync(path, 0o700)
  account.own(path)
  return path
}

interface Launch {
  folder: string
  socketFolder: string
  binaries: PostgresBinaries
  account: Account
  settings: Record<string, string>
  say: (what: string) => void
}

async function launch({ folder, socketFolder, binaries, account, settings, say }: Launch): Promise<EmbeddedServer> {
  const data = join(folder, 'postgres')
  const flags = Object.entries({ ...settings, unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"` }).flatMap(
    ([name, value]) => ['-c', `${name}=${value}`],
  )
  const [program, ...args] = [...account.prefix, ...(await parentDeathPrefix()), binaries.postgres, '-D', data, ...flags]
  const log = openLog(folder)
  // A group of its own: Ctrl-C in a terminal is for us alone, we stop the server when the last call is done.
  const child = spawn(program!, args, {
    ...account.spawn,
    env: serverEnv,
    cwd: '/',
    stdio: ['ignore', log.fd, log.fd],
    detached: true,
  })
  closeSync(log.fd)
  let gone = false
  const exited = new Promise<void>((resolve) => {
    const end = () => {
      gone = true
      resolve()
    }
    child.once('exit', end).once('error', end)
  })
  const killNow = () => void (gone || child.kill('SIGINT'))
  process.once('exit', killNow)
  void exited.then(() => process.removeListener('exit', killNow))

  const started = Date.now()
  for (let told = false; !isReady(data, child.pid); await sleep(15)) {
    if (gone) throw didNotStart(data, log, program!)
    if (!told && Date.now() - started > 3000) say('PostgreSQL is still starting (it recovers what a crash left)…')
    told ||= Date.now() - started > 3000
  }
  return {
    url: socketUrl(socketFolder, database),
    pid: child.pid!,
    socketFolder,
    exited,
    stop: async () => {
      if (!gone) child.kill('SIGINT')
      await exited
      if (!socketFolder.startsWith(folder)) rmSync(socketFolder, { recursive: true, force: true })
    },
  }
}

function didNotStart(data: string, log: ReturnType<typeof openLog>, program: string): Error {
  const why = log.lastLine() || `it could not be run (${program})`
  if (log.says('No space left on device')) return diskFull(data, why)
  return new Error(`The embedded PostgreSQL did not start on '${data}': ${why}`)
}

// PGSSLMODE in our environment would ask a socket for TLS.
const socketUrl = (socketFolder: string, name: string) =>
  `postgresql://assay@localhost/${name}?host=${encodeURIComponent(socketFolder)}&sslmode=disable`

/** The eighth line of postmaster.pid is the server's own word on whether it takes connections. */
function isReady(data: string, pid: number | undefined): boolean {
  try {
    const lines = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
  } catch {
    return false
  }
}

function openLog(folder: string) {
  const path = join(folder, 'postgres.log')
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const fd = openSync(path, size > 1_000_000 ? 'w' : 'a', 0o600)
  const from = size > 1_000_000 ? 0 : size
  const text = () => readFileSync(path).subarray(from).toString('utf8').trim()
  const lastLine = () => {
    const lines = text().split('\n')
    return (lines.findLast((line) => /FATAL|PANIC|ERROR|error:/.test(line)) ?? lines.at(-1) ?? '').slice(0, 500)
  }
  return { fd, lastLine, says: (words: string) => text().includes(words) }
}

async function makeDatabase(url: string) {
  const client = new pg.Client({ connectionString: url.replace(`/${database}?`, '/postgres?') })
  // A server killed between two statements is an error of the connection: without a listener it would end this process.
  client.on('error', () => {})
  await client.connect()
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${database}`)
  } finally {
    await client.end()
  }
}
