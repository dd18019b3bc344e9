import type { Examination } from '@assay/formats'
import type { BlockReason, PolicyRejection } from '../platform/errors/block-reasons.js'
import type { Content } from '../platform/spool/content.js'
import type { EngineIdentity } from './scanners/virus-scanner.js'
import type { EngineSetup, ScanResult } from './scanners/yara/scanning.js'
import type { WorkerFailure } from './workers/work.js'

/** Context rules that the checks apply. */
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
  /** Version of the rules. Undefined if the rules do not come from a context. */
  rulesVersion?: number
  /** If set, only the file with this SHA-256 (hexadecimal) is accepted. */
  requiredSha256?: string | null
}

/** A file to inspect, with the rules to apply. */
export interface Submission {
  /** File name as returned by `sanitizeFilename`. */
  originalFilename: string
  rules: ValidationRules
  /** Undefined if the upload was stopped at the size limit. In this case, `sizeBytes` is the number of received bytes. */
  content?: Content
  sizeBytes: number
  /** True if no byte has been received yet. In this case, `sizeBytes` is the size that the client declared. */
  announced?: boolean
  /** Earlier report on the same content. If set, only the virus check runs again, and all other results are copied. */
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

/** Validation report, stored with every upload attempt. */
export interface ValidationReport {
  outcome: 'accepted' | 'rejected'
  reason: RejectionReason | null
  /** Results of all five checks, in the order in which they run. */
  checks: CheckReport[]
  /**
   * Content type of the detected format. If no format was detected, the content type that the extension implies. Null if both are
   * unknown.
   */
  detectedContentType: string | null
  sizeBytes: number
  /** Checksum in the form `sha256:` plus digest. Null if the upload was stopped at the size limit. */
  checksum: string | null
  /** Scan engine. Null if the context requires no virus scan, or if the file was not scanned and the scanner did not respond. */
  engine: EngineIdentity | null
  validatedAt: string
  /** Version of the context's rules. Null if the file was inspected without a context, as on the command line. */
  rulesVersion: number | null
}

export interface Job {
  /** Path of the file. Undefined if the content is in memory and is passed separately. */
  path: string | undefined
  extension: string
  blank: boolean
  deadlineMs: number
  /** Set if the worker also scans the file. `damaged` is true if the context accepts damaged files. */
  scan?: { setup: EngineSetup; damaged: boolean }
}

export interface Findings extends Examination {
  /** Set if the worker that read the file also scanned it. */
  scan?: { scanned: ScanResult; durationMs: number }
}

/** Result if the file could not be read, because the workers that read it crashed, hung or ran out of memory. */
export interface WorkerFailureResult {
  failure: WorkerFailure
  durationMs: number
}
