import { setTimeout } from 'node:timers/promises'
import { getMimeTypeByExtension } from '@assay/formats'
import { getCurrentTime } from '../../platform/clock.js'
import type { Content } from '../../platform/spool/content.js'
import { megabyte } from '../../platform/units.js'
import { type CheckVerdict, type FileChecks, orderedChecks, type Scan } from '../checks.js'
import type { CheckReport, Findings, RejectionReason, Submission, ValidationReport, WorkerFailureResult } from '../report.js'
import { type EngineIdentity, getVerdictOrThrow, type VirusScanner } from '../scanners/virus-scanner.js'
import { WorkerPool, type WorkerPoolOptions } from '../workers/worker-pool.js'
import { ContentReader, type ContentReaderOptions } from './content-reader.js'

/** Inspects files for uploads, dry runs, resumable uploads, rescans and the command line. */
export interface Inspector {
  /** Returns a file's validation report. Throws only `scannerUnavailable`, or `overloaded` if the queue is full. */
  inspect(submission: Submission): Promise<ValidationReport>
  close(): Promise<void>
}

export interface InspectorOptions extends Partial<ContentReaderOptions>, Partial<WorkerPoolOptions> {
  scanner: VirusScanner
  /** A shared pool, which the inspector does not close. If unset, the inspector opens its own pool. */
  pool?: WorkerPool
}

export function createInspector({ pool: sharedPool, ...options }: InspectorOptions): Inspector & { pool: WorkerPool } {
  const pool = sharedPool ?? new WorkerPool(options)
  const reader = new ContentReader(pool, { deadlineMs: 30_000, graceMs: 2_000, ...options })
  const { scanner } = options
  return {
    pool,
    inspect: async (submission) => {
      const file = startChecks(submission, { reader, scanner })
      const { reports, rejected } = await runChecks(file)
      const engine = submission.rules.scanForViruses ? (file.scannedBy() ?? (await getIdentity(scanner))) : null
      return {
        ...(submission.earlier ?? (await describeContent(file))),
        outcome: rejected ? 'rejected' : 'accepted',
        reason: rejected ?? null,
        checks: reports,
        engine,
        validatedAt: getCurrentTime().toISOString(),
      }
    },
    close: async () => {
      if (!sharedPool) await pool.close()
    },
  }
}

interface StartedChecks extends FileChecks {
  detectedMime(): Promise<string | null>
  /** Returns the scan engine, or undefined if the file was not scanned. */
  scannedBy(): EngineIdentity | undefined
}

function startChecks(
  submission: Submission,
  { reader, scanner }: { reader: ContentReader; scanner: VirusScanner },
): StartedChecks {
  const { content, rules, sizeBytes, signal, owner, earlier } = submission
  const extension = getExtension(submission.originalFilename)
  const scanInWorker = rules.scanForViruses ? scanner.scanInWorker : undefined
  let findings: Promise<Findings | WorkerFailureResult> | undefined
  let scan: Scan | undefined
  const readFindings = () => (findings ??= reader.read(submission, content!, extension, scanInWorker))
  return {
    submission,
    extension,
    tooLarge: !content || sizeBytes > rules.maxFileSizeMb * megabyte,
    findings: readFindings,
    evidence: async () => {
      if (earlier) return earlier.checks.find(({ check }) => check === 'corrupt_file')?.evidence
      const found = await readFindings()
      return 'soundness' in found ? found.soundness?.verdict.evidence : undefined
    },
    scan: async () => {
      const found = await findings
      const inWorker = found && 'scan' in found ? found.scan : undefined
      if (inWorker) scanner.scanInWorker?.took?.(inWorker.durationMs)
      const start = performance.now()
      const verdict = inWorker ? getVerdictOrThrow(inWorker.scanned) : await scanner.scan(content!, { signal, owner })
      const durationMs = inWorker?.durationMs ?? performance.now() - start
      scan = { engine: await scanner.getIdentity(), verdict, durationMs }
      return scan
    },
    detectedMime: async () => {
      const found = await findings
      return found && 'recognition' in found ? found.recognition.mime : null
    },
    scannedBy: () => scan?.engine,
  }
}

