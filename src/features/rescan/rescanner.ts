import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { createUnscannedReport, type Inspector, toRescanSubmission } from '../../inspection/engine/inspect.js'
import type { ValidationReport } from '../../inspection/report.js'
import { getSignatures, type Signatures, type VirusScanner } from '../../inspection/scanners/virus-scanner.js'
import { background } from '../../inspection/workers/fair-queue.js'
import { AssayError } from '../../platform/errors/errors.js'
import { reachFaultPoint } from '../../platform/fault-points.js'
import { newId } from '../../platform/ids.js'
import { ReadThrottle } from '../../platform/read-throttle.js'
import type { ServiceEvents } from '../components.js'
import type { QuarantineService } from '../lifecycle/quarantine.service.js'
import type { RescanService } from './rescan.service.js'
import type { Batch, DueFile, RescanQueue, Result } from './rescan-queue.js'
import type { StoredContents } from './stored-contents.js'

const maxConcurrentScans = 2
const idleMs = 5_000
const signatureCheckIntervalMs = 60_000
const saveIntervalMs = 250
const pauseSeconds = 30
const maxAttempts = 3
const retrySeconds = 30
// The readiness check shows these messages to unauthenticated clients, so they contain no details about files.
const failures = {
  scanner: 'the scanner could not scan the file',
  storage: 'the store did not return the content',
  content: 'the stored content is missing or damaged',
  stopped: 'the service stopped during every scan attempt',
  other: 'an internal error occurred, see the log',
}

interface Dependencies {
  inspector: Inspector
  scanner: VirusScanner
  queue: RescanQueue
  rescans: RescanService
  quarantine: QuarantineService
  contents: StoredContents
  megabytesPerSecond: number
  serviceEvents: ServiceEvents
  logger: Logger
}

/** Thrown if the scanner becomes unavailable, perhaps because the file crashed it. */
class ScannerUnavailableError extends Error {}

/**
 * Rescans stored files on every replica, at a limited rate and with a lower priority than uploads. Pauses while the scanner or
 * the store is unavailable. Abandons a file after three failed attempts.
 */
export class Rescanner {
  readonly #pace: ReadThrottle
  readonly #closed = new AbortController()
  #noticed = { signatures: '', at: Number.NEGATIVE_INFINITY }
  #isScannerUnavailable = false
  #running: Promise<void> | undefined
  #wake = new AbortController()

  constructor(private readonly parts: Dependencies) {
    this.#pace = new ReadThrottle(parts.megabytesPerSecond)
    parts.serviceEvents.on('rescanRequested', () => this.#wake.abort())
  }

  start(): void {
    this.#running ??= this.#runLoop()
  }

  /** Scans one batch of files. Returns false if no file is due. */
  async scanNextBatch(): Promise<boolean> {
    const { queue, rescans } = this.parts
    const current = await this.#getSignatures()
    if (!current) return false
    await this.#startDueRescans(current)
    const { signatures } = current
    const batch = await queue.leaseBatch({ signatures, isNewest: await rescans.isNewest(signatures) }, newId('req'))
    if (!batch) return false
    await this.#scanBatch(batch, signatures)
    await queue.finishRescan(batch.tenantId, batch.contextId)
    return true
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('The service is shutting down.'))
    this.#wake.abort()
    await this.#running
  }

