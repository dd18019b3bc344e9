import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname, join } from 'node:path'

interface CgroupPaths {
  /** File with one line per control group of this process: `0::/path` (version 2) or `5:memory:/path` (version 1). */
  groups?: string
  root?: string
}

/** Bytes of memory that all processes of the service can use together: the smallest limit of the machine and its control groups. */
export function memoryLimit({ groups = '/proc/self/cgroup', root = '/sys/fs/cgroup' }: CgroupPaths = {}): number {
  const limits = (readText(groups) ?? '').split('\n').flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? []
    if (path === undefined) return []
    if (controllers === '') return readLimits(root, path, 'memory.max')
    return controllers?.split(',').includes('memory') ? readLimits(join(root, 'memory'), path, 'memory.limit_in_bytes') : []
  })
  return Math.min(totalmem(), ...limits)
}

/** Limits of the group and of all its parent groups. In a container, its own group is the root. */
function readLimits(root: string, path: string, file: string): number[] {
  const limit = Number(readText(join(root, path, file)) ?? Number.NaN)
  const rest = path === '/' ? [] : readLimits(root, dirname(path), file)
  // The value 'max' means no limit.
  return limit > 0 ? [limit, ...rest] : rest
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}
