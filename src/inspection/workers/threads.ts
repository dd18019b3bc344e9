import { tmpdir } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { getCompiledModuleUrl } from '../../platform/compiled-module.js'
import type { ThreadTask } from './thread-program.js'
import { type Attempt, type Task, type TaskResult, WorkerFailed, type WorkerFailure, WorkerNotStarted } from './work.js'

export interface ThreadsOptions {
  maxThreads: number
  memoryMb: number
  idleMs: number
}

const endTimeoutMs = 2_000

/** Threads for JavaScript and WebAssembly, which can be terminated at any time. Each thread runs one task at a time. */
export class Threads {
  readonly #maxThreads: number
  readonly #piscina: Piscina
  /** Threads that are being terminated. */
  readonly #ending = new Map<Worker, Promise<void>>()
  /** Unused memory that is kept for the content of later tasks, at most one block per thread. */
  readonly #blocks: SharedArrayBuffer[] = []

  constructor({ maxThreads, memoryMb, idleMs }: ThreadsOptions) {
    this.#maxThreads = maxThreads
    this.#piscina = new Piscina({
      filename: fileURLToPath(getCompiledModuleUrl('inspection/workers/thread-program')),
      name: 'runInThread',
      minThreads: 0,
      maxThreads,
      idleTimeout: idleMs,
      // Disabled, because a thread that blocks in `Atomics.wait` cannot react to the timers and files that its tasks wait for.
      atomics: 'disabled',
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 16 },
      // Threads receive neither the secrets in the environment nor the service's Node.js options.
      env: { TMPDIR: tmpdir() },
      execArgv: [],
    })
    // Ignore the failure of an idle thread. It is replaced when the next task needs a thread.
    this.#piscina.on('error', () => {})
  }

  get size(): number {
    return this.#piscina.threads.length
  }

  startAttempt(task: Task): Attempt {
    const ending = new AbortController()
    const shared = new Int32Array(new SharedArrayBuffer(8))
    const { module, run, data, settings } = task
    const threadTask: ThreadTask = { module: module.href, run, data, settings, sentAt: Date.now(), shared }
    const sentAt = performance.now()
    let failure: WorkerFailure | undefined
    return {
      answer: this.#run(threadTask, task.bytes, ending.signal).catch((error) => {
        throw error instanceof WorkerNotStarted ? error : new WorkerFailed(failure ?? toFailure(error))
      }),
      startedAt: () => {
        const begun = Atomics.load(shared, 0)
        return begun === 0 ? undefined : sentAt + begun - 1
      },
      cancel: () => void Atomics.store(shared, 1, 1),
      end: (why) => {
        failure = why
        this.#endThread(ending)
      },
    }
  }

  /** Resolves when all threads have ended. Waits at most four seconds, because native code cannot be interrupted. */
  async close(): Promise<void> {
    await Promise.race([this.#piscina.destroy(), waitForTerminationTimeout()])
    await this.#waitForEndingThreads()
  }

  async #run(task: ThreadTask, content: Uint8Array | undefined, signal: AbortSignal): Promise<TaskResult> {
    await this.#assertCapacity()
    if (!content) return this.#piscina.run(task, { signal })
    const spare = this.#blocks.pop()
    const block = spare && spare.byteLength >= content.length ? spare : new SharedArrayBuffer(content.length)
    const bytes = new Uint8Array(block, 0, content.length)
    bytes.set(content)
    try {
      return await this.#piscina.run({ ...task, bytes }, { signal })
    } finally {
      if (this.#blocks.length < this.#maxThreads) this.#blocks.push(block)
    }
  }

  /**
   * Throws if the number of hung threads that cannot be terminated has reached the maximum number of threads. Until then, new
   * threads replace them.
   */
  async #assertCapacity(): Promise<void> {
    if (this.#ending.size >= this.#maxThreads) await this.#waitForEndingThreads()
    if (this.#ending.size >= this.#maxThreads)
      throw new WorkerNotStarted(`${this.#ending.size} workers do not respond and cannot be terminated. Restart the service.`)
  }

  #endThread(controller: AbortController): void {
    const before = this.#piscina.threads
    controller.abort()
    const { threads } = this.#piscina
    const leaving = before.filter((each) => !threads.includes(each))
    for (const thread of leaving) {
      const exit = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
      this.#ending.set(
        thread,
        exit.then(() => void this.#ending.delete(thread)),
      )
    }
  }

  async #waitForEndingThreads(): Promise<void> {
    await Promise.race([Promise.all(this.#ending.values()), waitForTerminationTimeout()])
  }
}

const waitForTerminationTimeout = () => setTimeout(endTimeoutMs, undefined, { ref: false })

const toFailure = (error: Error & { code?: string }): WorkerFailure =>
  error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out_of_memory' : 'died'
