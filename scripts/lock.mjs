// Ensures that only one process at a time prepares a clone. proper-lockfile cannot be used, because this file runs before
// packages are installed.
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Runs `work` while holding the lock file at `path`. Waits for a running holder, and takes over the lock of a process that has
 * ended.
 */
export async function withLock(path, say, work) {
  for (let waiting = false; !tryLock(path); await sleep(200)) {
    const holder = readHolder(path)
    if (holder && !isAlive(holder)) removeStaleLock(path, holder)
    else if (!waiting) {
      say(`Waiting for process ${holder?.split(' ')[0] ?? '?'} to finish preparing this clone…`)
      waiting = true
    }
  }
  try {
    return await work()
  } finally {
    rmSync(path, { force: true })
  }
}

function tryLock(path) {
  try {
    writeFileSync(path, `${process.pid} ${getStartTime(process.pid)}`, { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

/** Removes the lock of an ended process if the file is unchanged. If two processes race, one of them builds redundantly. */
function removeStaleLock(path, holder) {
  if (readHolder(path) === holder) rmSync(path, { force: true })
}

function isAlive(holder) {
  const [pid, ...start] = holder.split(' ')
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    if (error.code !== 'EPERM') return false
  }
  return getStartTime(Number(pid)) === start.join(' ')
}

// A process id can be reused after a reboot, but its start time differs. Without /proc, a lock expires after an hour.
function getStartTime(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return ''
  }
}

function readHolder(path) {
  try {
    if (process.platform !== 'linux' && Date.now() - statSync(path).mtimeMs > 3_600_000) rmSync(path, { force: true })
    return readFileSync(path, 'utf8') || undefined
  } catch {
    return undefined
  }
}
