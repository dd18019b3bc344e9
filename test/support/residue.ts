import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runInThisContext } from 'node:vm'
import { idleConnections } from '../../src/platform/storage/bucket/connection.js'
import type { BucketEmulator } from './bucket/bucket.js'

/** Resources in which a fault may leave residue. */
export interface CheckedResources {
  /** Folders that may contain only subfolders. */
  spool?: string[]
  bucket?: BucketEmulator
  /** Returns unhandled errors and warnings of Node.js. */
  faults?: () => string[]
}

/** Maximum number of idle bucket connections, doubled because the client library has its own pool. */
const idleAtMost = 2 * idleConnections

/** Returns descriptions of all residue. Waits for operations that end within a bounded time. */
export async function findResidue(
  places: CheckedResources,
  { timeoutMs = 30_000 }: { timeoutMs?: number } = {},
): Promise<string[]> {
  for (const until = Date.now() + timeoutMs; ; await sleep(50)) {
    const remaining = await findCurrentResidue(places)
    if (remaining.length === 0 || Date.now() > until) return remaining
  }
}

async function findCurrentResidue({ spool = [], bucket, faults }: CheckedResources): Promise<string[]> {
  const files = (await Promise.all(spool.map((folder) => listFiles(folder)))).flat()
  const idle = bucket ? bucket.connections - bucket.busy : 0
  return [
    ...files.map((file) => `temporary file ${file}`),
    ...Array.from({ length: bucket?.busy ?? 0 }, () => 'a request to the bucket that is still under way'),
    ...(idle > idleAtMost ? [`${idle} idle connections to the bucket`] : []),
    ...(faults?.() ?? []),
  ]
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const found = entries.map(async (entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? listFiles(path) : [path]
  })
  return (await Promise.all(found)).flat()
}

/** Records unhandled errors in this process, because Jest gives tests a copy of `process` without events. */
export function watchUnhandledErrors(): { faults: () => string[]; stop(): void } {
  const real = runInThisContext('process') as NodeJS.Process
  const observed: string[] = []
  const recordRejection = (reason: unknown) => void observed.push(`unhandledRejection: ${reason}`)
  const recordWarning = (warning: Error) => void observed.push(`warning: ${warning.message}`)
  real.on('unhandledRejection', recordRejection).on('warning', recordWarning)
  return {
    faults: () => [...observed],
    stop: () => void real.off('unhandledRejection', recordRejection).off('warning', recordWarning),
  }
}