  async #runLoop(): Promise<void> {
    while (!this.#closed.signal.aborted) {
      let waitMs = idleMs
      try {
        if (await this.scanNextBatch()) continue
      } catch (error) {
        if (this.#closed.signal.aborted) return
        waitMs = pauseSeconds * 1000
        this.parts.logger.warn({ err: error }, 'The rescan is paused. It will continue in 30 seconds.')
      }
      this.#wake = new AbortController()
      if (!this.#closed.signal.aborted) await sleep(waitMs, undefined, { signal: this.#wake.signal }).catch(() => {})
    }
  }

  /** Returns the scanner's signatures, or undefined if it is unavailable or not configured. */
  async #getSignatures(): Promise<Signatures | undefined> {
    try {
      const signatures = await this.parts.rescans.getScannerSignatures()
      this.#isScannerUnavailable = false
      return signatures
    } catch (error) {
      if (!(error instanceof AssayError)) throw error
      if (!this.#isScannerUnavailable) await this.parts.queue.pauseAllRescans()
      this.#isScannerUnavailable = true
      return undefined
    }
  }

  async #startDueRescans(current: Signatures): Promise<void> {
    const { signatures } = current
    const { at, signatures: before } = this.#noticed
    if (signatures === before && performance.now() - at < signatureCheckIntervalMs) return
    const { rescans, queue } = this.parts
    await rescans.startDueRescans(current)
    await queue.finishRescans()
    this.#noticed = { signatures, at: performance.now() }
  }

  /** Scans a batch and saves the results at short intervals, so that few files are scanned twice if this replica dies. */
  async #scanBatch(batch: Batch, signatures: string): Promise<void> {
    const { queue } = this.parts
    const renewing = queue.startRenewingLeases(batch)
    const waiting = [...batch.files]
    const suspects: string[] = []
    let results: Result[] = []
    let savedAt = performance.now()
    const saveResults = async () => {
      const ready = results
      results = []
      savedAt = performance.now()
      if (ready.length > 0) await queue.saveResults(batch, signatures, ready)
    }
    let failure: unknown
    const runWorker = async () => {
      for (let file = waiting.shift(); file && failure === undefined; file = waiting.shift()) {
        try {
          const result = await this.#scanFile(batch, file, signatures)
          if (result) results.push(result)
          reachFaultPoint('rescan.scanned')
          if (performance.now() - savedAt > saveIntervalMs) await saveResults()
        } catch (error) {
          if (error instanceof ScannerUnavailableError) suspects.push(file.fileId)
          failure ??= error
        }
      }
    }
    try {
      // Check the scanner first, so that a scanner failure does not count as a failed attempt for any file.
      if (waiting.length > 0) await this.parts.scanner.verifyDetection()
      await Promise.all(Array.from({ length: maxConcurrentScans }, runWorker))
      await saveResults()
    } catch (error) {
      failure ??= error
    } finally {
      clearInterval(renewing)
    }
    if (failure === undefined) return
    await saveResults().catch(() => {})
    await queue.releaseBatch(batch, this.#closed.signal.aborted ? 0 : pauseSeconds, suspects).catch(() => {})
    throw failure
  }

