import type { BlockReason, PolicyRefusal } from '../../platform/errors/block-reasons.js'
import type { Content } from '../../platform/spool/content.js'
import type { FailedLook, Findings } from '../findings.js'
import type { ScanVerdict } from '../scanners/verdict.js'
import type { EngineIdentity } from '../scanners/virus-scanner.js'

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
  /** Which version of the context's rules this is. */
  rulesVersion?: number
}

export interface Submission {
  /** Already cleaned (contract §4). */
  originalFilename: string
  rules: ValidationRules
  /** Absent where the upload was cut off at the limit: then `sizeBytes` is what had been read by then. */
  content?: Content
  sizeBytes: number
  /** Nothing was received yet: the size is what the sender says. */
  announced?: boolean
  signal: AbortSignal
  owner?: string
}

export type CheckOutcome = 'passed' | 'failed' | 'skipped' | 'incomplete'

/** What the checks know of one file. What costs time is done once, for the first that asks. */
export interface FileUnderTest {
  readonly submission: Submission
  /** The last one of the name, lower-case, without the dot; '' where there is none. */
  readonly extension: string
  /** True where the upload was cut off, or is larger than the context allows: then its content is not looked at. */
  readonly tooLarge: boolean
  findings(): Promise<Findings | FailedLook>
  scan(): Promise<Scan>
}

export interface Scan {
  engine: EngineIdentity
  verdict: ScanVerdict
  passesOver(kinds: readonly string[]): Promise<string[]>
  durationMs: number
}

export interface CheckVerdict {
  outcome: CheckOutcome
  message: string
  /** Where a failure is the context's policy, and not the check's own reason. */
  refusal?: PolicyRefusal
  /** Small, in snake_case: it goes into the report and into the error's details as it is. */
  evidence?: Record<string, unknown>
  /** Where it was measured closer to the work than around the check. */
  durationMs?: number
}

/** One check (contract §6): decides one block reason. */
export type Check = (file: FileUnderTest) => CheckVerdict | Promise<CheckVerdict>

export interface CheckReport {
  check: BlockReason
  outcome: CheckOutcome
  message: string
  evidence: Record<string, unknown>
  durationMs: number
}

export type Refused = BlockReason | PolicyRefusal | 'scan_incomplete'

/** The validation report (contract §6), kept with every attempt. */
export interface ValidationReport {
  outcome: 'accepted' | 'rejected'
  reason: Refused | null
  /** Always all five, in the order in which they are judged. */
  checks: CheckReport[]
  /** What the content is found to be, else what the extension stands for; null where neither tells. */
  detectedContentType: string | null
  sizeBytes: number
  /** `sha256:` and the digest; null where the content was cut off. */
  checksum: string | null
  /** Null where the context has no file scanned. */
  engine: EngineIdentity | null
  validatedAt: string
  /** Of the context's rules; null where it was judged by none (the command line). */
  rulesVersion: number | null
}

/** The validation engine: the same for uploads, dry runs and the command line. */
export interface Validator {
  /** Throws `scannerUnavailable`, or `overloaded` where too many wait; every other outcome is a report. */
  validate(submission: Submission): Promise<ValidationReport>
  close(): Promise<void>
}
