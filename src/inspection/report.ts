import type { BlockReason, PolicyRejection } from '../platform/errors/block-reasons.js'
import type { Content } from '../platform/spool/content.js'
import type { EngineIdentity } from './scanners/virus-scanner.js'

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
  /** Version of the rules. Absent if they are not those of a context. */
  rulesVersion?: number
}

/** A file to inspect, and the rules to apply. */
export interface Submission {
  /** Result of `cleanFilename`. */
  originalFilename: string
  rules: ValidationRules
  /** Absent if the upload was stopped at the size limit. `sizeBytes` is then the number of bytes received. */
  content?: Content
  sizeBytes: number
  /** No byte was received yet: the size is the one that the client announces. */
  announced?: boolean
  /** Report of an earlier inspection of the same content: only the virus check runs, and the other results are copied. */
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
  /** Content type of the detected format, otherwise of the extension. Null if neither is known. */
  detectedContentType: string | null
  sizeBytes: number
  /** `sha256:` and the digest. Null if the upload was stopped at the size limit. */
  checksum: string | null
  /** Null if the context does not scan files. */
  engine: EngineIdentity | null
  validatedAt: string
  /** Version of the context's rules. Null if no context was involved (command line). */
  rulesVersion: number | null
}
