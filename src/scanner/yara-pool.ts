import { Worker } from 'node:worker_threads'
import type { Content } from '../content.js'
import { overloaded, scannerUnavailable } from '../errors.js'
import type { ScannerLogger } from './logger.js'
import type { ScanVerdict } from './virus-scanner.js'
import { FaultyRules } from './yara-engine.js'
import type { WorkerAnswer, WorkerJob, WorkerSetup } from './yara-messages.js'

export interface PoolOptions {
  setup: Omit<WorkerSetup, 'cancelled'>
  workers: number
  /** Uploads that may wait for a worker. */
  maxWaiting: number
  /** Milliseconds for a content of so many bytes. */
  deadlineOf(size: number): number
  /** A worker without work is ended after so many milliseconds. */
  idleMs: number
  logger?: ScannerLogger | undefined
  /** Only for tests of what happens when a worker dies. */
  workerUrl?: URL
}

export interface EngineFacts {
  version: string
  rules: number
}

interface Task {
  content: Content
  signal: AbortSignal
  attempts: number
  resolve(verdict: ScanVerdict): void
  reject(reason: unknown): void
}

interface Member {
  worker: Worker
  cancelled: Int32Array
  task: Task | undefined
  jobId: number
  /** The deadline of a task, or of having nothing to do. */
  timer: NodeJS.Timeout | undefined
  ended: boolean
}

// Worker threads are started from compiled code, also where a test runs the source.
const compiled = new URL('./yara-worker.js', import.meta.url.replace('/src/', '/dist/'))
const heapMegabytes = 96
const startMs = 30_000

