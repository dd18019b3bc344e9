import type { FormatVerdict, Recognition } from '@assay/formats'
import type { EngineSetup, Scanned } from './scanners/yara/scanning.js'
import type { WorkerFailure } from './workers/work.js'

export interface Job {
  /** The file; the content comes apart where it is held in memory. */
  path: string | undefined
  size: number
  extension: string
  blank: boolean
  deadlineMs: number
  /** With what it is scanned by the same worker, where it is to be; damage does not keep a lenient context from it. */
  scan?: { setup: EngineSetup; damaged: boolean }
}

export interface RecognitionFinding {
  recognised: Recognition
  /** 'docx', 'text', …; null where nothing is recognised. */
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

/** What a worker has found. What a failing check made superfluous is null. */
export interface Findings {
  recognition: RecognitionFinding
  blankness: { blank: boolean; durationMs: number } | null
  soundness: SoundnessFinding | null
  /** Where the worker that read it has scanned it as well. */
  scan?: { scanned: Scanned; durationMs: number }
}

/** Two workers in a row ended over one file. */
export interface FailedLook {
  failure: WorkerFailure
  durationMs: number
}
