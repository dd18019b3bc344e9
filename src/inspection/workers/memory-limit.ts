import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname, join } from 'node:path'

interface CgroupPaths {
  /** File that lists this process's control groups, one per line: `0::/path` (version 2) or `5:memory:/path` (version 1). */
  groups?: string
  root?: string
}

/**
 * Returns the total memory in bytes that the service's processes may use: the machine's memory or the lowest limit of a control
 * group, whichever is smaller.
 */
export function getMemoryLimit({ groups = '/proc/self/cgroup', root = '/sys/fs/cgroup' }: CgroupPaths = {}): number {
  const limits = (readText(groups) ?? '').split('\n').flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? []
    if (path === undefined) return []
    if (controllers === '') return readLimits(root, path, 'memory.max')
    return controllers?.split(',').includes('memory') ? readLimits(join(root, 'memory'), path, 'memory.limit_in_bytes') : []
  })
  return Math.min(totalmem(), ...limits)
}

/** Reads the limits of the group and all its parents. In a container, the root directory is the container's group. */
function readLimits(root: string, path: string, file: string): number[] {
  const limit = Number(readText(join(root, path, file)) ?? Number.NaN)
  const rest = path === '/' ? [] : readLimits(root, dirname(path), file)
  // The value 'max' means unlimited.
  return limit > 0 ? [limit, ...rest] : rest
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}
