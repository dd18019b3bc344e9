import type { Recognition } from '../formats/detect/detect.js'
import type { FormatVerdict } from '../formats/format.js'
import type { WorkerFailure } from '../workers/work.js'

/** What a worker is asked to look at. */
export interface Job {
  /** The file; the content comes apart where it is held in memory. */
  path: string | undefined
  size: number
  /** Of the name, lower-case. */
  extension: string
  /** Whether to look for blankness. */
  blank: boolean
  /** Milliseconds that the look may take. */
  deadlineMs: number
}

export interface RecognitionFinding {
  recognised: Recognition
  /** 'docx', 'text', …; null where nothing is recognised. */
  type: string | null
  mime: string | null
  /** Whether the extension stands for it. */
  fits: boolean
  durationMs: number
}

export interface SoundnessFinding {
  verdict: FormatVerdict
  /** Null where no reader knows the type. */
  reader: string | null
  durationMs: number
}

/** What a worker has found. What a failing check made superfluous is null. */
export interface Findings {
  recognition: RecognitionFinding
  blankness: { blank: boolean; durationMs: number } | null
  soundness: SoundnessFinding | null
}

/** Two workers in a row ended over one file. */
export interface FailedLook {
  failure: WorkerFailure
  durationMs: number
}
