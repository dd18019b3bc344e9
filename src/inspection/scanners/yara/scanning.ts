import { FileSource, MemorySource, type RandomAccessSource } from '@assay/formats'
import type { WalkLimits } from '@assay/formats/walk'
import type { WorkerCall } from '../../workers/work.js'
import type { ScanVerdict } from '../verdict.js'
import { type EngineKind, FaultyRules, openEngine, type YaraEngine } from './engine.js'
import type { RuleSource } from './rules.js'
import { search } from './search.js'

export interface EngineSetup {
  /** Names this set of rules: compiled once for each worker. */
  id: string
  kind: EngineKind
  limits: WalkLimits
}

export type ScanJob = EngineSetup & { path: string | undefined; size: number }

/** A fault is ours, or the engine's. */
export type Scanned = ScanVerdict | { fault: string }

export interface EngineFacts {
  version: string
  rules: number
}

let engine: { id: string; opened: Promise<YaraEngine> } | undefined

export function engineFor({ id, kind }: EngineSetup, settings: Uint8Array | undefined): Promise<YaraEngine> {
  if (engine?.id !== id) {
    // Of memory that is shared no decoder takes a view.
    const rules = settings ? (JSON.parse(Buffer.from(settings).toString()) as RuleSource[]) : []
    engine = { id, opened: openEngine(kind, rules) }
  }
  return engine.opened
}

export async function prepare(setup: EngineSetup, { settings }: WorkerCall): Promise<void> {
  await engineFor(setup, settings).catch(() => {})
}

export async function describeEngine(setup: EngineSetup, { settings }: WorkerCall): Promise<EngineFacts | { faulty: string }> {
  try {
    const { version, rules } = await engineFor(setup, settings)
    return { version, rules }
  } catch (error) {
    if (error instanceof FaultyRules) return { faulty: error.message }
    throw error
  }
}

export async function scan(job: ScanJob, call: WorkerCall): Promise<Scanned> {
  let file: FileSource | undefined
  try {
    file = job.path === undefined ? undefined : new FileSource(job.path, '')
    return await scanSource(file ?? new MemorySource(call.bytes ?? Buffer.alloc(0)), job, call)
  } catch (error) {
    // Its message has the path of the file, which clients must not see.
    return { fault: `the scan worker cannot open it (${(error as NodeJS.ErrnoException).code})` }
  } finally {
    file?.close()
  }
}

/** Scans what is open already, with the engine that this worker keeps. */
export async function scanSource(
  source: RandomAccessSource,
  setup: EngineSetup,
  { settings, cancelled }: Pick<WorkerCall, 'settings' | 'cancelled'>,
): Promise<Scanned> {
  const engine = await engineFor(setup, settings)
  try {
    const provedAt = engine.prove()
    return { ...(await search(source, { find: engine.find, limits: setup.limits, cancelled })), provedAt }
  } catch (error) {
    return { fault: (error as Error).message }
  }
}
