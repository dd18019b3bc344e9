import { availableParallelism } from 'node:os'
import type { BlockReason } from '../errors.js'
import { mimeOfExtension } from '../formats/extensions.js'
import type { EngineIdentity, VirusScanner } from '../scanner/virus-scanner.js'
import { imageMemoryMb } from '../workers/image-processes.js'
import { WorkerPool } from '../workers/worker-pool.js'
import type { CheckReport, CheckVerdict, FileUnderTest, Submission, ValidationReport, Validator } from './checks/check.js'
import { orderedChecks } from './checks/index.js'
import { openFile } from './file-under-test.js'

export interface ValidatorOptions {
  scanner: VirusScanner
  /** The operator's own rules, beside a clamd. */
  extraScanner?: VirusScanner
  /** Worker threads; as many as there are cores unless told. */
  workers?: number
  /** Uploads that may wait for a worker; of more, the latest of whoever has the most waiting are `overloaded`. */
  maxQueue?: number
  /** JavaScript heap of each worker. */
  memoryMb?: number
  /** Time for each check of a small file; large ones get a second more for every 4 MiB. */
  checkDeadlineMs?: number
  idleMs?: number
  graceMs?: number
  /** URL of a module whose export `readers` (extension to FormatReader) goes before the built-in ones. */
  readerModule?: string
  /** What a process that decodes images may hold; a GiB, or half of a small machine, unless told. */
  imageMemoryMb?: number
  /** URL of a module whose export `decodeImage` stands in for libvips. */
  decoderModule?: string
}

/** The validation engine: the five checks, the content looked at in worker threads. */
export function createValidator(options: ValidatorOptions): Validator & { pool: WorkerPool } {
  const pool = new WorkerPool({
    workers: options.workers ?? availableParallelism(),
    maxQueue: options.maxQueue ?? 256,
    memoryMb: options.memoryMb ?? 128,
    idleMs: options.idleMs ?? 60_000,
    graceMs: options.graceMs ?? 2_000,
    settings: options.readerModule ? { readerModule: options.readerModule } : {},
    imageMemoryMb: options.imageMemoryMb ?? imageMemoryMb(),
    ...(options.decoderModule && { decoderModule: options.decoderModule }),
  })
  const scanners = options.extraScanner ? [options.scanner, options.extraScanner] : [options.scanner]
  return {
    pool,
    validate: async (submission) => {
      const file = openFile(submission, { pool, scanners, deadlineMs: options.checkDeadlineMs ?? 30_000 })
      file.scanAhead()
      const checks = await runChecks(file).finally(file.done)
      return report(file, checks, await engineOf(submission, options.scanner, file.engine()))
    },
    close: () => pool.close(),
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
