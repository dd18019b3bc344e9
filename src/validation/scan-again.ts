import type { Content } from '../body/content.js'
import { currentTime } from '../clock.js'
import type { VirusScanner } from '../scanner/virus-scanner.js'
import type { CheckReport, FileUnderTest, Scan, Submission, ValidationReport } from './checks/check.js'
import { virus } from './checks/virus.js'
import { extensionOf, scanWith } from './file-under-test.js'
import type { Findings } from './findings.js'

/** A file that was accepted, and the latest report on it. */
export interface KeptContent {
  originalFilename: string
  content: Content
  report: ValidationReport
}

/**
 * Scans a kept file once more, and gives the report with that verdict in place of the last one. What its other checks found stands:
 * the content has not changed. Only a virus is a reason against it now; what cannot be looked at completely is kept all the same.
 */
export async function scanAgain(
  scanner: VirusScanner,
  { originalFilename, content, report }: KeptContent,
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
  const line: CheckReport = {
    check: 'virus_detected',
    outcome,
    message,
    evidence,
    durationMs: Math.round(durationMs * 100) / 100,
  }
  return {
    ...report,
    outcome: outcome === 'failed' ? 'rejected' : 'accepted',
    reason: outcome === 'failed' ? 'virus_detected' : null,
    checks: report.checks.map((check) => (check.check === 'virus_detected' ? line : check)),
    engine: scan?.engine ?? null,
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
