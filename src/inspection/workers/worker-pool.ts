import { availableParallelism } from 'node:os'
import { overloaded } from '../../platform/errors/errors.js'
import { megabyte } from '../../platform/units.js'
import { FairQueue } from './fair-queue.js'
import { memoryLimit } from './memory-limit.js'
import { Processes } from './processes.js'
import type { Sandbox } from './sandbox.js'
import { Threads } from './threads.js'
import { type Attempt, type Task, TaskError, WorkerFailed, WorkerNotStarted } from './work.js'

export interface WorkerPoolOptions {
  /** Maximum number of tasks that run at the same time, in threads and processes. Default: number of cores. */
  workers: number
  /** Maximum number of waiting tasks. If it is exceeded, the latest queued of the owner with the longest queue fails with `overloaded`. */
  maxQueue: number
  memoryMb: number
  /** Memory of all processes for native code. Default: half of the memory of the machine or container. */
  processMemoryMb: number
  idleMs: number
  /** Sandbox of the processes, which the pool closes. Without it, they have the same access as the service. */
  sandbox: Promise<Sandbox | undefined>
}

const startTimeoutMs = 30_000
const startPollMs = 50
/** Time that a cancelled queued has to reach its next step. */
const cancelTimeoutMs = 5_000
const maxAttempts = 2
/** Memory to decode the largest image that is not treated as a decompression bomb. */
const maxImageMb = 1024
const closingMessage = 'The service is shutting down. Send the file again.'

interface QueuedTask {
  task: Task
  owner: string | undefined
  size: number
  attempts: number
  startedAt: number
  /** True if the queued must run while no other process works, because it exceeded the memory limit together with others. */
  exclusive: boolean
  signal: AbortSignal
  attempt?: Attempt
  resolve(result: unknown): void
  reject(error: unknown): void
}

/** Threads, and processes for native code. If one dies or hangs, only its own queued is affected and retried once. */
export class WorkerPool {
  readonly #queue: FairQueue<QueuedTask>
  readonly #threads: Threads
  readonly #processes: Processes
  readonly #running = new Set<QueuedTask>()
  #closed = false

  constructor(options: Partial<WorkerPoolOptions> = {}) {
    const { workers = availableParallelism(), maxQueue = 256, memoryMb = 128, idleMs = 60_000 } = options
    const { sandbox = Promise.resolve(undefined), processMemoryMb = Math.floor(memoryLimit() / 2 / megabyte) } = options
    this.#queue = new FairQueue({ workers, maxLength: maxQueue })
    this.#threads = new Threads({ maxThreads: workers, memoryMb, idleMs })
    const memoryEachMb = Math.min(maxImageMb, processMemoryMb)
    this.#processes = new Processes({
      maxProcesses: workers,
      memoryMb: processMemoryMb,
      memoryPerProcessMb: memoryEachMb,
      idleMs,
      sandbox,
    })
  }

  get threads(): number {
    return this.#threads.size
  }

  get processes(): number[] {
    return this.#processes.pids
  }

  /** Resolves to the result of the function. Rejects with `WorkerFailed`, `WorkerNotStarted`, `TaskError`, `overloaded` or the reason of the signal. */
  run<T>(task: Task, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(overloaded(closingMessage))
      if (signal.aborted) return reject(signal.reason)
      const onAbort = () => this.#abandon(queued)
      const settled =
        <V>(settle: (value: V) => void) =>
        (value: V) => {
          signal.removeEventListener('abort', onAbort)
          settle(value)
        }
      const queued: QueuedTask = {
        task,
        owner: task.owner,
        size: task.size,
        attempts: 0,
        startedAt: 0,
        exclusive: false,
        signal,
        resolve: settled(resolve as (result: unknown) => void),
        reject: settled(reject),
      }
      signal.addEventListener('abort', onAbort, { once: true })
      const displaced = this.#queue.add(queued)
      displaced?.reject(overloaded(`${this.#queue.length} files are waiting for a worker, which is the maximum. Retry later.`))
      this.#dispatch()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const queued of [...this.#queue.clear(), ...this.#running]) queued.reject(overloaded(closingMessage))
    await Promise.all([this.#threads.close(), this.#processes.close()])
  }

  #dispatch(): void {
    for (let next = this.#queue.next(); next; next = this.#queue.next()) void this.#attempt(next)
  }

  async #attempt(queued: QueuedTask): Promise<void> {
    const { task } = queued
    queued.attempts++
    queued.startedAt ||= performance.now()
    this.#running.add(queued)
    queued.attempt = task.inProcess ? this.#processes.attempt(task, queued.exclusive) : this.#threads.attempt(task)
    const stopTimer = this.#enforceDeadline(queued, queued.attempt)
    try {
      const answer = await queued.attempt.answer
      if ('result' in answer) queued.resolve(answer.result)
      else queued.reject(new TaskError(answer.fault))
      this.#release(queued)
    } catch (error) {
      this.#release(queued)
      const begun = queued.attempt.startedAt() !== undefined
      this.#retryOrReject(
        queued,
        error instanceof WorkerFailed && !begun ? new WorkerNotStarted('a worker does not start') : error,
      )
    } finally {
      stopTimer()
      this.#dispatch()
    }
  }

  #release(queued: QueuedTask): void {
    this.#running.delete(queued)
    this.#queue.release(queued)
  }

  /** Ends a queued that exceeds its deadline. The start of a worker does not count. */
  #enforceDeadline(queued: QueuedTask, attempt: Attempt): () => void {
    const startedAt = performance.now()
    let timer: NodeJS.Timeout
    const check = () => {
      const begun = attempt.startedAt()
      const until = begun === undefined ? startedAt + startTimeoutMs : begun + queued.task.deadlineMs
      const left = until - performance.now()
      if (left <= 0) attempt.end('hung')
      else timer = setTimeout(check, Math.min(left, begun === undefined ? startPollMs : 0x7fffffff))
    }
    check()
    return () => clearTimeout(timer)
  }

  #retryOrReject(queued: QueuedTask, error: unknown): void {
    if (queued.signal.aborted || this.#closed) return
    const again =
      error instanceof WorkerNotStarted || (error instanceof WorkerFailed && (error.failure !== 'hung' || queued.task.retryHung))
    if (again && queued.attempts < maxAttempts) {
      queued.exclusive = error instanceof WorkerFailed && error.failure === 'out_of_memory'
      queued.task = { ...queued.task, ...queued.task.retry }
      this.#queue.requeue(queued)
      return
    }
    const durationMs = Math.round(performance.now() - queued.startedAt)
    queued.reject(error instanceof WorkerFailed ? new WorkerFailed(error.failure, durationMs) : error)
  }

  /** Rejects immediately. The worker stops at the next step of the queued, or is terminated. */
  #abandon(queued: QueuedTask): void {
    this.#queue.remove(queued)
    queued.attempt?.cancel()
    if (this.#running.has(queued))
      setTimeout(() => this.#running.has(queued) && queued.attempt?.end('hung'), cancelTimeoutMs).unref()
    queued.reject(queued.signal.reason)
  }
}
