import type { Recognition } from '../formats/detect/detect.js'
import type { FormatVerdict } from '../formats/format.js'

/** What a worker is asked to look at. */
export interface Job {
  /** The content, where it is held in memory; else `path` is the file. */
  bytes?: Uint8Array
  path?: string
  size: number
  /** Of the name, lower-case. */
  extension: string
  /** Whether to look for blankness, and for damage. */
  blank: boolean
  corrupt: boolean
  /** Milliseconds that each check may take. */
  deadlineMs: number
  /** Whose file it is: those of one owner wait for each other rather than others for them. */
  owner?: string
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

/** Two workers in a row died or hung over one file. */
export interface WorkerFailure {
  failure: 'died' | 'hung' | 'out_of_memory'
  durationMs: number
}