/** Returns the part of a file name after the last dot, in lower case. A name such as `.profile` has no extension. */
export function getExtension(filename: string): string {
  const dot = filename.lastIndexOf('.')
  return dot > 0 ? filename.slice(dot + 1).toLowerCase() : ''
}

/** Runs the checks in order. After the first failed check, skips the remaining ones. */
async function runChecks(file: FileChecks): Promise<{ reports: CheckReport[]; rejected: RejectionReason | undefined }> {
  const { earlier, rules } = file.submission
  const reports: CheckReport[] = []
  let rejected: RejectionReason | undefined
  for (const [reason, check] of orderedChecks) {
    if (earlier && reason !== 'virus_detected') {
      reports.push(...earlier.checks.filter((each) => each.check === reason))
      continue
    }
    const start = performance.now()
    const verdict: CheckVerdict = rejected
      ? { outcome: 'skipped', message: `This check was skipped because the file was already rejected (${rejected}).` }
      : await check(file)
    const { outcome, message, evidence = {}, durationMs = performance.now() - start } = verdict
    reports.push({ check: reason, outcome, message, evidence, durationMs: Math.round(durationMs * 100) / 100 })
    if (outcome === 'failed') rejected = verdict.refusal ?? reason
    else if (outcome === 'incomplete' && !rules.acceptUnscanned) rejected = 'scan_incomplete'
  }
  return { reports, rejected }
}

async function describeContent(file: StartedChecks) {
  const { content, sizeBytes, rules } = file.submission
  return {
    detectedContentType: (await file.detectedMime()) ?? getMimeTypeByExtension(file.extension),
    sizeBytes,
    checksum: content && !file.tooLarge ? `sha256:${content.sha256}` : null,
    rulesVersion: rules.rulesVersion ?? null,
  }
}

const identityTimeoutMs = 1000

/** Returns the engine to name in the report of an unscanned file, or null if the scanner does not respond quickly. */
function getIdentity(scanner: VirusScanner): Promise<EngineIdentity | null> {
  const timedOut = setTimeout(identityTimeoutMs, null, { ref: false })
  return Promise.race([scanner.getIdentity(), timedOut]).catch(() => null)
}

interface StoredFile {
  originalFilename: string
  content: Content
  /** Latest report on the file. */
  report: ValidationReport
  signal: AbortSignal
  owner: string
}

/** Creates the submission for rescanning an accepted file. Only a virus causes a rejection. An incomplete scan does not. */
export const toRescanSubmission = ({ originalFilename, content, report, signal, owner }: StoredFile): Submission => ({
  originalFilename,
  content,
  sizeBytes: content.size,
  earlier: report,
  signal,
  owner,
  rules: {
    contextKey: '',
    allowedExtensions: [],
    maxFileSizeMb: Number.POSITIVE_INFINITY,
    rejectBlankFiles: false,
    rejectCorruptFiles: false,
    scanForViruses: true,
    rejectEncryptedFiles: false,
    rejectActiveContent: false,
    acceptUnscanned: true,
  },
})

/**
 * Returns the report for a file that could not be rescanned, because all attempts failed. `scan_failed` in the evidence
 * distinguishes it from the report of an incomplete scan.
 */
export function createUnscannedReport(
  previousReport: ValidationReport,
  { reason, attempts, engine }: { reason: string; attempts: number; engine: EngineIdentity },
): ValidationReport {
  const line: CheckReport = {
    check: 'virus_detected',
    outcome: 'incomplete',
    message: `The file was not rescanned: ${attempts} attempts failed. ${reason}`,
    evidence: { cause: reason, attempts, scan_failed: true },
    durationMs: 0,
  }
  const checks = previousReport.checks.map((check) => (check.check === 'virus_detected' ? line : check))
  return { ...previousReport, outcome: 'accepted', reason: null, checks, engine, validatedAt: getCurrentTime().toISOString() }
}
