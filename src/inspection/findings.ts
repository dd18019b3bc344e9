import type { FormatVerdict, Recognition } from '@assay/formats'
import type { EngineSetup, Scanned } from './scanners/yara/scanning.js'
import type { WorkerFailure } from './workers/work.js'

export interface Job {
  /** Undefined if the content is in memory: it is then passed separately. */
  path: string | undefined
  size: number
  extension: string
  blank: boolean
  deadlineMs: number
  /** Set if the same worker scans the file. `damaged`: also if the file is damaged, because the context accepts that. */
  scan?: { setup: EngineSetup; damaged: boolean }
}

export interface RecognitionFinding {
  recognised: Recognition
  /** Such as 'docx' or 'text'. Null if the type is unknown. */
  type: string | null
  mime: string | null
  fits: boolean
  durationMs: number
}

export interface SoundnessFinding {
  verdict: FormatVerdict
  reader: string | null
  durationMs: number
}

/** Results of reading a file. A member is null if an earlier check fails. */
export interface Findings {
  recognition: RecognitionFinding
  blankness: { blank: boolean; durationMs: number } | null
  soundness: SoundnessFinding | null
  /** Set if the worker that read the file also scanned it. */
  scan?: { scanned: Scanned; durationMs: number }
}

/** Two workers failed on the file, one after the other. */
export interface WorkerFailureResult {
  failure: WorkerFailure
  durationMs: number
}
