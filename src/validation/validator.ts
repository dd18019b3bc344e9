import type { BlockReason } from '../block-reasons.js'
import { mimeOfExtension } from '../formats/extensions.js'
import type { EngineIdentity, VirusScanner } from '../scanner/virus-scanner.js'
import { WorkerPool, type WorkerPoolOptions } from '../workers/worker-pool.js'
import type { CheckReport, CheckVerdict, FileUnderTest, Submission, ValidationReport, Validator } from './checks/check.js'
import { orderedChecks } from './checks/index.js'
import { openFile } from './file-under-test.js'
import { Look, type LookOptions } from './look.js'

export interface ValidatorOptions extends Partial<LookOptions>, Partial<WorkerPoolOptions> {
  scanner: VirusScanner
  /** The operator's own rules, beside a clamd. */
  extraScanner?: VirusScanner
  /** Shared with others, and theirs to close; else one of its own, by the options for one. */
  pool?: WorkerPool
}

/** The validation engine: the five checks, the content looked at by workers. */
export function createValidator({ pool: shared, ...options }: ValidatorOptions): Validator & { pool: WorkerPool } {
  const pool = shared ?? new WorkerPool(options)
  const look = new Look(pool, { deadlineMs: 30_000, graceMs: 2_000, ...options })
  const scanners = options.extraScanner ? [options.scanner, options.extraScanner] : [options.scanner]
  return {
    pool,
    validate: async (submission) => {
      const file = openFile(submission, { look, scanners })
      file.scanAhead()
      const checks = await runChecks(file).finally(file.done)
      return report(file, checks, await engineOf(submission, options.scanner, file.engine()))
    },
    close: async () => {
      if (!shared) await pool.close()
    },
  }
}

async function runChecks(file: FileUnderTest): Promise<CheckReport[]> {
  const reports: CheckReport[] = []
  let decided: BlockReason | undefined
  for (const [reason, check] of orderedChecks) {
    const start = performance.now()
    const verdict: CheckVerdict = decided
      ? { outcome: 'skipped', message: `Not looked at, because of ${decided}.` }
      : await check(file)
    const durationMs = verdict.durationMs ?? performance.now() - start
    reports.push({
      check: reason,
      outcome: verdict.outcome,
      message: verdict.message,
      evidence: verdict.evidence ?? {},
      durationMs: Math.round(durationMs * 100) / 100,
    })
    if (verdict.outcome === 'failed') decided = reason
  }
  return reports
}

async function report(
  file: FileUnderTest & { recognisedMime(): Promise<string | null> },
  checks: CheckReport[],
  engine: EngineIdentity | null,
): Promise<ValidationReport> {
  const { content, sizeBytes } = file.submission
  const failed = checks.find((check) => check.outcome === 'failed')
  const unscanned = checks.at(-1)?.outcome === 'incomplete'
  return {
    outcome: failed || unscanned ? 'rejected' : 'accepted',
    reason: failed?.check ?? (unscanned ? 'scan_incomplete' : null),
    checks,
    detectedContentType: (await file.recognisedMime()) ?? mimeOfExtension(file.extension),
    sizeBytes,
    checksum: content && !file.tooLarge ? `sha256:${content.sha256}` : null,
    engine,
    validatedAt: new Date().toISOString(),
  }
}

const identityPatienceMs = 1000

/** Who has scanned it or, where an earlier check decided, who would have: a file already refused does not wait for a scanner that is down. */
async function engineOf(
  submission: Submission,
  scanner: VirusScanner,
  scanned: EngineIdentity | undefined,
): Promise<EngineIdentity | null> {
  if (!submission.rules.scanForViruses) return null
  if (scanned) return scanned
  let timer: NodeJS.Timeout | undefined
  const patience = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, identityPatienceMs, null)
  })
  try {
    return await Promise.race([scanner.identity(), patience])
  } catch {
    return null
  } finally {
    clearTimeout(timer)
  }
}
