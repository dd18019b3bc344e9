import { availableParallelism } from 'node:os'
import { overloaded } from '../../platform/errors/errors.js'
import { megabyte } from '../../platform/units.js'
import { FairQueue } from './fair-queue.js'
import { memoryLimit } from './memory-limit.js'
import { Processes } from './processes.js'
import type { Sandbox } from './sandbox.js'
import { Threads } from './threads.js'
import { type Attempt, type Work, WorkError, WorkerFailed, WorkerNotStarted } from './work.js'

export interface WorkerPoolOptions {
  /** Maximum number of tasks that run at the same time, in threads and processes. Default: number of cores. */
  workers: number
  /** Maximum number of waiting tasks. If it is exceeded, the latest task of the owner with the longest queue fails with `overloaded`. */
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
/** Time that a cancelled task has to reach its next step. */
const cancelTimeoutMs = 5_000
const maxAttempts = 2
/** Memory to decode the largest image that is not treated as a decompression bomb. */
const maxImageMb = 1024
const closingMessage = 'The service is shutting down. Send the file again.'

interface Task {
  work: Work
  owner: string | undefined
  size: number
  attempts: number
  startedAt: number
  /** True if the task must run while no other process works, because it exceeded the memory limit together with others. */
  exclusive: boolean
  signal: AbortSignal
  attempt?: Attempt
  resolve(result: unknown): void
  reject(error: unknown): void
}

/** Threads, and processes for native code. If one dies or hangs, only its own task is affected and retried once. */
export class WorkerPool {
  readonly #queue: FairQueue<Task>
  readonly #threads: Threads
  readonly #processes: Processes
  readonly #running = new Set<Task>()
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

  /** Resolves to the result of the function. Rejects with `WorkerFailed`, `WorkerNotStarted`, `WorkError`, `overloaded` or the reason of the signal. */
  run<T>(work: Work, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(overloaded(closingMessage))
      if (signal.aborted) return reject(signal.reason)
      const onAbort = () => this.#abandon(task)
      const settled =
        <V>(settle: (value: V) => void) =>
        (value: V) => {
          signal.removeEventListener('abort', onAbort)
          settle(value)
        }
      const task: Task = {
        work,
        owner: work.owner,
        size: work.size,
        attempts: 0,
        startedAt: 0,
        exclusive: false,
        signal,
        resolve: settled(resolve as (result: unknown) => void),
        reject: settled(reject),
      }
      signal.addEventListener('abort', onAbort, { once: true })
      const displaced = this.#queue.add(task)
      displaced?.reject(overloaded(`${this.#queue.length} files are waiting for a worker, which is the maximum. Retry later.`))
      this.#dispatch()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const task of [...this.#queue.clear(), ...this.#running]) task.reject(overloaded(closingMessage))
    await Promise.all([this.#threads.close(), this.#processes.close()])
  }

  #dispatch(): void {
    for (let next = this.#queue.next(); next; next = this.#queue.next()) void this.#attempt(next)
  }

  async #attempt(task: Task): Promise<void> {
    const { work } = task
    task.attempts++
    task.startedAt ||= performance.now()
    this.#running.add(task)
    task.attempt = work.inProcess ? this.#processes.attempt(work, task.exclusive) : this.#threads.attempt(work)
    const stopTimer = this.#enforceDeadline(task, task.attempt)
    try {
      const answer = await task.attempt.answer
      if ('result' in answer) task.resolve(answer.result)
      else task.reject(new WorkError(answer.fault))
      this.#release(task)
    } catch (error) {
      this.#release(task)
      const begun = task.attempt.startedAt() !== undefined
      this.#retryOrReject(task, error instanceof WorkerFailed && !begun ? new WorkerNotStarted('a worker does not start') : error)
    } finally {
      stopTimer()
      this.#dispatch()
    }
  }

  #release(task: Task): void {
    this.#running.delete(task)
    this.#queue.release(task)
  }

  /** Ends a task that exceeds its deadline. The start of a worker does not count. */
  #enforceDeadline(task: Task, attempt: Attempt): () => void {
    const startedAt = performance.now()
    let timer: NodeJS.Timeout
    const check = () => {
      const begun = attempt.startedAt()
      const until = begun === undefined ? startedAt + startTimeoutMs : begun + task.work.deadlineMs
      const left = until - performance.now()
      if (left <= 0) attempt.end('hung')
      else timer = setTimeout(check, Math.min(left, begun === undefined ? startPollMs : 0x7fffffff))
    }
    check()
    return () => clearTimeout(timer)
  }

  #retryOrReject(task: Task, error: unknown): void {
    if (task.signal.aborted || this.#closed) return
    const again =
      error instanceof WorkerNotStarted || (error instanceof WorkerFailed && (error.failure !== 'hung' || task.work.retryHung))
    if (again && task.attempts < maxAttempts) {
      task.exclusive = error instanceof WorkerFailed && error.failure === 'out_of_memory'
      task.work = { ...task.work, ...task.work.retry }
      this.#queue.requeue(task)
      return
    }
    const durationMs = Math.round(performance.now() - task.startedAt)
    task.reject(error instanceof WorkerFailed ? new WorkerFailed(error.failure, durationMs) : error)
  }

  /** Rejects immediately. The worker stops at the next step of the task, or is terminated. */
  #abandon(task: Task): void {
    this.#queue.remove(task)
    task.attempt?.cancel()
    if (this.#running.has(task)) setTimeout(() => this.#running.has(task) && task.attempt?.end('hung'), cancelTimeoutMs).unref()
    task.reject(task.signal.reason)
  }
}
