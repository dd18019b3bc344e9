import { createHash, randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { MemorySource } from '@assay/formats'
import { isSmallArchive, mayContainContainer, smallLimits } from '@assay/formats/archive'
import { type WalkLimits, walkLimits } from '@assay/formats/walk'
import { getCompiledModuleUrl } from '../../../platform/compiled-module.js'
import { scannerUnavailable } from '../../../platform/errors/errors.js'
import { type Content, createMemoryContent } from '../../../platform/spool/content.js'
import { type Task, WorkerFailed, WorkerNotStarted } from '../../workers/work.js'
import { WorkerPool } from '../../workers/worker-pool.js'
import { eicar } from '../eicar.js'
import type { ScanVerdict } from '../verdict.js'
import { type EngineIdentity, getVerdictOrThrow, type ScanOptions, type VirusScanner, type WorkerScan } from '../virus-scanner.js'
import { createZip } from '../zip-writer.js'
import { type EngineKind, hasNativeEngine, InvalidRulesError, openEngine, Search, type YaraEngine } from './engine.js'
import { type OperatorRules, ownRulesDate, ownRulesText } from './rules.js'
import type { EngineInfo, EngineSetup, ScanJob, ScanResult } from './scanning.js'

export interface YaraOptions {
  /** Engine to use. Defaults to native if its binding loads, and otherwise to WebAssembly. */
  kind?: EngineKind
  operators?: OperatorRules | undefined
  /** A shared pool, which the scanner does not close. The WebAssembly engine has a separate pool because of its memory use. */
  pool?: WorkerPool | undefined
  workers?: number | undefined
  limits?: Partial<WalkLimits>
  maxWaiting?: number
  deadlineOf?(size: number): number
  idleMs?: number
  /** Module that replaces the scan module of the workers. Used only by tests. */
  module?: URL
}

/**
 * Maximum size that the native engine scans on the event loop. Scanning 64 KiB takes 0.2 ms, less than a transfer to a worker.
 */
const inlineBytes = 64 * 1024
const provedMs = 5_000
const startMs = 30_000

/** Time limit for a scan. It allows for slow disks and nested archives, so a worker that takes longer counts as hung. */
const getDefaultDeadlineMs = (size: number) => 60_000 + size / 10_000

/** Scans files with YARA-X and built-in rules. The engine's identity in reports shows that it has no virus signatures. */
export class YaraScanner implements VirusScanner {
  readonly scanInWorker: WorkerScan | undefined
  readonly isSandboxed: boolean
  readonly #pool: WorkerPool
  readonly #ownsPool: boolean
  readonly #setup: EngineSetup
  readonly #task: Pick<Task, 'module' | 'inProcess' | 'settings' | 'retryHung'>
  readonly #deadlineOf: (size: number) => number
  /** Engine for scans on the event loop. Undefined until the scanner has started. */
  #inline: YaraEngine | undefined
  #identity: EngineIdentity | undefined
  #provedUntil = 0
  #closed = false

  private constructor(kind: EngineKind, options: YaraOptions) {
    const operators = options.operators?.sources ?? []
    // The WebAssembly engine runs in a separate pool, so that its memory is allocated only once.
    const shared = kind === 'native' ? options.pool : undefined
    this.#pool = shared ?? openPool(kind, options)
    this.#ownsPool = !shared
    this.#setup = { id: randomUUID(), kind, limits: { ...walkLimits, ...options.limits } }
    this.#deadlineOf = options.deadlineOf ?? getDefaultDeadlineMs
    this.#task = {
      module: options.module ?? getCompiledModuleUrl('inspection/scanners/yara/scanning'),
      // Run operator rules in a process. A rule may loop forever, and native code can be stopped only by killing its process.
      inProcess: kind === 'native' && operators.length > 0,
      settings: operators.length > 0 ? toSharedMemory(JSON.stringify(operators)) : undefined,
      // Do not retry a scan that hangs. A second attempt would usually hang too, while other uploads wait for the worker.
      retryHung: false,
    }
    this.isSandboxed = this.#task.inProcess
    const canShareWorkers = shared && !this.isSandboxed && !options.module
    this.scanInWorker = canShareWorkers ? { setup: this.#setup, deadlineOf: this.#deadlineOf } : undefined
  }

  static async open(options: YaraOptions = {}): Promise<YaraScanner> {
    const kind = options.kind ?? (hasNativeEngine() ? 'native' : 'wasm')
    const scanner = new YaraScanner(kind, options)
    try {
      // Start a worker while this process compiles the rules.
      const isInline = kind === 'native' && !scanner.isSandboxed && !options.module
      const [facts, inline] = await Promise.all([scanner.#describeEngine(), isInline ? openEngine(kind, []) : undefined])
      scanner.#identity = toIdentity(facts, options.operators)
      scanner.#inline = inline
      return scanner
    } catch (error) {
      await scanner.close()
      throw error
    }
  }

  async scan(content: Content, options: ScanOptions): Promise<ScanVerdict> {
    options.signal.throwIfAborted()
    return (await this.#scanInline(content)) ?? this.#scanInPool(content, options)
  }

  async getIdentity(): Promise<EngineIdentity> {
    return this.#identity!
  }

  async verifyDetection(): Promise<void> {
    if (Date.now() < this.#provedUntil) return
    const options = { signal: AbortSignal.timeout(10_000) }
    // Test both ways in which uploads are scanned: on the event loop and in a worker.
    const probes = [
      () => this.scan(createMemoryContent(eicar), options),
      () => this.#scanInPool(createMemoryContent(createZip('eicar.com', eicar)), options),
    ]
    for (const probe of probes) {
      const { verdict } = await probe().catch((error) => {
        throw options.signal.aborted ? scannerUnavailable('YARA-X did not respond within 10 s.', error) : error
      })
      if (verdict !== 'infected') throw scannerUnavailable('YARA-X does not detect the EICAR test string.')
    }
    this.#provedUntil = Date.now() + provedMs
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#ownsPool) await this.#pool.close()
  }

  async #describeEngine(): Promise<EngineInfo> {
    const task = { ...this.#task, run: 'describeEngine', data: this.#setup, size: 0, deadlineMs: startMs }
    const facts = await this.#runTask<EngineInfo | { faulty: string }>(task, new AbortController().signal)
    if ('faulty' in facts) throw new InvalidRulesError(facts.faulty)
    return facts
  }

  async #scanInPool({ bytes, path, size }: Content, { signal, owner }: ScanOptions): Promise<ScanVerdict> {
    const data: ScanJob = { ...this.#setup, path, size }
    const task = { ...this.#task, run: 'scan', data, bytes, size, owner, deadlineMs: this.#deadlineOf(size) }
    return getVerdictOrThrow(await this.#runTask<ScanResult>(task, signal))
  }

  async #runTask<T>(task: Task, signal: AbortSignal): Promise<T> {
    try {
      return await this.#pool.run<T>(task, signal)
    } catch (error) {
      if (this.#closed) throw scannerUnavailable('The scanner is shutting down. Retry later.', error)
      if (error instanceof WorkerNotStarted)
        throw scannerUnavailable(`Files cannot be scanned at the moment: ${error.message}.`, error)
      if (!(error instanceof WorkerFailed)) throw error
      if (error.failure === 'hung')
        throw scannerUnavailable(`The scan was aborted because it took longer than ${task.deadlineMs} ms.`)
      throw scannerUnavailable('The scan worker crashed twice while scanning this file.', error)
    }
  }

  /** Scans a small file on the event loop. Returns undefined for other files, and if the scan exceeds its limits. */
  async #scanInline({ bytes }: Content): Promise<ScanVerdict | undefined> {
    const engine = this.#inline
    if (!engine || !bytes || bytes.length > inlineBytes) return undefined
    const source = new MemorySource(bytes)
    if (mayContainContainer(bytes) && !isSmallArchive(source)) return undefined
    const { limits } = this.#setup
    const maxMembers = Math.min(limits.maxMembers, smallLimits.maxEntries)
    const maxUnpackedBytes = Math.min(limits.maxUnpackedBytes, smallLimits.maxUnpackedBytes)
    const inlineLimits = { ...limits, maxMembers, maxUnpackedBytes, maxNesting: 1 }
    const result = await new Search(source, { find: engine.find, limits: inlineLimits, cancelled: () => false }).finish()
    return result.verdict === 'incomplete' ? undefined : { ...result, provedAt: engine.verifyDetection() }
  }
}

/** Opens the worker pool. The WebAssembly engine uses about 70 MB per worker, and the native one almost nothing. */
function openPool(kind: EngineKind, { workers, maxWaiting: maxQueue = 512, idleMs }: YaraOptions): WorkerPool {
  const maxWorkers = workers ?? (kind === 'native' ? Math.min(4, availableParallelism()) : 1)
  return new WorkerPool({ workers: maxWorkers, maxQueue, idleMs })
}

function toIdentity(engineInfo: EngineInfo, operatorRules: OperatorRules | undefined): EngineIdentity {
  const hash = createHash('sha256').update(ownRulesText)
  for (const { text } of operatorRules?.sources ?? []) hash.update('\0').update(text)
  const dates = [ownRulesDate, operatorRules?.changedAt].filter((date) => date instanceof Date)
  return {
    name: 'YARA-X',
    version: engineInfo.version,
    signaturesVersion: `${hash.digest('hex').slice(0, 12)} (${engineInfo.rules} rules)`,
    signaturesDate: new Date(Math.max(...dates.map((date) => date.getTime()))),
  }
}

function toSharedMemory(text: string): SharedArrayBuffer {
  const bytes = new TextEncoder().encode(text)
  const memory = new SharedArrayBuffer(bytes.length)
  new Uint8Array(memory).set(bytes)
  return memory
}
