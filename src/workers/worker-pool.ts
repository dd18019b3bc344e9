import { type MessagePort, Worker } from 'node:worker_threads'
import { overloaded } from '../errors.js'
import type { Findings, Job, WorkerFailure } from '../validation/findings.js'
import type { WorkerSettings } from '../validation/validation-worker.js'
import { ImageProcesses } from './image-processes.js'
import { ValidationQueue } from './validation-queue.js'

export interface PoolOptions {
  workers: number
  /** Uploads that may wait; of more, the latest of whoever has the most waiting are `overloaded`. */
  maxQueue: number
  /** Of each worker's JavaScript heap. */
  memoryMb: number
  /** After this time without work a worker is ended, which gives its memory back. */
  idleMs: number
  /** What a worker may take beyond the readers' own deadline before it counts as hung. */
  graceMs: number
  settings: WorkerSettings
  /** What a process that decodes images may hold. */
  imageMemoryMb: number
  /** URL of a module whose export `decodeImage` stands in for libvips. */
  decoderModule?: string
}

const closing = 'The service is shutting down; send the file again.'

interface Task {
  job: Job
  attempts: number
  startedAt: number
  signal: AbortSignal
  settle: (outcome: Findings | WorkerFailure) => void
  fail: (error: unknown) => void
  unlisten: () => void
}

type Message = { findings: Findings } | { error: string } | { began: true } | { images: MessagePort }

interface Seat {
  worker: Worker
  /** Ends the process in which native code decodes the images that the worker looks at, once there is one. */
  endImages?: () => void
  task?: Task
  timer?: NodeJS.Timeout
  /** Why it ended, where that is known before it exits. */
  reason?: WorkerFailure['failure']
}

/**
 * A few worker threads that look at files, one each at a time, with a child process each for native code once there is an image.
 * A worker or a process that dies or hangs is replaced together with the other, its file tried once more.
 */
export class WorkerPool {
  private readonly seats = new Set<Seat>()
  private readonly queue: ValidationQueue<Task>
  private readonly images: ImageProcesses
  private closed = false

  constructor(private readonly options: PoolOptions) {
    const { workers, maxQueue, imageMemoryMb, idleMs, decoderModule } = options
    this.queue = new ValidationQueue({ workers, maxLength: maxQueue })
    this.images = new ImageProcesses({ memoryMb: imageMemoryMb, idleMs, ...(decoderModule && { decoderModule }) })
  }

  /** Workers that are alive now. */
  get size(): number {
    return this.seats.size
  }

  /** Processes that decode images and are alive now. */
  get imageProcesses(): number[] {
    return this.images.pids
  }

  run(job: Job, signal: AbortSignal): Promise<Findings | WorkerFailure> {
    return new Promise((resolve, reject) => {
      if (this.closed) return reject(overloaded(closing))
      if (signal.aborted) return reject(signal.reason)
      const abandon = () => {
        this.queue.remove(task)
        reject(signal.reason)
      }
      const unlisten = () => signal.removeEventListener('abort', abandon)
      const task: Task = { job, attempts: 0, startedAt: 0, signal, settle: resolve, fail: reject, unlisten }
      signal.addEventListener('abort', abandon, { once: true })
      const refused = this.queue.add(task)
      if (refused) this.refuse(refused, `${this.queue.length} files wait to be validated, and no more may; try again shortly.`)
      this.dispatch()
    })
  }

  async close(): Promise<void> {
    this.closed = true
    for (const task of this.queue.clear()) this.refuse(task, closing)
    await Promise.all([...this.seats].map((seat) => this.end(seat)))
    await this.images.close()
  }

  private dispatch(): void {
    for (let next = this.queue.next(); next; next = this.queue.next()) {
      const seat = [...this.seats].find((candidate) => !candidate.task && !candidate.reason) ?? this.start()
      this.assign(seat, next)
    }
  }

  private refuse(task: Task, why: string): void {
    task.unlisten()
    task.fail(overloaded(why))
  }