  /** Scans a file. Returns undefined if the file was quarantined or will be retried. Throws if the whole batch must wait. */
  async #scanFile(batch: Batch, file: DueFile, signatures: string): Promise<Result | undefined> {
    const { signal } = this.#closed
    if (file.attempts > maxAttempts)
      return this.#abandonFile(batch, file, signatures, { failure: file.failure ?? failures.stopped, reason: file.failure })
    await this.#pace.waitForBytes(file.sizeBytes, signal)
    let report: ValidationReport
    try {
      const opened = await this.#openContent(batch, file)
      if (!opened) return await this.#reportUnreadableFile(batch, file)
      try {
        const { content } = opened
        report = await this.parts.inspector.inspect(toRescanSubmission({ ...file, content, signal, owner: background }))
      } finally {
        await opened.dispose()
      }
    } catch (error) {
      signal.throwIfAborted()
      return this.#handleScanError(batch, file, signatures, error)
    }
    const isInfected = report.outcome === 'rejected'
    if (isInfected) await this.#quarantineFile(batch, file, report)
    this.parts.serviceEvents.emit('rescanned', { outcome: isInfected ? 'infected' : 'clean', bytes: file.sizeBytes })
    return isInfected ? undefined : { fileId: file.fileId, report, bytes: file.sizeBytes, failed: false }
  }

  /** Opens the content at its current path, because a quarantined object may have been moved after the batch was leased. */
  async #openContent(batch: Batch, file: DueFile) {
    const { contents, queue } = this.parts
    const opened = await contents.open(file)
    if (opened) return opened
    const blobPath = await queue.getBlobPath(batch, file.fileId)
    return blobPath === undefined || blobPath === file.blobPath ? undefined : contents.open({ ...file, blobPath })
  }

  async #reportUnreadableFile(batch: Batch, { fileId, sizeBytes }: DueFile): Promise<Result> {
    const unread = { fileId, report: null, bytes: 0 }
    if ((await this.parts.queue.getBlobPath(batch, fileId)) === undefined) return { ...unread, failed: false }
    this.parts.logger.error({ file_id: fileId }, 'A file was not rescanned: its stored content is missing or damaged.')
    this.parts.serviceEvents.emit('rescanned', { outcome: 'failed', bytes: sizeBytes })
    return { ...unread, failed: true, failure: failures.content }
  }

  async #quarantineFile(batch: Batch, file: DueFile, report: ValidationReport): Promise<void> {
    const { quarantine, logger } = this.parts
    try {
      await quarantine.quarantineFile({ ...batch, ...file, report })
    } catch (error) {
      logger.error({ err: error, file_id: file.fileId }, 'An infected file could not be quarantined. The service will retry.')
      // Retry without a limit, because an infected file must not remain available. `#scheduleRetry` throws if the database is
      // unavailable.
      await this.#scheduleRetry(batch, { ...file, attempts: file.attempts - 1 }, failures.other)
    }
  }

  /**
   * Counts a failed attempt for the file. Throws if the scanner or the store is unavailable, because the file is then not the
   * cause.
   */
  async #handleScanError(batch: Batch, file: DueFile, signatures: string, error: unknown): Promise<Result | undefined> {
    if (error instanceof AssayError && error.code === 'overloaded') throw error
    await this.#assertDependenciesAvailable()
    const code = error instanceof AssayError ? error.code : undefined
    const failure =
      code === 'scanner_unavailable' ? failures.scanner : code === 'storage_unavailable' ? failures.storage : failures.other
    const reason = code === 'scanner_unavailable' ? (error as AssayError).message : null
    this.parts.logger.warn({ err: error, file_id: file.fileId, attempt: file.attempts }, 'A file could not be rescanned.')
    if (file.attempts >= maxAttempts) return this.#abandonFile(batch, file, signatures, { failure, reason })
    await this.#scheduleRetry(batch, file, failure)
    return undefined
  }

  async #assertDependenciesAvailable(): Promise<void> {
    await this.parts.contents.assertReady()
    await this.parts.scanner.verifyDetection().catch((cause) => {
      throw new ScannerUnavailableError('the scanner is unavailable', { cause })
    })
  }

  /** Schedules the next attempt: 30 seconds after the first failure, and 2 minutes after the second. */
  #scheduleRetry(batch: Batch, { fileId, attempts }: DueFile, failure: string): Promise<void> {
    const seconds = retrySeconds * 4 ** Math.max(0, attempts - 1)
    return this.parts.queue.scheduleRetry(batch, fileId, { seconds, attempts, failure })
  }

  async #abandonFile(
    batch: Batch,
    file: DueFile,
    signatures: string,
    { failure, reason }: { failure: string; reason: string | null },
  ): Promise<Result | undefined> {
    const { scanner, logger } = this.parts
    const engine = await scanner.getIdentity()
    // The signatures have changed since the earlier attempts, so the file gets the full number of attempts again.
    if (getSignatures(engine) !== signatures) {
      await this.#scheduleRetry(batch, { ...file, attempts: 0 }, failure)
      return undefined
    }
    logger.error({ file_id: file.fileId, failure }, `A file was not rescanned: ${maxAttempts} attempts failed.`)
    this.parts.serviceEvents.emit('rescanned', { outcome: 'failed', bytes: file.sizeBytes })
    const report = createUnscannedReport(file.report, { reason: reason ?? toSentence(failure), attempts: maxAttempts, engine })
    return { fileId: file.fileId, report, bytes: 0, failed: true, failure }
  }
}

const toSentence = (text: string) => `${text[0]!.toUpperCase()}${text.slice(1)}.`
