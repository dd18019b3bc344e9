import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { MemorySource } from '@assay/formats'
import { isSmallArchive, mayContainContainer, smallLimits } from '@assay/formats/archive'
import { type WalkLimits, walkLimits } from '@assay/formats/walk'
import { scannerUnavailable } from '../../../platform/errors/errors.js'
import type { Content } from '../../../platform/spool/content.js'
import { createMemoryContent } from '../../../platform/spool/content.js'
import { WorkerPool } from '../../workers/worker-pool.js'
import { eicar } from '../eicar.js'
import type { ScanVerdict } from '../verdict.js'
import type { EngineIdentity, ScanOptions, VirusScanner, WorkerScan } from '../virus-scanner.js'
import { createDirectory, createLocalHeader } from '../zip-writer.js'
import { type EngineKind, hasNativeEngine, openEngine, type YaraEngine } from './engine.js'
import { ownRulesDate, ownRulesText } from './rules.js'
import type { OperatorRules } from './rules-dir.js'
import { ScanTasks } from './scan-work.js'
import type { EngineFacts } from './scanning.js'
import { findInSmallFile } from './script-search.js'
import { Search } from './search.js'

export interface YaraOptions {
  /** Engine to use. Defaults to native if its binding loads, and otherwise to WebAssembly. */
  kind?: EngineKind
  operators?: OperatorRules
  /** A shared pool, which the scanner does not close. The WebAssembly engine has a separate pool because of its memory use. */
  pool?: WorkerPool | undefined
  workers?: number
  limits?: Partial<WalkLimits>
  maxWaiting?: number
  deadlineOf?(size: number): number
  idleMs?: number
  /** Replaces the module with which workers scan, for tests. */
  module?: URL
}

/**
 * Maximum size that the native engine scans on the event loop. Scanning 64 KiB takes less than 0.2 ms, less than a transfer to a
 * worker. With operator rules, whose cost is unknown, all files are scanned in workers.
 */
const inlineBytes = 64 * 1024
const provedMs = 5_000

/** Time limit that allows for slow disks and nested archives. A worker that takes longer has hung. */
const getDefaultDeadlineMs = (size: number) => 60_000 + size / 10_000

/** Scans files with YARA-X and built-in rules. The reported identity shows that the engine has no virus signatures. */
export class YaraScanner implements VirusScanner {
  readonly scanInWorker: WorkerScan | undefined
  readonly isSandboxed: boolean
  readonly #scanTasks: ScanTasks
  readonly #ownPool: WorkerPool | undefined
  readonly #inline: YaraEngine | undefined
  readonly #identity: EngineIdentity
  /** Limits for archives that are scanned on the event loop. Undefined if all archives are scanned in workers. */
  readonly #smallLimits: WalkLimits | undefined
  #provedUntil = 0
  #closed = false

  private constructor(parts: {
    scanTasks: ScanTasks
    ownPool: WorkerPool | undefined
    inline: YaraEngine | undefined
    smallLimits: WalkLimits | undefined
    identity: EngineIdentity
  }) {
    this.#scanTasks = parts.scanTasks
    this.isSandboxed = parts.scanTasks.isSandboxed
    this.#ownPool = parts.ownPool
    // The WebAssembly engine runs in a separate pool, so that its memory is allocated only once.
    this.scanInWorker = parts.ownPool ? undefined : parts.scanTasks.scanInWorker()
    this.#inline = parts.inline
    this.#smallLimits = parts.smallLimits
    this.#identity = parts.identity
  }

  static async open(options: YaraOptions = {}): Promise<YaraScanner> {
    const kind = options.kind ?? (hasNativeEngine() ? 'native' : 'wasm')
    const operators = options.operators?.sources ?? []
    const shared = kind === 'native' ? options.pool : undefined
    const ownPool = shared ? undefined : openPool(kind, options)
    const limits = { ...walkLimits, ...options.limits }
    const scanTasks = new ScanTasks(shared ?? ownPool!, {
      kind,
      operators,
      limits,
      deadlineOf: options.deadlineOf ?? getDefaultDeadlineMs,
      module: options.module,
    })
    try {
      // Start a worker while this process compiles the rules.
      const opening = kind === 'native' && operators.length === 0 ? openEngine(kind, []) : undefined
      const [facts, inline] = await Promise.all([scanTasks.describe(), opening])
      const identity = toIdentity(facts, options.operators)
      const maxMembers = Math.min(limits.maxMembers, smallLimits.maxEntries)
      const maxUnpackedBytes = Math.min(limits.maxUnpackedBytes, smallLimits.maxUnpackedBytes)
      const small = { ...limits, maxMembers, maxUnpackedBytes, maxNesting: 1 }
      return new YaraScanner({ scanTasks, ownPool, inline, identity, smallLimits: options.module ? undefined : small })
    } catch (error) {
      await ownPool?.close()
      throw error
    }
  }

