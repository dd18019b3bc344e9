import { execFile, execFileSync, type SpawnOptions } from 'node:child_process'
import { chownSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import type { PostgresBinaries } from './binaries.js'

const run = promisify(execFile)

// Ours, not the operator's: PGDATA, PGPORT, LD_PRELOAD and the like must not reach the server.
export const serverEnv = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/** How to run a program so that PostgreSQL, which refuses root, agrees. */
export interface Account {
  /** What goes before the program: a user namespace, or nothing. */
  prefix: string[]
  spawn: Pick<SpawnOptions, 'uid' | 'gid'>
  own(folder: string): void
}

const asWeAre: Account = { prefix: [], spawn: {}, own: () => {} }

// The server sees uid 1000, the kernel sees the owner: nothing is chowned, and a clone under /root (0700) is in reach.
const inUserNamespace: Account = { ...asWeAre, prefix: ['unshare', '--user', '--map-user=1000', '--map-group=1000', '--'] }

const asUser = (uid: number, gid: number): Account => ({
  prefix: [],
  spawn: { uid, gid },
  own: (folder) => chownSync(folder, uid, gid),
})

/** The first account of those that can run PostgreSQL's programs and work in `folder` (which exists). */
export async function chooseAccount(binaries: PostgresBinaries, folder: string): Promise<Account> {
  if (process.getuid?.() !== 0) return asWeAre
  for (const account of candidates(binaries, folder)) {
    if (await canRun(account, binaries, folder)) return account
  }
  throw new Error(
    `PostgreSQL does not run as root, and there is no other way here (no user namespaces, and no ordinary user that reaches '${folder}'): ` +
      'start Assay as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own.',
  )
}

function* candidates(binaries: PostgresBinaries, folder: string): Generator<Account> {
  if (process.platform === 'linux') yield inUserNamespace
  for (const path of [folder, dirname(binaries.postgres)]) {
    const { uid, gid } = statSync(path)
    if (uid !== 0) yield asUser(uid, gid)
  }
  if (![folder, binaries.postgres].every(isOpenToAll)) return
  const user = lookUp('postgres') ?? lookUp('assay') ?? makeUser('assay')
  if (user) yield user
}

function isOpenToAll(path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) return false
    if (at === dirname(at)) return true
  }
}

function makeUser(name: string): Account | undefined {
  try {
    execFileSync('useradd', ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', name], { stdio: 'ignore' })
    return lookUp(name)
  } catch {
    return undefined
  }
}

function lookUp(name: string): Account | undefined {
  try {
    const ids = ['-u', '-g'].map((flag) =>
      Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })),
    )
    return asUser(ids[0]!, ids[1]!)
  } catch {
    return undefined
  }
}

async function canRun({ prefix, spawn }: Account, { postgres, initdb }: PostgresBinaries, folder: string): Promise<boolean> {
  const command = async (...words: string[]) => {
    const [program, ...args] = [...prefix, ...words]
    await run(program!, args, { ...spawn, env: serverEnv, cwd: '/' })
  }
  try {
    await Promise.all([command(initdb, '--version'), command(postgres, '--version'), command('test', '-x', folder)])
    return true
  } catch {
    return false
  }
}

let dieWithParent: Promise<string[]> | undefined

/** What makes the kernel end the server (by a fast shutdown) when we are killed with -9. Linux only; elsewhere the next start mends it. */
export function parentDeathPrefix(): Promise<string[]> {
  dieWithParent ??= run('setpriv', ['--pdeathsig', 'INT', 'true'], { env: serverEnv }).then(
    () => ['setpriv', '--pdeathsig', 'INT', '--'],
    () => [],
  )
  return dieWithParent
}
