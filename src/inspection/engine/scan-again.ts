import { currentTime } from '../../platform/clock.js'
import type { Content } from '../../platform/spool/content.js'
import type { CheckReport, FileUnderTest, Scan, Submission, ValidationReport } from '../checks/check.js'
import { virus } from '../checks/virus.js'
import type { Findings } from '../findings.js'
import type { EngineIdentity, VirusScanner } from '../scanners/virus-scanner.js'
import { extensionOf, scanWith } from './file-under-test.js'

/** An accepted file and its latest report. */
export interface StoredContent {
  originalFilename: string
  content: Content
  report: ValidationReport
}

/**
 * Scans a stored file again. Returns its report with the new verdict of the virus check. The other checks keep their results, because the
 * content has not changed. Only a virus rejects the file: an incomplete scan does not.
 */
export async function scanAgain(
  scanner: VirusScanner,
  { originalFilename, content, report }: StoredContent,
  { signal, owner }: { signal: AbortSignal; owner: string },
): Promise<ValidationReport> {
  let scan: Scan | undefined
  const file: FileUnderTest = {
    submission: { originalFilename, content, sizeBytes: content.size, signal, owner, rules: scanned },
    extension: extensionOf(originalFilename),
    tooLarge: false,
    findings: async () => foundBefore(report),
    scan: async () => (scan = await scanWith(scanner, content, { signal, owner })),
  }
  const { outcome, message, evidence = {}, durationMs = 0 } = await virus(file)
  const line = { outcome, message, evidence, durationMs: Math.round(durationMs * 100) / 100 }
  return withScan(report, line, scan?.engine ?? null)
}

/** The report on a file that no attempt could scan. `scan_failed` tells it from a scan that a password or a limit made incomplete. */
export function reportUnscanned(
  report: ValidationReport,
  { reason, attempts, engine }: { reason: string; attempts: number; engine: EngineIdentity },
): ValidationReport {
  const message = `The file was not scanned again: ${attempts} attempts failed. ${reason}`
  return withScan(
    report,
    { outcome: 'incomplete', message, evidence: { cause: reason, attempts, scan_failed: true }, durationMs: 0 },
    engine,
  )
}

function withScan(
  report: ValidationReport,
  scan: Omit<CheckReport, 'check'>,
  engine: ValidationReport['engine'],
): ValidationReport {
  const isInfected = scan.outcome === 'failed'
  return {
    ...report,
    outcome: isInfected ? 'rejected' : 'accepted',
    reason: isInfected ? 'virus_detected' : null,
    checks: report.checks.map((check) =>
      check.check === 'virus_detected' ? { check: 'virus_detected' as const, ...scan } : check,
    ),
    engine,
    validatedAt: currentTime().toISOString(),
  }
}

// Asked for only where the context scans; nothing else of its rules is judged again.
const scanned = { contextKey: '', scanForViruses: true } as Submission['rules']

/** What its reader found at the upload: a password, and what it holds. */
function foundBefore({ checks }: ValidationReport): Findings {
  const evidence = checks.find(({ check }) => check === 'corrupt_file')?.evidence
  return { soundness: evidence && { verdict: { sound: true, evidence } } } as unknown as Findings
}
