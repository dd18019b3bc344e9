import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname, join } from 'node:path'

interface Places {
  /** The groups of this process, a line each: `0::/path`, or `5:memory:/path` of the first version. */
  groups?: string
  root?: string
}

/** Bytes of memory that all processes here may take together: the machine's, or the least that a control group around us allows. */
export function memoryLimit({ groups = '/proc/self/cgroup', root = '/sys/fs/cgroup' }: Places = {}): number {
  const limits = (textOf(groups) ?? '').split('\n').flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? []
    if (path === undefined) return []
    if (controllers === '') return limitsAlong(root, path, 'memory.max')
    return controllers?.split(',').includes('memory') ? limitsAlong(join(root, 'memory'), path, 'memory.limit_in_bytes') : []
  })
  return Math.min(totalmem(), ...limits)
}

/** Of the group and all that it is in; in a container its own group is the root of what it sees. */
function limitsAlong(root: string, path: string, file: string): number[] {
  const limit = Number(textOf(join(root, path, file)) ?? Number.NaN)
  const rest = path === '/' ? [] : limitsAlong(root, dirname(path), file)
  // 'max' is no number.
  return limit > 0 ? [limit, ...rest] : rest
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}
