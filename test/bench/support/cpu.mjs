// Reads CPU times of processes from /proc in milliseconds, in steps of 10.
import { readdirSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'

/** Returns the fields of a stat file from the third onwards, because the preceding process name may contain spaces. */
const readStatFields = (file) => readFileSync(file, 'latin1').split(') ')[1].split(' ')
const tick = 10
const getOwnMs = (fields) => (Number(fields[11]) + Number(fields[12])) * tick
const getEndedChildrenMs = (fields) => (Number(fields[13]) + Number(fields[14])) * tick

/** Returns the CPU milliseconds of a process, its main thread and its PostgreSQL, excluding the V8 profiler. */
export function getUsedCpu({ pid, dataDir }) {
  return {
    all: getOwnMs(readStatFields(`/proc/${pid}/stat`)) - getProfilerMs(pid),
    main: getOwnMs(readStatFields(`/proc/${pid}/task/${pid}/stat`)),
    database: dataDir ? getDatabaseMs(dataDir) : 0,
  }
}

function getProfilerMs(pid) {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`)
  const profiler = threads.find((thread) => readFileSync(`${thread}/comm`, 'latin1').startsWith('v8:Prof'))
  return profiler ? getOwnMs(readStatFields(`${profiler}/stat`)) : 0
}

function getDatabaseMs(dataDir) {
  const server = Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'latin1').split('\n')[0])
  const fields = readStatFields(`/proc/${server}/stat`)
  let used = getOwnMs(fields) + getEndedChildrenMs(fields)
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    try {
      const child = readStatFields(`/proc/${pid}/stat`)
      if (Number(child[1]) === server) used += getOwnMs(child)
    } catch {
      // The CPU time of an ended process is part of `endedChildrenMs`.
    }
  }
  return used
}

export const getIdleCpu = () => cpus().reduce((sum, { times }) => sum + times.idle, 0)

export const subtractTimes = (later, earlier) =>
  Object.fromEntries(Object.entries(later).map(([name, ms]) => [name, ms - (earlier[name] ?? 0)]))
