import { availableParallelism } from 'node:os'
import { overloaded } from '../../platform/errors/errors.js'
import { megabyte } from '../../platform/units.js'
import { FairQueue } from './fair-queue.js'
import { memoryLimit } from './memory-limit.js'
import { Processes } from './processes.js'
import type { Sandbox } from './sandbox.js'
import { Threads } from './threads.js'
import { type Attempt, NotStarted, type Work, WorkerFailed, WorkFault } from './work.js'

export interface WorkerPoolOptions {
  /** Works done at once, in threads and processes together; as many as there are cores by default. */
  workers: number
  /** Works that may wait; of more, the latest of the owner with the most waiting are `overloaded`. */
  maxQueue: number
  memoryMb: number
  /** Of all processes for native code together; half of what the machine or the container has by default. */
  processMemoryMb: number
  idleMs: number
  /** In which processes run, and theirs to close; without one they see what the service sees. */
  sandbox: Promise<Sandbox | undefined>
}

const startMs = 30_000
const lookMs = 50
/** What is not wanted any more may take so long to its next step. */
const cancelMs = 5_000
const attempts = 2
/** Holds the widest image that is not yet a pixel flood. */
const oneImageMb = 1024
const closing = 'The service is shutting down; send the file again.'

interface Task {
  work: Work
  owner: string | undefined
  size: number
  attempts: number
  begunAt: number
  /** It is to be done while no other process works: it took too much memory beside others. */
  alone: boolean
  signal: AbortSignal
  attempt?: Attempt
  resolve(result: unknown): void
  reject(error: unknown): void
}

/** Threads, and processes for native code. What dies or hangs takes only its own work with it, which is tried once more. */
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
    this.#threads = new Threads({ most: workers, memoryMb, idleMs })
    const memoryEachMb = Math.min(oneImageMb, processMemoryMb)
    this.#processes = new Processes({ most: workers, memoryMb: processMemoryMb, memoryEachMb, idleMs, sandbox })
  }

  get threads(): number {
    return this.#threads.size
  }

  get processes(): number[] {
    return this.#processes.pids
  }

  /** What the work's function returns. Rejects with `WorkerFailed`, `NotStarted`, `WorkFault`, `overloaded` or the signal's reason. */
  run<T>(work: Work, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(overloaded(closing))
      if (signal.aborted) return reject(signal.reason)
      const abandoned = () => this.#abandon(task)
      const settled =
        <V>(settle: (value: V) => void) =>
        (value: V) => {
          signal.removeEventListener('abort', abandoned)
          settle(value)
        }
      const task: Task = {
        work,
        owner: work.owner,
        size: work.size,
        attempts: 0,
        begunAt: 0,
        alone: false,
        signal,
        resolve: settled(resolve as (result: unknown) => void),
        reject: settled(reject),
      }
      signal.addEventListener('abort', abandoned, { once: true })
      const refused = this.#queue.add(task)
      refused?.reject(overloaded(`${this.#queue.length} files wait for a worker, and no more may; try again shortly.`))
      this.#dispatch()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const task of [...this.#queue.clear(), ...this.#running]) task.reject(overloaded(closing))
    await Promise.all([this.#threads.close(), this.#processes.close()])
  }

  #dispatch(): void {
    for (let next = this.#queue.next(); next; next = this.#queue.next()) void this.#attempt(next)
  }

  async #attempt(task: Task): Promise<void> {
    const { work } = task
    task.attempts++
    task.begunAt ||= performance.now()
    this.#running.add(task)
    task.attempt = work.apart ? this.#processes.attempt(work, task.alone) : this.#threads.attempt(work)
    const unwatch = this.#watch(task, task.attempt)
    try {
      const answer = await task.attempt.answer
      if ('result' in answer) task.resolve(answer.result)
      else task.reject(new WorkFault(answer.fault))
      this.#over(task)
    } catch (error) {
      this.#over(task)
      const begun = task.attempt.begunAt() !== undefined
      this.#failed(task, error instanceof WorkerFailed && !begun ? new NotStarted('a worker does not start') : error)
    } finally {
      unwatch()
      this.#dispatch()
    }
  }

  #over(task: Task): void {
    this.#running.delete(task)
    this.#queue.ended(task)
  }

  /** Ends what takes longer than it may, counted from its begin: the start of a worker is not the work's time. */
  #watch(task: Task, attempt: Attempt): () => void {
    const startedAt = performance.now()
    let timer: NodeJS.Timeout
    const look = () => {
      const begun = attempt.begunAt()
      const until = begun === undefined ? startedAt + startMs : begun + task.work.deadlineMs
      const left = until - performance.now()
      if (left <= 0) attempt.end('hung')
      else timer = setTimeout(look, Math.min(left, begun === undefined ? lookMs : 0x7fffffff))
    }
    look()
    return () => clearTimeout(timer)
  }

  #failed(task: Task, error: unknown): void {
    if (task.signal.aborted || this.#closed) return
    const again =
      error instanceof NotStarted || (error instanceof WorkerFailed && (error.failure !== 'hung' || task.work.retryHung))
    if (again && task.attempts < attempts) {
      task.alone = error instanceof WorkerFailed && error.failure === 'out_of_memory'
      task.work = { ...task.work, ...task.work.again }
      this.#queue.addAgain(task)
      return
    }
    const durationMs = Math.round(performance.now() - task.begunAt)
    task.reject(error instanceof WorkerFailed ? new WorkerFailed(error.failure, durationMs) : error)
  }

  /** The caller hears at once; the worker stops at its next step, or is ended. */
  #abandon(task: Task): void {
    this.#queue.remove(task)
    task.attempt?.cancel()
    if (this.#running.has(task)) setTimeout(() => this.#running.has(task) && task.attempt?.end('hung'), cancelMs).unref()
    task.reject(task.signal.reason)
  }
}
