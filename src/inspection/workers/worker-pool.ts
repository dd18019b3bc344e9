import { readFileSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { overloaded } from '../../platform/errors/errors.js'
import { megabyte } from '../../platform/units.js'
import { FairQueue } from './fair-queue.js'
import { Processes } from './processes.js'
import type { Sandbox } from './sandbox.js'
import { Threads } from './threads.js'
import { type Attempt, type Task, TaskError, WorkerFailed, WorkerNotStarted } from './work.js'

export interface WorkerPoolOptions {
  /** Maximum number of concurrent tasks, in threads and processes. Defaults to the number of CPU cores. */
  workers: number
  /** Maximum number of waiting tasks. If the queue is full, the task that `FairQueue` drops fails with `overloaded`. */
  maxQueue: number
  memoryMb: number
  /** Combined memory limit for all processes that run native code. Defaults to half of the machine's or container's memory. */
  processMemoryMb: number
  idleMs: number
  /** Sandbox for the worker processes. The pool closes it. Without a sandbox, they have the same access as the service. */
  sandbox: Promise<Sandbox | undefined>
}

const startTimeoutMs = 30_000
const startPollMs = 50
/** Time that a cancelled task has to reach its next step before its worker is terminated. */
const cancelTimeoutMs = 5_000
const maxAttempts = 2
/** Memory for decoding the largest image that is not rejected as a decompression bomb. */
const maxImageMb = 1024
const closingMessage = 'The service is shutting down. Send the file again.'

interface QueuedTask extends Task {
  attempts: number
  startedAt: number
  /** True if the task must run while no other process is working, because its first attempt ran out of memory. */
  exclusive: boolean
  signal: AbortSignal
  attempt?: Attempt
  resolve(result: unknown): void
  reject(error: unknown): void
}

/**
 * Returns the memory limit in bytes: the memory of the machine, or the lowest limit of the service's control group and the groups
 * that contain it. Node.js reads only the limit of the group itself.
 */
export function getMemoryLimit({ cgroupFile = '/proc/self/cgroup', cgroupRoot = '/sys/fs/cgroup' } = {}): number {
  const limits = [totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY]
  let group = /^0::(\/.*)$/m.exec(readText(cgroupFile))?.[1]
  while (group !== undefined) {
    const limit = Number.parseInt(readText(join(cgroupRoot, group, 'memory.max')), 10)
    // Skip the value 'max', which is not a number and means that the group has no limit of its own.
    if (limit > 0) limits.push(limit)
    group = group === '/' ? undefined : dirname(group)
  }
  return Math.min(...limits)
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Runs tasks in threads, and native code in separate processes. If a worker dies or hangs, its task is retried once. */
export class WorkerPool {
  readonly #queue: FairQueue<QueuedTask>
  readonly threads: Threads
  readonly processes: Processes
  readonly #running = new Set<QueuedTask>()
  #closed = false

  constructor(options: Partial<WorkerPoolOptions> = {}) {
    const { workers = availableParallelism(), maxQueue = 256, memoryMb = 128, idleMs = 60_000 } = options
    const { sandbox = Promise.resolve(undefined), processMemoryMb = Math.floor(getMemoryLimit() / 2 / megabyte) } = options
    this.#queue = new FairQueue({ workers, maxLength: maxQueue })
    this.threads = new Threads({ maxThreads: workers, memoryMb, idleMs })
    this.processes = new Processes({
      maxProcesses: workers,
      memoryMb: processMemoryMb,
      memoryPerProcessMb: Math.min(maxImageMb, processMemoryMb),
      idleMs,
      sandbox,
    })
  }

  /** Runs a task. Rejects with `WorkerFailed`, `WorkerNotStarted`, `TaskError`, `overloaded`, or the signal's reason. */
  async run<T>(task: Task, signal: AbortSignal): Promise<T> {
    if (this.#closed) throw overloaded(closingMessage)
    signal.throwIfAborted()
    let onAbort = () => {}
    const result = new Promise<unknown>((resolve, reject) => {
      const queued = { ...task, attempts: 0, startedAt: 0, exclusive: false, signal, resolve, reject }
      onAbort = () => this.#abandonTask(queued)
      signal.addEventListener('abort', onAbort, { once: true })
      const displaced = this.#queue.add(queued)
      displaced?.reject(
        overloaded(`The service already has the maximum of ${this.#queue.length} files waiting for a worker. Retry later.`),
      )
      this.#dispatch()
    })
    return result.finally(() => signal.removeEventListener('abort', onAbort)) as Promise<T>
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const queued of [...this.#queue.clear(), ...this.#running]) queued.reject(overloaded(closingMessage))
    await Promise.all([this.threads.close(), this.processes.close()])
  }

  #dispatch(): void {
    for (let next = this.#queue.dequeue(); next; next = this.#queue.dequeue()) void this.#runAttempt(next)
  }

  async #runAttempt(queued: QueuedTask): Promise<void> {
    queued.attempts++
    queued.startedAt ||= performance.now()
    this.#running.add(queued)
    queued.attempt = queued.inProcess ? this.processes.startAttempt(queued, queued.exclusive) : this.threads.startAttempt(queued)
    const stopTimer = this.#enforceDeadline(queued, queued.attempt)
    try {
      const answer = await queued.attempt.answer
      if ('result' in answer) queued.resolve(answer.result)
      else queued.reject(new TaskError(answer.fault))
      this.#releaseTask(queued)
    } catch (error) {
      this.#releaseTask(queued)
      const begun = queued.attempt.startedAt() !== undefined
      this.#retryOrReject(
        queued,
        error instanceof WorkerFailed && !begun ? new WorkerNotStarted('a worker failed to start') : error,
      )
    } finally {
      stopTimer()
      this.#dispatch()
    }
  }

  #releaseTask(queued: QueuedTask): void {
    this.#running.delete(queued)
    this.#queue.release(queued)
  }

  /** Ends a task that exceeds its deadline. The time that the worker needs to start does not count. */
  #enforceDeadline(queued: QueuedTask, attempt: Attempt): () => void {
    const startedAt = performance.now()
    let timer: NodeJS.Timeout
    const checkDeadline = () => {
      const begun = attempt.startedAt()
      const until = begun === undefined ? startedAt + startTimeoutMs : begun + queued.deadlineMs
      const left = until - performance.now()
      if (left <= 0) attempt.end('hung')
      else timer = setTimeout(checkDeadline, Math.min(left, begun === undefined ? startPollMs : 0x7fffffff))
    }
    checkDeadline()
    return () => clearTimeout(timer)
  }

  #retryOrReject(queued: QueuedTask, error: unknown): void {
    if (queued.signal.aborted || this.#closed) return
    const again =
      error instanceof WorkerNotStarted || (error instanceof WorkerFailed && (error.failure !== 'hung' || queued.retryHung))
    if (again && queued.attempts < maxAttempts) {
      queued.exclusive = error instanceof WorkerFailed && error.failure === 'out_of_memory'
      Object.assign(queued, queued.retry)
      this.#queue.requeue(queued)
      return
    }
    const durationMs = Math.round(performance.now() - queued.startedAt)
    queued.reject(error instanceof WorkerFailed ? new WorkerFailed(error.failure, durationMs) : error)
  }

  /** Rejects a cancelled task immediately. Its worker stops at the next step of the task, or is terminated. */
  #abandonTask(queued: QueuedTask): void {
    this.#queue.remove(queued)
    queued.attempt?.cancel()
    if (this.#running.has(queued))
      setTimeout(() => this.#running.has(queued) && queued.attempt?.end('hung'), cancelTimeoutMs).unref()
    queued.reject(queued.signal.reason)
  }
}
