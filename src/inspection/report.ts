import type { FormatVerdict, Recognition } from '@assay/formats'
import type { BlockReason, PolicyRejection } from '../platform/errors/block-reasons.js'
import type { Content } from '../platform/spool/content.js'
import type { EngineIdentity } from './scanners/virus-scanner.js'
import type { EngineSetup, Scanned } from './scanners/yara/scanning.js'
import type { WorkerFailure } from './workers/work.js'

/** The rules of a context that the checks apply. */
export interface ValidationRules {
  contextKey: string
  allowedExtensions: string[]
  maxFileSizeMb: number
  rejectBlankFiles: boolean
  rejectCorruptFiles: boolean
  scanForViruses: boolean
  rejectEncryptedFiles: boolean
  rejectActiveContent: boolean
  acceptUnscanned: boolean
  /** Version of the rules. Absent if they are not the rules of a context. */
  rulesVersion?: number
  /** Only the file with this SHA-256, in hexadecimal, is accepted. */
  requiredSha256?: string | null
}

/** A file to inspect, and the rules to apply. */
export interface Submission {
  /** Result of `cleanFilename`. */
  originalFilename: string
  rules: ValidationRules
  /** Absent if the upload was stopped at the size limit. `sizeBytes` is then the number of received bytes. */
  content?: Content
  sizeBytes: number
  /** True before any byte is received. The size is then the one that the client announces. */
  announced?: boolean
  /** Report of an earlier inspection of the same content. Only the virus check runs, and the other results are copied. */
  earlier?: ValidationReport
  signal: AbortSignal
  owner?: string
}

export type CheckOutcome = 'passed' | 'failed' | 'skipped' | 'incomplete'

export interface CheckReport {
  check: BlockReason
  outcome: CheckOutcome
  message: string
  evidence: Record<string, unknown>
  durationMs: number
}

export type RejectionReason = BlockReason | PolicyRejection | 'scan_incomplete'

/** The validation report, stored with every attempt. */
export interface ValidationReport {
  outcome: 'accepted' | 'rejected'
  reason: RejectionReason | null
  /** All five checks, in the order in which they run. */
  checks: CheckReport[]
  /** Content type of the detected format or, if none is detected, of the extension. Null if neither is known. */
  detectedContentType: string | null
  sizeBytes: number
  /** `sha256:` followed by the digest. Null if the upload was stopped at the size limit. */
  checksum: string | null
  /** Null if the context does not scan files. */
  engine: EngineIdentity | null
  validatedAt: string
  /** Version of the context's rules. Null without a context (command line). */
  rulesVersion: number | null
}

export interface Job {
  /** Undefined if the content is in memory. It is then passed separately. */
  path: string | undefined
  size: number
  extension: string
  blank: boolean
  deadlineMs: number
  /** Set if the same worker also scans the file. `damaged`: scan it even if it is damaged, because the context accepts that. */
  scan?: { setup: EngineSetup; damaged: boolean }
}

export interface RecognitionFinding {
  recognised: Recognition
  /** For example 'docx' or 'text'. Null if the type is unknown. */
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

/** Two workers in a row failed on the file. */
export interface WorkerFailureResult {
  failure: WorkerFailure
  durationMs: number
}
