import { spawnSync } from 'node:child_process'
import { closeSync, fstatSync, ftruncateSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'

/** Content of a lock file. It only describes the holder, because the kernel maintains the actual lock. */
export interface LockHolder {
  host: string
  pid: number
  purpose: 'service' | 'command'
  /** URL of the database, if it is running. */
  url?: string | undefined
}

/**
 * Locks the file at `path`. The lock also excludes processes in other containers. It ends with `release`, or when this process
 * and all processes that inherited `descriptor` have exited.
 */
export function tryLock(path: string, purpose: LockHolder['purpose']) {
  const descriptor = openSync(path, 'a', 0o600)
  // The previous holder may have deleted the file after it was opened here.
  const isCurrent = () => fstatSync(descriptor).ino === statSync(path, { throwIfNoEntry: false })?.ino
  if (!flock(descriptor) || !isCurrent()) {
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

/**
 * Node.js has no flock(2). An external program therefore locks the open file, which it inherits as descriptor 3. Perl is used
 * on macOS, which lacks flock(1).
 */
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
