import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runInThisContext } from 'node:vm'
import { idleConnections } from '../../src/platform/storage/gcs/connection.js'
import type { StandInBucket } from './bucket/bucket.js'

/** Where a fault may leave something. */
export interface Places {
  /** Folders in which nothing but folders may be. */
  spool?: string[]
  bucket?: StandInBucket
  /** Gives what nobody handled, and what Node warned of, so far. */
  faults?: () => string[]
}

/** Idle connections that the bucket may see: the library has a pool of its own beside ours. */
const idleAtMost = 2 * idleConnections

/**
 * What is left of what went before, in words; empty when all is well. Whatever ends by itself in bounded time (a request that
 * is given up, a file whose owner still closes it) has that time.
 */
export async function leftBehind(places: Places, { patienceMs = 30_000 }: { patienceMs?: number } = {}): Promise<string[]> {
  for (const until = Date.now() + patienceMs; ; await sleep(50)) {
    const left = await look(places)
    if (left.length === 0 || Date.now() > until) return left
  }
}

async function look({ spool = [], bucket, faults }: Places): Promise<string[]> {
  const files = (await Promise.all(spool.map((folder) => filesIn(folder)))).flat()
  const idle = bucket ? bucket.connections - bucket.busy : 0
  return [
    ...files.map((file) => `temporary file ${file}`),
    ...Array.from({ length: bucket?.busy ?? 0 }, () => 'a request to the bucket that is still under way'),
    ...(idle > idleAtMost ? [`${idle} idle connections to the bucket`] : []),
    ...(faults?.() ?? []),
  ]
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const found = entries.map(async (entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesIn(path) : [path]
  })
  return (await Promise.all(found)).flat()
}

/** Listens to this very process. Jest shows its tests a copy of `process`, whose events never come. */
export function watchFaults(): { faults: () => string[]; stop(): void } {
  const real = runInThisContext('process') as NodeJS.Process
  const seen: string[] = []
  const unhandled = (reason: unknown) => void seen.push(`unhandledRejection: ${reason}`)
  const warned = (warning: Error) => void seen.push(`warning: ${warning.message}`)
  real.on('unhandledRejection', unhandled).on('warning', warned)
  return {
    faults: () => [...seen],
    stop: () => void real.off('unhandledRejection', unhandled).off('warning', warned),
  }
}
