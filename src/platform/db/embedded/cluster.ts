import { execFile, execFileSync } from 'node:child_process'
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Account, serverEnv } from './account.js'
import type { PostgresBinaries } from './binaries.js'

interface Cluster {
  folder: string
  binaries: PostgresBinaries
  account: Account
  say: (what: string) => void
}

/** Makes the cluster in `folder`/postgres where there is none yet. */
export async function initialise({ folder, binaries, account, say }: Cluster): Promise<void> {
  const data = join(folder, 'postgres')
  const version = join(data, 'PG_VERSION')
  if (existsSync(version)) return refuseOtherVersion(data, binaries, readFileSync(version, 'utf8').trim())
  refuseUnknown(data)
  say('Making a new PostgreSQL database cluster…')
  // Made aside and renamed: whatever stands under the final name is whole, even after a crash in the middle.
  const fresh = `${data}.new`
  rmSync(fresh, { recursive: true, force: true })
  mkdirSync(fresh, { mode: 0o700 })
  account.own(fresh)
  const options = ['--username=assay', '--auth-local=trust', '--auth-host=reject', '--encoding=UTF8', '--no-instructions']
  const [program, ...args] = [
    ...account.prefix,
    binaries.initdb,
    '-D',
    fresh,
    ...options,
    '--locale-provider=builtin',
    '--locale=C.UTF-8',
    '--lc-collate=C',
    '--lc-ctype=C',
    '--lc-messages=C',
  ]
  await promisify(execFile)(program!, args, { ...account.spawn, env: serverEnv, cwd: '/' }).catch(
    (error: Error & { stderr?: string }) => {
      throw new Error(`PostgreSQL's initdb failed in '${fresh}': ${(error.stderr || error.message).trim()}`)
    },
  )
  renameSync(fresh, data)
  // Else a power cut can take the name away, and the next start would make an empty database in its place.
  syncFolder(folder)
}

/** A folder that holds something which is no cluster is not ours to remove; an empty one is replaced by the rename. */
function refuseUnknown(data: string): void {
  const held = existsSync(data) ? readdirSync(data) : []
  if (held.length === 0) return
  throw new Error(
    `'${data}' holds '${held[0]}' but no PostgreSQL cluster (there is no PG_VERSION in it): put back what is missing, or move the folder away.`,
  )
}

function refuseOtherVersion(data: string, { postgres }: PostgresBinaries, kept: string) {
  // Reading a file beats asking the program: 30 ms at every start.
  const share = join(postgres, '..', '..', 'share', 'postgresql', 'postgres.bki')
  const own = existsSync(share) ? /^# PostgreSQL (\d+)/.exec(readFileSync(share, 'utf8').slice(0, 100))?.[1] : undefined
  if (own !== undefined && own !== kept) {
    throw new Error(
      `'${data}' was made by PostgreSQL ${kept}, and this version of Assay brings PostgreSQL ${own}: move the data with pg_dump, or set another DATA_DIR.`,
    )
  }
}

/**
 * Ends a PostgreSQL that outlived its service (`kill -9` where the kernel does not end it with us), and removes
 * the pid file of one that did not. The caller holds the folder's lock: no live service uses it.
 */
export async function stopOrphan(folder: string, say: (what: string) => void): Promise<void> {
  const data = join(folder, 'postgres')
  const pidFile = join(data, 'postmaster.pid')
  const pid = existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8').split('\n')[0]) : 0
  if (pid > 1 && isServerOf(pid, data)) {
    say('Stopping the PostgreSQL that a killed service left running…')
    process.kill(pid, 'SIGINT')
    for (let waited = 0; isServerOf(pid, data); waited += 20) {
      // It does not obey a fast shutdown: an immediate one loses nothing either, the next start recovers.
      if (waited === 20_000) process.kill(pid, 'SIGQUIT')
      if (waited > 40_000)
        throw new Error(`The PostgreSQL with process id ${pid} still uses '${data}' and does not stop; end it, then start again.`)
      await sleep(20)
    }
  }
  // What is left is of a dead server. Its pid may be another program's by now, which PostgreSQL would take for a live one.
  rmSync(pidFile, { force: true })
}

function isServerOf(pid: number, data: string): boolean {
  try {
    process.kill(pid, 0)
    const command =
      process.platform === 'linux'
        ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        : execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
    return command.includes('postgres') && command.includes(data)
  } catch {
    return false
  }
}

/** What to do where the embedded database cannot start for want of room. */
export const diskFull = (folder: string, why: string) =>
  new Error(
    `The disk under '${folder}' is full, and PostgreSQL cannot start on it: make 64 MB of room there, then start again. (${why})`,
  )

/** Brings every name in the folder to the disk. */
export function syncFolder(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
