import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'

export interface LockHolder {
  pid: number
  /** When the process started, as its system tells it: a pid alone comes back after `kill -9` or a reboot. */
  started: string
  purpose: 'service' | 'command'
  nonce: string
}

export type LockAttempt = { held: true; release(): void } | { held: false; holder: LockHolder }

// A breaker lives for microseconds; one this old was left by a process that was killed just then.
const abandonedBreakerMs = 10_000

/**
 * Takes the lock file at `path`, or tells who holds it. A holder that no longer lives loses it: exactly one contender
 * may replace a given lock, the one that could link the breaker named after that lock's nonce.
 */
export function tryLock(path: string, purpose: LockHolder['purpose']): LockAttempt {
  const own: LockHolder = { pid: process.pid, started: processStart(process.pid) ?? '', purpose, nonce: randomUUID() }
  const ticket = `${path}.${own.nonce}`
  writeFileSync(ticket, JSON.stringify(own), { mode: 0o600 })
  try {
    for (let attempt = 0; ; attempt++) {
      if (linked(ticket, path)) return { held: true, release: () => release(path, own) }
      const holder = readHolder(path)
      if (holder && isAlive(holder)) return { held: false, holder }
      if (!holder && existsEmpty(path)) rmSync(path, { force: true })
      if (holder && replaceDead(path, holder, ticket)) return { held: true, release: () => release(path, own) }
      if (attempt > 1000) throw new Error(`The lock file '${path}' can be neither read nor replaced; remove it.`)
    }
  } finally {
    rmSync(ticket, { force: true })
  }
}

function replaceDead(path: string, dead: LockHolder, ticket: string): boolean {
  const breaker = `${path}.break-${dead.nonce}`
  if (!linked(ticket, breaker)) {
    if (Date.now() - modified(breaker) > abandonedBreakerMs) rmSync(breaker, { force: true })
    return false
  }
  try {
    if (readHolder(path)?.nonce !== dead.nonce) return false
    renameSync(breaker, path)
    return true
  } finally {
    rmSync(breaker, { force: true })
  }
}

function release(path: string, own: LockHolder) {
  if (readHolder(path)?.nonce === own.nonce) rmSync(path, { force: true })
}

function readHolder(path: string): LockHolder | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

export const isAlive = (holder: LockHolder) => holder.started !== '' && processStart(holder.pid) === holder.started

/** When the process `pid` started, in its system's own words; undefined where there is none, or only its zombie. */
function processStart(pid: number): string | undefined {
  if (process.platform !== 'linux') return startByPs(pid)
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The command's name, in parentheses, may hold anything; the fields are counted from behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${fields[19]}`
  } catch {
    return undefined
  }
}

function startByPs(pid: number): string | undefined {
  try {
    return (
      execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim() || undefined
    )
  } catch {
    return undefined
  }
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

const modified = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()

// A disk that was full can leave an empty lock; it names no holder, so it is free.
const existsEmpty = (path: string) => statSync(path, { throwIfNoEntry: false })?.size === 0