/** A bounded pool of worker threads that scan, one upload each. A worker that dies or hangs takes only its own upload with it. */
export class YaraPool {
  readonly #options: PoolOptions
  readonly #members = new Set<Member>()
  readonly #waiting: Task[] = []
  #lastJob = 0
  #closed = false
  #facts: EngineFacts | undefined
  #starting: { resolve(facts: EngineFacts): void; reject(reason: unknown): void } | undefined

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Starts the first worker: rules that do not compile throw `FaultyRules`. */
  async start(): Promise<EngineFacts> {
    if (this.#facts) return this.#facts
    const member = this.#add()
    member.timer = setTimeout(() => this.#lost(member, `it was not ready within ${startMs} ms`), startMs)
    return new Promise((resolve, reject) => {
      this.#starting = { resolve, reject }
    })
  }

  run(content: Content, signal: AbortSignal): Promise<ScanVerdict> {
    if (this.#closed) return Promise.reject(scannerUnavailable('The scanner is being closed.'))
    if (signal.aborted) return Promise.reject(signal.reason)
    if (this.#waiting.length >= this.#options.maxWaiting) {
      return Promise.reject(overloaded('Too many files wait to be scanned; try again in a moment.'))
    }
    return new Promise((resolve, reject) => {
      const aborted = () => this.#abort(task)
      const done = () => signal.removeEventListener('abort', aborted)
      const task: Task = {
        content,
        signal,
        attempts: 0,
        resolve: (verdict) => {
          done()
          resolve(verdict)
        },
        reject: (reason) => {
          done()
          reject(reason)
        },
      }
      signal.addEventListener('abort', aborted, { once: true })
      this.#waiting.push(task)
      this.#dispatch()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    const reason = scannerUnavailable('The scanner is being closed.')
    for (const task of this.#waiting.splice(0)) task.reject(reason)
    await Promise.all([...this.#members].map((member) => this.#end(member, reason)))
  }

  #dispatch(): void {
    while (this.#waiting.length > 0) {
      const free = [...this.#members].find((member) => !member.task)
      if (!free && this.#members.size >= this.#options.workers) return
      this.#give(free ?? this.#add(), this.#waiting.shift()!)
    }
  }

  #give(member: Member, task: Task): void {
    member.task = task
    member.jobId = ++this.#lastJob % 0x7fffffff
    task.attempts++
    const { size, bytes, path } = task.content
    const job: WorkerJob = { id: member.jobId, size, ...(path === undefined ? { bytes: bytes ?? Buffer.alloc(0) } : { path }) }
    member.worker.ref()
    member.worker.postMessage(job)
    const ms = this.#options.deadlineOf(size)
    clearTimeout(member.timer)
    member.timer = setTimeout(() => this.#lost(member, `it took longer than ${ms} ms`), ms)
  }

  #add(): Member {
    const cancelled = new SharedArrayBuffer(4)
    const worker = new Worker(this.#options.workerUrl ?? compiled, {
      workerData: { ...this.#options.setup, cancelled } satisfies WorkerSetup,
      resourceLimits: { maxOldGenerationSizeMb: heapMegabytes, maxYoungGenerationSizeMb: 8 },
      // Nothing of the environment is its business; nor are the flags that a test runner was started with.
      env: {},
      execArgv: [],
    })
    const member: Member = {
      worker,
      cancelled: new Int32Array(cancelled),
      task: undefined,
      jobId: 0,
      timer: undefined,
      ended: false,
    }
    worker.on('message', (answer: WorkerAnswer) => this.#hear(member, answer))
    worker.on('error', (error) => this.#lost(member, error.message))
    worker.on('exit', (code) => this.#lost(member, `it ended with status ${code}`))
    this.#members.add(member)
    return member
  }

  #hear(member: Member, answer: WorkerAnswer): void {
    if (answer.kind === 'ready') {
      this.#facts = { version: answer.version, rules: answer.rules }
      this.#starting?.resolve(this.#facts)
      this.#starting = undefined
      if (!member.task) this.#rest(member)
    } else if (answer.kind === 'faulty-rules') {
      const fault = new FaultyRules(answer.message)
      this.#starting?.reject(fault)
      void this.#end(member, scannerUnavailable(fault.message, fault))
    } else if (answer.id === member.jobId) {
      this.#answered(member, answer)
    }
  }

  #answered(member: Member, answer: Extract<WorkerAnswer, { id: number }>): void {
    const { task } = member
    member.task = undefined
    if (answer.kind === 'verdict') task?.resolve(answer.verdict)
    else if (task)
      task.reject(
        task.signal.aborted ? task.signal.reason : scannerUnavailable(`The file could not be scanned: ${answer.message}.`),
      )
    this.#rest(member)
    this.#dispatch()
  }

  /** The caller hears at once; the worker stops at its next step, or at the deadline. */
  #abort(task: Task): void {
    const at = this.#waiting.indexOf(task)
    if (at >= 0) this.#waiting.splice(at, 1)
    for (const member of this.#members) if (member.task === task) Atomics.store(member.cancelled, 0, member.jobId)
    task.reject(task.signal.reason)
  }

  /** An idle worker neither keeps the process alive nor stays for ever. */
  #rest(member: Member): void {
    clearTimeout(member.timer)
    member.worker.unref()
    member.timer = setTimeout(() => void this.#end(member), this.#options.idleMs).unref()
  }

  #lost(member: Member, how: string): void {
    if (member.ended) return
    const { task } = member
    member.task = undefined
    this.#options.logger?.warn({ reason: how }, 'a scan worker was lost')
    this.#starting?.reject(scannerUnavailable(`The scan worker could not be started: ${how}.`))
    void this.#end(member)
    if (task && !task.signal.aborted) {
      if (task.attempts < 2 && !this.#closed) this.#waiting.unshift(task)
      else task.reject(scannerUnavailable(`The scan worker was lost over this file, twice: ${how}.`))
    }
    this.#dispatch()
  }

  async #end(member: Member, reason?: Error): Promise<void> {
    member.ended = true
    clearTimeout(member.timer)
    this.#members.delete(member)
    member.task?.reject(reason)
    await member.worker.terminate()
  }
}
