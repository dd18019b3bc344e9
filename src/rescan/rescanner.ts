import type { Logger } from 'pino'
import { AssayError } from '../errors.js'
import { faultPoint } from '../fault-points.js'
import { newId } from '../ids.js'
import type { QuarantineService } from '../quarantine/quarantine.service.js'
import type { VirusScanner } from '../scanner/virus-scanner.js'
import type { ValidationReport } from '../validation/checks/check.js'
import { scanAgain } from '../validation/scan-again.js'
import { background } from '../workers/fair-queue.js'
import { Pace } from './pace.js'
import type { RescanService } from './rescan.service.js'
import type { Batch, DueFile, RescanQueue, Result } from './rescan-queue.js'
import type { Signatures } from './signatures.js'
import type { StoredContents } from './stored-contents.js'

const scansAtOnce = 2
const idleMs = 5_000
const noticeEveryMs = 60_000
const renewEveryMs = 10_000
const keepEveryMs = 250
const pauseSeconds = 30

interface Parts {
  scanner: VirusScanner
  queue: RescanQueue
  rescans: RescanService
  quarantine: QuarantineService
  contents: StoredContents
  megabytesPerSecond: number
  logger: Logger
}

/** What it did, for the metrics. */
export interface Rescanned {
  outcome: 'clean' | 'infected' | 'failed'
  bytes: number
}

/**
 * Scans kept files again, on every replica, a few at a time and at a bounded rate, behind every upload that waits for a worker or for
 * the scanner. Where the scanner or the store is away it waits; where it dies, another goes on.
 */
export class Rescanner {
  onScanned: (done: Rescanned) => void = () => {}
  readonly #parts: Parts
  readonly #pace: Pace
  readonly #closed = new AbortController()
  #noticed = { signatures: '', at: Number.NEGATIVE_INFINITY }
  #isAway = false
  #running: Promise<void> | undefined
  #wake = () => {}

  constructor(parts: Parts) {
    this.#parts = parts
    this.#pace = new Pace(parts.megabytesPerSecond)
    parts.rescans.onBegun = () => this.#wake()
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** One batch. False where there is nothing to do now. */
  async turn(): Promise<boolean> {
    const { queue } = this.#parts
    const current = await this.#signatures()
    if (!current) return false
    await this.#notice(current)
    const { signatures } = current
    const batch = await queue.take(signatures, newId('req'))
    if (!batch) return false
    await this.#scanAll(batch, signatures)
    await queue.finishOne(batch.tenantId, batch.contextId)
    return true
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('The service is shutting down.'))
    this.#wake()
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#closed.signal.aborted) {
      let waitMs = idleMs
      try {
        if (await this.turn()) continue
      } catch (error) {
        if (this.#closed.signal.aborted) return
        waitMs = pauseSeconds * 1000
        this.#parts.logger.warn({ err: error }, 'Scanning files again is paused; it goes on in half a minute.')
      }
      await this.#sleep(waitMs)
    }
  }

  /** Undefined where it is away, or there is none. */
  async #signatures(): Promise<Signatures | undefined> {
    try {
      const signatures = await this.#parts.rescans.signatures()
      this.#isAway = false
      return signatures
    } catch (error) {
      if (!(error instanceof AssayError)) throw error
      if (!this.#isAway) await this.#parts.queue.pauseAll()
      this.#isAway = true
      return undefined
    }
  }

  async #notice(current: Signatures): Promise<void> {
    const { signatures } = current
    const { at, signatures: before } = this.#noticed
    if (signatures === before && performance.now() - at < noticeEveryMs) return
    const { rescans, queue } = this.#parts
    await rescans.notice(current)
    await queue.finish()
    this.#noticed = { signatures, at: performance.now() }
  }

  /** Results are written as they come, so that a replica that dies leaves little to be scanned twice. */
  async #scanAll(batch: Batch, signatures: string): Promise<void> {
    const { queue } = this.#parts
    const renewing = setInterval(() => void queue.renew(batch).catch(() => {}), renewEveryMs).unref()
    const waiting = [...batch.files]
    let results: Result[] = []
    let keptAt = performance.now()
    const flush = async () => {
      const given = results
      results = []
      keptAt = performance.now()
      if (given.length > 0) await queue.keep(batch, signatures, given)
    }
    let failure: unknown
    const work = async () => {
      for (let file = waiting.shift(); file && failure === undefined; file = waiting.shift()) {
        try {
          const result = await this.#scanOne(batch, file)
          if (result) results.push(result)
          faultPoint('rescan.scanned')
          if (performance.now() - keptAt > keepEveryMs) await flush()
        } catch (error) {
          failure ??= error
        }
      }
    }
    try {
      await Promise.all(Array.from({ length: scansAtOnce }, work))
      await flush()
    } finally {
      clearInterval(renewing)
      if (failure !== undefined) await queue.giveBack(batch, this.#closed.signal.aborted ? 0 : pauseSeconds).catch(() => {})
    }
    if (failure !== undefined) throw failure
  }

  /** Undefined where the file was quarantined, which is written by itself. Throws where the scanner or the store is away. */
  async #scanOne(batch: Batch, file: DueFile): Promise<Result | undefined> {
    const { signal } = this.#closed
    await this.#pace.pass(file.sizeBytes, signal)
    const report = await this.#reportOn(file, signal)
    const outcome = !report ? 'failed' : report.outcome === 'rejected' ? 'infected' : 'clean'
    if (report && outcome === 'infected') await this.#parts.quarantine.add({ ...batch, ...file, report })
    this.onScanned({ outcome, bytes: file.sizeBytes })
    if (outcome === 'infected') return undefined
    return { fileId: file.fileId, report, bytes: report ? file.sizeBytes : 0, failed: !report }
  }

  /** Null where its content is missing, or is not what was uploaded. */
  async #reportOn(file: DueFile, signal: AbortSignal): Promise<ValidationReport | null> {
    const { contents, scanner, logger } = this.#parts
    const kept = await contents.open(file)
    if (!kept) {
      logger.error({ file_id: file.fileId }, 'A file was not scanned again: its content is missing, or is not what was uploaded.')
      return null
    }
    try {
      return await scanAgain(scanner, { ...file, content: kept.content }, { signal, owner: background })
    } finally {
      await kept.dispose()
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
      if (this.#closed.signal.aborted) this.#wake()
    })
  }
}
