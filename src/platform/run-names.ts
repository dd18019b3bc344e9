import { createHash, randomBytes } from 'node:crypto'
import { hostname } from 'node:os'

// A name tells which run of which host made a file, so that what a killed process left is known for garbage at the next start.
const host = createHash('sha256').update(hostname()).digest('hex').slice(0, 8)
const run = randomBytes(6).toString('hex')
let count = 0

/** A new name for something that lives no longer than this process. */
export const runName = (): string => `${host}-${process.pid}-${run}-${++count}`

/** True for the name of a process of this host that is gone. */
export function isOfDeadRun(name: string): boolean {
  const [, itsHost, itsPid, itsRun] = /^([0-9a-f]{8})-(\d+)-([0-9a-z]+)-\d+$/.exec(name) ?? []
  return itsHost === host && itsRun !== run && !isAlive(Number(itsPid))
}

// A container's next run often has its first one's process id: one of our own id but not of our run is dead.
function isAlive(pid: number): boolean {
  if (!(pid > 0) || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
