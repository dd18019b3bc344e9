import { FileSource, MemorySource, type RandomAccessSource } from '@assay/formats'
import type { WalkLimits } from '@assay/formats/walk'
import type { WorkerCall } from '../../workers/work.js'
import type { ScanVerdict } from '../verdict.js'
import { type EngineKind, InvalidRulesError, openEngine, Search, type YaraEngine } from './engine.js'
import type { RuleSource } from './rules.js'

export interface EngineSetup {
  /** Id of the rule set. Each worker compiles the rule set once. */
  id: string
  kind: EngineKind
  limits: WalkLimits
}

export type ScanJob = EngineSetup & { path: string | undefined; size: number }

/** Result of a scan. `fault` is an error of the service or engine, not of the file. */
export type ScanResult = ScanVerdict | { fault: string }

export interface EngineInfo {
  version: string
  rules: number
}

let engine: { id: string; opened: Promise<YaraEngine> } | undefined

function getEngine({ id, kind }: EngineSetup, settings: Uint8Array | undefined): Promise<YaraEngine> {
  if (engine?.id !== id) {
    // Copy the settings, because TextDecoder does not accept shared memory.
    const rules = settings ? (JSON.parse(Buffer.from(settings).toString()) as RuleSource[]) : []
    engine = { id, opened: openEngine(kind, rules) }
  }
  return engine.opened
}

export async function describeEngine(setup: EngineSetup, { settings }: WorkerCall): Promise<EngineInfo | { faulty: string }> {
  try {
    const { version, rules } = await getEngine(setup, settings)
    return { version, rules }
  } catch (error) {
    if (error instanceof InvalidRulesError) return { faulty: error.message }
    throw error
  }
}

export async function scan(job: ScanJob, call: WorkerCall): Promise<ScanResult> {
  let file: FileSource | undefined
  try {
    file = job.path === undefined ? undefined : new FileSource(job.path, '')
    const { finish } = await openScan(file ?? new MemorySource(call.bytes ?? Buffer.alloc(0)), job, call)
    return await finish()
  } catch (error) {
    // Return only the error code, because the system's message contains the file's path, which clients must not see.
    return { fault: `the scan worker cannot open the file (${(error as NodeJS.ErrnoException).code})` }
  } finally {
    file?.close()
  }
}

/** A scan of an open file. A reader that reads the same file can pass unpacked members to the scan. */
export interface OpenScan {
  search: Search
  finish(): Promise<ScanResult>
}

export async function openScan(
  source: RandomAccessSource,
  setup: EngineSetup,
  { settings, cancelled }: Pick<WorkerCall, 'settings' | 'cancelled'>,
): Promise<OpenScan> {
  const { find, verifyDetection } = await getEngine(setup, settings)
  const search = new Search(source, { find, limits: setup.limits, cancelled })
  const finish = async (): Promise<ScanResult> => {
    try {
      const provedAt = verifyDetection()
      return { ...(await search.finish()), provedAt }
    } catch (error) {
      return { fault: (error as Error).message }
    }
  }
  return { search, finish }
}