  private start(): Seat {
    const worker = new Worker(workerUrl, {
      workerData: this.options.settings,
      resourceLimits: { maxOldGenerationSizeMb: this.options.memoryMb, maxYoungGenerationSizeMb: 16 },
      // Readers that complain on the console would fill the service's log with other people's files.
      stdout: true,
      stderr: true,
    })
    worker.stdout.resume()
    worker.stderr.resume()
    const seat: Seat = { worker }
    this.seats.add(seat)
    worker.on('message', (message: Message) => this.heard(seat, message))
    worker.on('error', (error: Error & { code?: string }) => {
      seat.reason ??= error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out_of_memory' : 'died'
    })
    worker.on('exit', () => this.exited(seat))
    return seat
  }

  private assign(seat: Seat, task: Task) {
    seat.task = task
    task.attempts++
    task.startedAt = performance.now()
    seat.worker.ref()
    this.watch(seat, task)
    const { bytes } = task.job
    if (!bytes) return seat.worker.postMessage(task.job)
    // A Buffer may be a view of a larger pool, which would be sent whole: what is sent is a copy of its own.
    const copy = new Uint8Array(bytes)
    seat.worker.postMessage({ ...task.job, bytes: copy }, [copy.buffer])
  }

  /** Gives the check that starts now its time. */
  private watch(seat: Seat, task: Task): void {
    this.arm(seat, task.job.deadlineMs + this.options.graceMs, () => this.fell(seat, 'hung'))
  }

  private heard(seat: Seat, message: Message) {
    const task = seat.task
    if (!task) return
    if ('began' in message) return this.watch(seat, task)
    if ('images' in message) return this.serveImages(seat, message.images)
    this.release(seat)
    task.unlisten()
    if ('error' in message) task.fail(new Error(`validation failed: ${message.error}`))
    else task.settle(message.findings)
    // It is being ended, and whoever ends it waits for that: it goes on keeping the process alive.
    if (seat.reason) return this.dispatch()
    this.arm(seat, this.options.idleMs, () => void this.end(seat))
    // An idle worker does not keep the process alive.
    seat.worker.unref()
    seat.timer?.unref()
    this.dispatch()
  }

  /** The worker has met its first image: from here it asks the process itself, and we hear of what goes wrong. */
  private serveImages(seat: Seat, port: MessagePort): void {
    seat.endImages = this.images.serve(port, {
      began: () => {
        if (seat.task && !seat.reason) this.watch(seat, seat.task)
      },
      fell: (failure) => this.fell(seat, failure),
      failed: (error) => {
        const { task } = seat
        // Once more, as with a process that died over its image; then it is told, and no image blamed.
        if (task && task.attempts >= 2) {
          this.release(seat)
          task.unlisten()
          task.fail(error)
        }
        this.fell(seat, 'died')
      },
    })
  }

  /** Ends a seat whose worker or process went wrong; its file is tried once more. */
  private fell(seat: Seat, reason: WorkerFailure['failure']): void {
    seat.reason ??= reason
    void this.end(seat)
  }

  private exited(seat: Seat): void {
    clearTimeout(seat.timer)
    this.seats.delete(seat)
    this.endImages(seat)
    const task = this.release(seat)
    if (task) this.retry(task, seat.reason ?? 'died')
    if (!this.closed) this.dispatch()
  }

  private release(seat: Seat): Task | undefined {
    const { task } = seat
    seat.task = undefined
    if (task) this.queue.ended(task)
    return task
  }

  private retry(task: Task, failure: WorkerFailure['failure']) {
    if (task.signal.aborted) return
    if (this.closed) return this.refuse(task, closing)
    if (task.attempts < 2) return this.queue.addAgain(task)
    task.unlisten()
    task.settle({ failure, durationMs: Math.round(performance.now() - task.startedAt) })
  }

  private arm(seat: Seat, ms: number, then: () => void): void {
    clearTimeout(seat.timer)
    seat.timer = setTimeout(then, ms)
  }

  private async end(seat: Seat): Promise<void> {
    clearTimeout(seat.timer)
    seat.reason ??= 'died'
    this.endImages(seat)
    await seat.worker.terminate()
  }

  private endImages(seat: Seat): void {
    seat.endImages?.()
    seat.endImages = undefined
  }
}

// Workers are started from compiled code, also where this file itself runs from its source (under jest).
const workerUrl = new URL(
  import.meta.url.replace('/src/', '/dist/').replace(/workers\/worker-pool\.(ts|js)$/, 'validation/validation-worker.js'),
)
