import { createHash, randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { isAlive } from './is-alive.js'

// A name tells which run of which host made a file, so that what a killed process left is known for garbage at the next start.
const host = createHash('sha256').update(hostname()).digest('hex').slice(0, 8)
const run = randomBytes(6).toString('hex')
let count = 0

/** A new name for something that lives no longer than this process. */
export const runName = (): string => `${host}-${process.pid}-${run}-${++count}`

/** True for the name of a process of this host that is gone. */
export function isOfDeadRun(name: string): boolean {
  const [, itsHost, itsPid, itsRun] = /^([0-9a-f]{8})-(\d+)-([0-9a-z]+)-\d+$/.exec(name) ?? []
  if (itsHost !== host || itsRun === run) return false
  // The next run of a container often has the process id of the first one.
  return Number(itsPid) === process.pid || !isAlive(Number(itsPid))
}
