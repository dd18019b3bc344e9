import { randomUUID } from 'node:crypto'
import type { WalkLimits } from '@assay/formats/walk'
import { getCompiledModuleUrl } from '../../../platform/compiled-module.js'
import { scannerUnavailable } from '../../../platform/errors/errors.js'
import type { Content } from '../../../platform/spool/content.js'
import { type Task, WorkerFailed, WorkerNotStarted } from '../../workers/work.js'
import type { WorkerPool } from '../../workers/worker-pool.js'
import type { ScanVerdict } from '../verdict.js'
import { getVerdictOrThrow, type ScanOptions, type WorkerScan } from '../virus-scanner.js'
import { type EngineKind, InvalidRulesError } from './engine.js'
import type { RuleSource } from './rules.js'
import type { EngineFacts, EngineSetup, ScanJob, Scanned } from './scanning.js'

export interface ScanTasksOptions {
  kind: EngineKind
  operators: RuleSource[]
  limits: WalkLimits
  deadlineOf(size: number): number
  /** Replaces the worker module, for tests of failing workers. */
  module?: URL | undefined
}

const startMs = 30_000

export class ScanTasks {
  readonly #pool: WorkerPool
  readonly #options: ScanTasksOptions
  readonly #setup: EngineSetup
  readonly #task: Pick<Task, 'module' | 'inProcess' | 'settings' | 'retryHung'>

  constructor(pool: WorkerPool, options: ScanTasksOptions) {
    const { kind, operators, limits } = options
    this.#pool = pool
    this.#options = options
    this.#setup = { id: randomUUID(), kind, limits }
    this.#task = {
      module: options.module ?? getCompiledModuleUrl('inspection/scanners/yara/scanning'),
      // Built-in rules always terminate. An operator's rule may loop forever, and native code can be stopped only by killing its
      // process.
      inProcess: kind === 'native' && operators.length > 0,
      settings: operators.length > 0 ? toSharedMemory(JSON.stringify(operators)) : undefined,
      // A second attempt would usually also hang, while other uploads wait for the worker.
      retryHung: false,
    }
  }

  /** True if scans run in sandboxed processes. */
  get isSandboxed(): boolean {
    return this.#task.inProcess
  }

  /** Returns scan parameters for workers of another pool. Undefined if scans require separate processes or another module. */
  scanInWorker(): WorkerScan | undefined {
    const { deadlineOf, module } = this.#options
    return this.#task.inProcess || module ? undefined : { setup: this.#setup, deadlineOf }
  }

  async describe(): Promise<EngineFacts> {
    const task = { ...this.#task, run: 'describeEngine', data: this.#setup, size: 0, deadlineMs: startMs }
    const facts = await this.#run<EngineFacts | { faulty: string }>(task, new AbortController().signal)
    if ('faulty' in facts) throw new InvalidRulesError(facts.faulty)
    return facts
  }

  async scan({ bytes, path, size }: Content, { signal, owner }: ScanOptions): Promise<ScanVerdict> {
    const data: ScanJob = { ...this.#setup, path, size }
    const deadlineMs = this.#options.deadlineOf(size)
    const task = { ...this.#task, run: 'scan', data, bytes, size, owner, deadlineMs }
    return getVerdictOrThrow(await this.#run<Scanned>(task, signal))
  }

  async #run<T>(task: Task, signal: AbortSignal): Promise<T> {
    try {
      return await this.#pool.run<T>(task, signal)
    } catch (error) {
      if (error instanceof WorkerNotStarted)
        throw scannerUnavailable(`Files currently cannot be scanned: ${error.message}.`, error)
      if (!(error instanceof WorkerFailed)) throw error
      if (error.failure === 'hung')
        throw scannerUnavailable(`The scan was aborted, because it took longer than ${task.deadlineMs} ms.`)
      throw scannerUnavailable('The scan worker crashed twice on this file.', error)
    }
  }
}

function toSharedMemory(text: string): SharedArrayBuffer {
  const bytes = new TextEncoder().encode(text)
  const memory = new SharedArrayBuffer(bytes.length)
  new Uint8Array(memory).set(bytes)
  return memory
}
