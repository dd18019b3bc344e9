import type { ScanVerdict } from '../virus-scanner.js'
import type { EngineKind } from './engine.js'
import type { UnpackLimits } from './limits.js'
import type { RuleSource } from './rules.js'

/** What a worker is started with. */
export interface WorkerSetup {
  kind: EngineKind
  operators: RuleSource[]
  limits: UnpackLimits
  /** Holds the number of the job that is not wanted any more. */
  cancelled: SharedArrayBuffer
}

export interface WorkerJob {
  id: number
  size: number
  bytes?: Uint8Array
  path?: string
}

export type WorkerAnswer =
  | { kind: 'ready'; version: string; rules: number }
  | { kind: 'faulty-rules'; message: string }
  | { kind: 'verdict'; id: number; verdict: ScanVerdict }
  /** `cancelled` where it was not wanted any more. */
  | { kind: 'fault'; id: number; message: string; cancelled: boolean }
