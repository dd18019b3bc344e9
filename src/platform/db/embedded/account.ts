import { execFile, type SpawnOptions } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Account for PostgreSQL's programs, which reject root. */
export interface Account {
  /** Precedes the program and its arguments. */
  prefix: string[]
  options: Pick<SpawnOptions, 'uid' | 'gid' | 'cwd' | 'env'>
}

// Variables of the operator's environment, such as PGDATA, PGPORT and LD_PRELOAD, must not reach the server.
const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' }
const options = { cwd: '/', env }

// initdb requires a user that has a name.
const nobody = 65534

const asUser = (uid: number, gid: number): Account => ({ prefix: [], options: { ...options, uid, gid } })

// The server sees itself as the user `nobody`, but the kernel treats it as root. No file changes its owner, and directories below /root are
// accessible.
const userNamespace = { prefix: ['unshare', '--user', `--map-user=${nobody}`, `--map-group=${nobody}`, '--'], options }

/** Returns the first account that can run `program` and enter `folder`. */
export async function chooseAccount(program: string, folder: string): Promise<Account> {
  if (process.getuid?.() !== 0) return { prefix: [], options }
  for (const account of rootCandidates(folder)) {
    const check = ['sh', '-c', 'id -un && cd "$0" && "$1" --version', folder, program]
    if (await succeeds(run(account, check))) return account
  }
  throw new Error(
    `PostgreSQL does not run as root. User namespaces are disabled, and no other user can access '${program}' and '${folder}'. ` +
      'Start Assay as an ordinary user, or set DATABASE_URL to your own PostgreSQL.',
  )
}

function* rootCandidates(folder: string): Generator<Account> {
  // An existing cluster keeps its owner.
  const { uid, gid } = statSync(join(folder, 'postgres'), { throwIfNoEntry: false }) ?? statSync(folder)
  if (uid !== 0) yield asUser(uid, gid)
  yield userNamespace
  yield asUser(nobody, nobody)
}

export function run({ prefix, options }: Account, command: string[]) {
  const [program, ...args] = [...prefix, ...command]
  return promisify(execFile)(program!, args, options)
}

export const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  )