  async scan(content: Content, options: ScanOptions): Promise<ScanVerdict> {
    options.signal.throwIfAborted()
    return this.#scanInline(content) ?? (await this.#scanSmallArchive(content)) ?? this.#scan(content, options)
  }

  async getIdentity(): Promise<EngineIdentity> {
    return this.#identity
  }

  async prove(): Promise<void> {
    if (Date.now() < this.#provedUntil) return
    const options = { signal: AbortSignal.timeout(10_000) }
    // Test both scan paths of uploads: on the event loop and in a worker.
    const probes = [
      () => this.scan(createMemoryContent(eicar), options),
      () => this.#scan(createMemoryContent(createEicarZip()), options),
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
    await this.#ownPool?.close()
  }

  async #scan(content: Content, options: ScanOptions): Promise<ScanVerdict> {
    try {
      return await this.#scanTasks.scan(content, options)
    } catch (error) {
      throw this.#closed ? scannerUnavailable('The scanner is shutting down. Retry later.', error) : error
    }
  }

  /** Scans a small file without containers. Returns undefined for all other files. */
  #scanInline({ bytes }: Content): ScanVerdict | undefined {
    if (!this.#inline || !bytes || bytes.length > inlineBytes) return undefined
    if (mayContainContainer(bytes)) return undefined
    const signature = findInSmallFile(bytes, this.#inline.find)
    const provedAt = this.#inline.prove()
    if (signature !== undefined) return { verdict: 'infected', signature, provedAt }
    return { verdict: 'clean', provedAt }
  }

  /** Scans a small archive on the event loop. Returns undefined for all other files, and if the archive exceeds the limits. */
  async #scanSmallArchive({ bytes }: Content): Promise<ScanVerdict | undefined> {
    const limits = this.#smallLimits
    const source = limits && this.#inline && bytes && new MemorySource(bytes)
    if (!source || !isSmallArchive(source)) return undefined
    const looked = await new Search(source, { find: this.#inline!.find, limits, cancelled: () => false }).finish()
    return looked.verdict === 'incomplete' ? undefined : { ...looked, provedAt: this.#inline!.prove() }
  }
}

/** Opens the worker pool. The WebAssembly engine uses about 70 MB per worker, and the native one almost nothing. */
function openPool(kind: EngineKind, { workers, maxWaiting: maxQueue = 512, idleMs }: YaraOptions): WorkerPool {
  const maxWorkers = workers ?? (kind === 'native' ? Math.min(4, availableParallelism()) : 1)
  return new WorkerPool({ workers: maxWorkers, maxQueue, ...(idleMs !== undefined && { idleMs }) })
}

function toIdentity(facts: EngineFacts, operators: OperatorRules | undefined): EngineIdentity {
  const hash = createHash('sha256').update(ownRulesText)
  for (const { text } of operators?.sources ?? []) hash.update('\0').update(text)
  const dates = [ownRulesDate, operators?.changedAt].filter((date) => date instanceof Date)
  return {
    name: 'YARA-X',
    version: facts.version,
    signaturesVersion: `${hash.digest('hex').slice(0, 12)} (${facts.rules} rules)`,
    signaturesDate: new Date(Math.max(...dates.map((date) => date.getTime()))),
  }
}

function createEicarZip(): Buffer {
  const member = { name: 'eicar.com', offset: 0, packed: eicar.length, unpacked: eicar.length, stored: eicar }
  const header = createLocalHeader(member)
  return Buffer.concat([header, eicar, createDirectory([member], header.length + eicar.length)])
}
