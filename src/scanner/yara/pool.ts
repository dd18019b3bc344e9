import type { Content } from '../../body/content.js'
import { overloaded, scannerUnavailable } from '../../errors.js'
import type { ScannerLogger } from '../logger.js'
import type { ScanVerdict } from '../virus-scanner.js'
import { FaultyRules } from './engine.js'
import { LeavingWorkers } from './leaving-workers.js'
import type { WorkerAnswer, WorkerJob } from './messages.js'
import { ScanProcess, ScanThread, type ScanWorker, type Setup } from './scan-worker.js'

export interface PoolOptions {
  setup: Setup
  workers: number
  /** Each in a process of its own, which can be ended whatever it does. */
  apart: boolean
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
  worker: ScanWorker
  /** It has compiled its rules. */
  ready: boolean
  task: Task | undefined
  jobId: number
  /** The deadline of a task, of starting, or of having nothing to do. */
  timer: NodeJS.Timeout | undefined
  ended: boolean
}

const startMs = 30_000
/** A scan that nobody waits for any more may take so long to its next step. */
const cancelMs = 5_000

/**
 * A bounded pool of workers that scan, one upload each. A worker that dies or hangs takes only its own upload with it, and is replaced. A
 * thread that cannot be ended is replaced as well, but not without end: there are never more than twice as many as `workers`.
 */
export class YaraPool {
  readonly #options: PoolOptions
  readonly #members = new Set<Member>()
  readonly #leaving = new LeavingWorkers(() => this.#dispatch())
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
    this.#add()
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
    for (const member of this.#members) this.#end(member, reason)
    await this.#leaving.gone()
  }

  #dispatch(): void {
    while (this.#waiting.length > 0) {
      const free = [...this.#members].find((member) => !member.task)
      if (!free && !this.#mayStart()) {
        if (this.#members.size === 0 && this.#leaving.allHang) this.#refuse()
        return
      }
      this.#give(free ?? this.#add(), this.#waiting.shift()!)
    }
  }

  #mayStart(): boolean {
    const { workers } = this.#options
    return this.#members.size < workers && this.#members.size + this.#leaving.size < 2 * workers
  }

  #refuse(): void {
    const count = this.#leaving.size
    for (const task of this.#waiting.splice(0))
      task.reject(scannerUnavailable(`${count} scan workers hang and cannot be ended; the service should be restarted.`))
  }

  #give(member: Member, task: Task): void {
    member.task = task
    member.jobId = ++this.#lastJob % 0x7fffffff
    task.attempts++
    const { size, bytes, path } = task.content
    const job: WorkerJob = { id: member.jobId, size, ...(path === undefined ? { bytes: bytes ?? Buffer.alloc(0) } : { path }) }
    member.worker.ref()
    member.worker.send(job)
    if (member.ready) this.#watch(member, task)
  }

  #watch(member: Member, task: Task): void {
    const ms = this.#options.deadlineOf(task.content.size)
    clearTimeout(member.timer)
    member.timer = setTimeout(() => this.#hung(member, ms), ms)
  }

  #add(): Member {
    const { setup, apart, workerUrl } = this.#options
    const owner = {
      hear: (answer: WorkerAnswer) => this.#hear(member, answer),
      lost: (how: string) => this.#lost(member, how),
    }
    const worker = apart ? new ScanProcess(setup, owner) : new ScanThread(setup, owner, workerUrl)
    const member: Member = { worker, ready: false, task: undefined, jobId: 0, timer: undefined, ended: false }
    member.timer = setTimeout(() => this.#lost(member, `it was not ready within ${startMs} ms`), startMs)
    this.#members.add(member)
    return member
  }

  #hear(member: Member, answer: WorkerAnswer): void {
    if (member.ended) return
    if (answer.kind === 'ready') {
      this.#facts = { version: answer.version, rules: answer.rules }
      this.#starting?.resolve(this.#facts)
      this.#starting = undefined
      member.ready = true
      if (!member.task) this.#rest(member)
      else if (!member.task.signal.aborted) this.#watch(member, member.task)
    } else if (answer.kind === 'faulty-rules') {
      const fault = new FaultyRules(answer.message)
      this.#starting?.reject(fault)
      this.#end(member, scannerUnavailable(fault.message, fault))
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

  /** The caller hears at once; the worker stops at its next step, or is ended. */
  #abort(task: Task): void {
    const at = this.#waiting.indexOf(task)
    if (at >= 0) this.#waiting.splice(at, 1)
    const member = [...this.#members].find((each) => each.task === task)
    if (member) {
      member.worker.cancel(member.jobId)
      clearTimeout(member.timer)
      member.timer = setTimeout(() => this.#hung(member, cancelMs), cancelMs)
    }
    task.reject(task.signal.reason)
  }

  /** Not tried again: what takes that long mostly takes as long the next time, and the next upload waits. */
  #hung(member: Member, ms: number): void {
    member.task?.reject(scannerUnavailable(`The scan was given up: it took longer than ${ms} ms.`))
    member.task = undefined
    this.#lost(member, `a scan took longer than ${ms} ms`)
  }

  /** An idle worker neither keeps the process alive nor stays for ever. */
  #rest(member: Member): void {
    clearTimeout(member.timer)
    member.worker.unref()
    member.timer = setTimeout(() => this.#end(member), this.#options.idleMs).unref()
  }

  #lost(member: Member, how: string): void {
    if (member.ended) return
    const { task } = member
    member.task = undefined
    this.#options.logger?.warn({ reason: how }, 'a scan worker was lost')
    this.#starting?.reject(scannerUnavailable(`The scan worker could not be started: ${how}.`))
    this.#end(member)
    if (task && !task.signal.aborted) {
      if (task.attempts < 2 && !this.#closed) this.#waiting.unshift(task)
      else task.reject(scannerUnavailable(`The scan worker was lost over this file, twice: ${how}.`))
    }
    this.#dispatch()
  }

  #end(member: Member, reason?: Error): void {
    const { worker } = member
    member.ended = true
    clearTimeout(member.timer)
    this.#members.delete(member)
    member.task?.reject(reason)
    this.#leaving.add(worker)
  }
}
