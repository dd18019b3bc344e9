import { mimeOfExtension } from '@assay/formats'
import type {
  CheckReport,
  CheckVerdict,
  FileUnderTest,
  Refused,
  Submission,
  ValidationReport,
  Validator,
} from '../checks/check.js'
import { orderedChecks } from '../checks/index.js'
import type { EngineIdentity, VirusScanner } from '../scanners/virus-scanner.js'
import { WorkerPool, type WorkerPoolOptions } from '../workers/worker-pool.js'
import { type OpenFile, openFile } from './file-under-test.js'
import { Look, type LookOptions } from './look.js'

export interface ValidatorOptions extends Partial<LookOptions>, Partial<WorkerPoolOptions> {
  scanner: VirusScanner
  /** Shared with others, and theirs to close; else one of its own, by the options for one. */
  pool?: WorkerPool
}

/** The validation engine: the checks in their order, the content looked at by workers, and the report. */
export function createValidator({ pool: shared, ...options }: ValidatorOptions): Validator & { pool: WorkerPool } {
  const pool = shared ?? new WorkerPool(options)
  const look = new Look(pool, { deadlineMs: 30_000, graceMs: 2_000, ...options })
  const { scanner } = options
  return {
    pool,
    validate: async (submission) => {
      const file = openFile(submission, { look, scanner })
      return reportOn(file, await runChecks(file), await engineOf(submission, scanner, file.engine()))
    },
    close: async () => {
      if (!shared) await pool.close()
    },
  }
}

async function runChecks(file: FileUnderTest): Promise<{ reports: CheckReport[]; refused: Refused | undefined }> {
  const reports: CheckReport[] = []
  let refused: Refused | undefined
  for (const [reason, check] of orderedChecks) {
    const start = performance.now()
    const verdict: CheckVerdict = refused
      ? { outcome: 'skipped', message: `Not looked at, because of ${refused}.` }
      : await check(file)
    const durationMs = verdict.durationMs ?? performance.now() - start
    reports.push({
      check: reason,
      outcome: verdict.outcome,
      message: verdict.message,
      evidence: verdict.evidence ?? {},
      durationMs: Math.round(durationMs * 100) / 100,
    })
    if (verdict.outcome === 'failed') refused = verdict.refusal ?? reason
    else if (verdict.outcome === 'incomplete' && !file.submission.rules.acceptUnscanned) refused = 'scan_incomplete'
  }
  return { reports, refused }
}

async function reportOn(
  file: OpenFile,
  { reports, refused }: { reports: CheckReport[]; refused: Refused | undefined },
  engine: EngineIdentity | null,
): Promise<ValidationReport> {
  const { content, sizeBytes, rules } = file.submission
  return {
    outcome: refused ? 'rejected' : 'accepted',
    reason: refused ?? null,
    checks: reports,
    detectedContentType: (await file.recognisedMime()) ?? mimeOfExtension(file.extension),
    sizeBytes,
    checksum: content && !file.tooLarge ? `sha256:${content.sha256}` : null,
    engine,
    validatedAt: new Date().toISOString(),
    rulesVersion: rules.rulesVersion ?? null,
  }
}

const identityTimeoutMs = 1000

/** The engine that scanned the file. If an earlier check rejected it, the engine that would have: then an unavailable scanner is not waited for. */
async function engineOf(
  submission: Submission,
  scanner: VirusScanner,
  scanned: EngineIdentity | undefined,
): Promise<EngineIdentity | null> {
  if (!submission.rules.scanForViruses) return null
  if (scanned) return scanned
  let timer: NodeJS.Timeout | undefined
  const timedOut = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, identityTimeoutMs, null)
  })
  try {
    return await Promise.race([scanner.identity(), timedOut])
  } catch {
    return null
  } finally {
    clearTimeout(timer)
  }
}
