// Ensures that one process at a time prepares a clone. proper-lockfile is similar, but this file runs before packages are
// installed.
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Runs `work` while holding the lock file at `path`; waits for a live holder, takes over from a dead one. */
export async function withLock(path, say, work) {
  for (let waiting = false; !take(path); await sleep(200)) {
    const holder = read(path)
    if (holder && !isAlive(holder)) discard(path, holder)
    else if (!waiting) {
      say(`Waiting for process ${holder?.split(' ')[0] ?? '?'}, which is preparing this clone…`)
      waiting = true
    }
  }
  try {
    return await work()
  } finally {
    rmSync(path, { force: true })
  }
}

function take(path) {
  try {
    writeFileSync(path, `${process.pid} ${started(process.pid)}`, { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

/** Removes the lock of a dead process if it is unchanged. A race between two processes only causes a second build. */
function discard(path, holder) {
  if (read(path) === holder) rmSync(path, { force: true })
}

function isAlive(holder) {
  const [pid, ...start] = holder.split(' ')
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    if (error.code !== 'EPERM') return false
  }
  return started(Number(pid)) === start.join(' ')
}

// A pid can be reused after a reboot, but not its start time. Without /proc, a lock expires after an hour.
function started(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return ''
  }
}

function read(path) {
  try {
    if (process.platform !== 'linux' && Date.now() - statSync(path).mtimeMs > 3_600_000) rmSync(path, { force: true })
    return readFileSync(path, 'utf8') || undefined
  } catch {
    return undefined
  }
}
