import { type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { chooseAccount, createCluster, createPrivateDirectory, hasCluster, isFulfilled, loadPrograms } from './cluster.js'

export interface EmbeddedServer {
  url: string
  pid: number
  /** Directory of the server's Unix socket. The directory is part of the URL. */
  socketFolder: string
  /** Resolves when the server has exited. */
  exited: Promise<unknown>
  /** Closes all connections and stops the server. Committed transactions are not lost. */
  stop(): Promise<void>
}

export interface EmbeddedOptions {
  /** Existing directory for the database cluster, its socket and its log. */
  folder: string
  settings?: Record<string, string>
  /** Socket directory of the previous server, so that the URL stays the same. */
  socketFolder?: string | undefined
  /**
   * Descriptor of the open lock file. The server inherits it, so that the lock lasts until the last server process has exited.
   */
  lock?: number | undefined
  print?: (message: string) => void
}

// Settings for a laptop. fsync and synchronous_commit stay on, so that no data is lost.
const defaultSettings = {
  listen_addresses: '',
  effective_cache_size: '1GB',
  checkpoint_timeout: '15min',
  wal_compression: 'on',
  random_page_cost: '1.1',
  // Do not log statement errors, because clients receive them, and a log must not contain SQL statements.
  log_min_messages: 'log',
  log_checkpoints: 'off',
}

// Shell script that runs its arguments as a program. If this process exits, the pipe closes, and the script requests a fast
// shutdown of the program.
const endWithParent = 'exec 4<&0; ((read -r _ <&4 || kill -INT $$ 2> /dev/null) 3<&- &); exec "$@" 4<&- < /dev/null'

/** Starts PostgreSQL in `folder`. The caller must hold the folder's lock. */
export async function startServer(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const { folder, lock, print = () => {} } = options
  const data = join(folder, 'postgres')
  const programs = await loadPrograms()
  const account = await chooseAccount(programs.postgres, folder)
  if (!hasCluster(data, programs)) {
    print('Creating a new PostgreSQL database cluster…')
    await createCluster(data, programs, account)
  }
  const socketFolder = options.socketFolder ?? chooseSocketFolder(folder)
  createPrivateDirectory(socketFolder, account)
  const parameters = {
    ...defaultSettings,
    ...options.settings,
    unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`,
  }
  const flags = Object.entries(parameters).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const [program, ...args] = [...account.prefix, 'sh', '-c', endWithParent, 'sh', programs.postgres, '-D', data, ...flags]
  // Another program may now have the process id that is in the file, and PostgreSQL would mistake that program for a running
  // server.
  if (lock !== undefined) rmSync(join(data, 'postmaster.pid'), { force: true })
  const log = openLogFile(join(folder, 'postgres.log'))
  // Detach the server, so that Ctrl-C in a terminal does not stop it before the service has finished.
  const stdio: StdioOptions = ['pipe', log.descriptor, log.descriptor, lock ?? 'ignore']
  const child = spawn(program!, args, { ...account.options, stdio, detached: true })
  closeSync(log.descriptor)
  const exited = isFulfilled(once(child, 'exit'))
  const stop = async () => {
    child.kill('SIGINT')
    await exited
    if (!socketFolder.startsWith(folder)) rmSync(socketFolder, { recursive: true, force: true })
  }
  // Without `sslmode`, the PGSSLMODE environment variable would apply to the socket.
  const url = `postgresql://assay@localhost/assay?host=${encodeURIComponent(socketFolder)}&sslmode=disable`
  const slow = setTimeout(() => print('PostgreSQL is still starting (after a crash, this includes recovery)…'), 3000)
  try {
    while (!(await isReady(url))) {
      const hasExited = await Promise.race([exited.then(() => true), sleep(15, false)])
      if (hasExited) throw createStartError(folder, log.read())
    }
    const { rowCount } = await runStatement(url, "SELECT 1 FROM pg_database WHERE datname = 'assay'")
    if (rowCount === 0) await runStatement(url, 'CREATE DATABASE assay')
    return { url, pid: child.pid!, socketFolder, exited, stop }
  } catch (error) {
    await stop()
    throw error
  } finally {
    clearTimeout(slow)
  }
}

function chooseSocketFolder(folder: string): string {
  const path = join(folder, 'postgres.socket')
  // The path of a Unix socket can have at most 107 bytes.
  return Buffer.byteLength(join(path, '.s.PGSQL.5432')) <= 107 ? path : mkdtempSync('/tmp/assay-pg-')
}

function openLogFile(path: string) {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const descriptor = openSync(path, size > 1_000_000 ? 'w' : 'a', 0o600)
  const start = fstatSync(descriptor).size
  return { descriptor, read: () => readFileSync(path).subarray(start).toString().trim() }
}

function createStartError(folder: string, log: string): Error {
  const lines = log.split('\n')
  const reason = (lines.findLast((line) => /FATAL|PANIC|ERROR|error:/.test(line)) ?? lines.at(-1)!).slice(0, 500)
  if (log.includes('No space left on device')) return createDiskFullError(folder, reason)
  return new Error(`The embedded PostgreSQL did not start in '${folder}': ${reason || 'its program cannot be run'}`)
}

export const createDiskFullError = (folder: string, reason: string) =>
  new Error(
    `The disk that contains '${folder}' is full, so PostgreSQL cannot start. Free at least 64 MB, then start the service again. (${reason})`,
  )

/** True if the server at `url` accepts connections. */
export const isReady = (url: string): Promise<boolean> => isFulfilled(runStatement(url, 'SELECT 1'))

/** Runs a statement in the `postgres` database, which initdb creates. */
async function runStatement(url: string, statement: string): Promise<pg.QueryResult> {
  const connectionString = url.replace('/assay?', '/postgres?')
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5000, query_timeout: 60_000 })
  // Without a listener, a server that is killed during the query would end this process.
  client.on('error', () => {})
  await client.connect()
  return client.query(statement).finally(() => client.end())
}
