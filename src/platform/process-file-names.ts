import { createHash, randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { isProcessAlive } from './is-process-alive.js'

// File names identify the host and the process, so that the next start recognizes files that a killed process left behind.
const host = createHash('sha256').update(hostname()).digest('hex').slice(0, 8)
const run = randomBytes(6).toString('hex')
let count = 0

/** Returns a new file name. If this process exits without deleting the file, the next start deletes it. */
export const createProcessFileName = (): string => `${host}-${process.pid}-${run}-${++count}`

/** True if the process that created this file ran on this host and has exited. */
export function belongsToExitedProcess(name: string): boolean {
  const [, fileHost, filePid, fileRun] = /^([0-9a-f]{8})-(\d+)-([0-9a-z]+)-\d+$/.exec(name) ?? []
  if (fileHost !== host || fileRun === run) return false
  // A restarted container often reuses the same process id, so a file with this process's id may be from an earlier process.
  return Number(filePid) === process.pid || !isProcessAlive(Number(filePid))
}
