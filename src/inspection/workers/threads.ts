import { tmpdir } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { compiled } from '../../platform/compiled.js'
import type { ThreadTask } from './thread-program.js'
import { type Answer, type Attempt, NotStarted, type Work, WorkerFailed, type WorkerFailure } from './work.js'

export interface ThreadsOptions {
  most: number
  memoryMb: number
  idleMs: number
}

const endMs = 2_000

/** Threads for what is JavaScript or WebAssembly, which can be interrupted at any time: Piscina's, each with one work at a time. */
export class Threads {
  readonly #most: number
  readonly #piscina: Piscina
  /** Threads that were asked to end, until they have. */
  readonly #leaving = new Map<Worker, Promise<void>>()

  constructor({ most, memoryMb, idleMs }: ThreadsOptions) {
    this.#most = most
    this.#piscina = new Piscina({
      filename: fileURLToPath(compiled('inspection/workers/thread-program')),
      name: 'runInThread',
      minThreads: 0,
      maxThreads: most,
      idleTimeout: idleMs,
      // Work waits for timers and files, which a thread that sleeps on an Atomic holds up.
      atomics: 'disabled',
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 16 },
      // Nothing of the environment is a worker's business but where temporary files go; nor are our Node options.
      env: { TMPDIR: tmpdir() },
      execArgv: [],
    })
    // A thread that fails without a work is replaced when one is wanted.
    this.#piscina.on('error', () => {})
  }

  get size(): number {
    return this.#piscina.threads.length
  }

  attempt(work: Work): Attempt {
    const ending = new AbortController()
    const shared = new Int32Array(new SharedArrayBuffer(8))
    const { module, run, data, settings } = work
    const task: ThreadTask = { module: module.href, run, data, settings, sentAt: Date.now(), shared }
    const sentAt = performance.now()
    let failure: WorkerFailure | undefined
    return {
      answer: this.#run(task, work.bytes, ending.signal).catch((error) => {
        throw error instanceof NotStarted ? error : new WorkerFailed(failure ?? failureOf(error))
      }),
      begunAt: () => {
        const begun = Atomics.load(shared, 0)
        return begun === 0 ? undefined : sentAt + begun - 1
      },
      cancel: () => void Atomics.store(shared, 1, 1),
      end: (why) => {
        failure = why
        this.#end(ending)
      },
    }
  }

  /** Resolves when all have ended but those that native code holds. */
  async close(): Promise<void> {
    await Promise.race([this.#piscina.destroy(), endTime()])
    await this.#left()
  }

  async #run(task: ThreadTask, content: Uint8Array | undefined, signal: AbortSignal): Promise<Answer> {
    await this.#room()
    if (!content) return this.#piscina.run(task, { signal })
    // A Buffer may be a view of a larger pool, which would be sent whole: what is sent is a copy of its own.
    const bytes = new Uint8Array(content)
    return this.#piscina.run({ ...task, bytes }, { signal, transferList: [bytes.buffer] })
  }

  /** A thread that cannot be ended is replaced, but not without end: there are never more than twice as many as there may be. */
  async #room(): Promise<void> {
    if (this.#leaving.size >= this.#most) await this.#left()
    if (this.#leaving.size >= this.#most)
      throw new NotStarted(`${this.#leaving.size} workers hang and cannot be ended; the service should be restarted`)
  }

  #end(ending: AbortController): void {
    const before = this.#piscina.threads
    ending.abort()
    const { threads } = this.#piscina
    const leaving = before.filter((each) => !threads.includes(each))
    for (const thread of leaving)
      this.#leaving.set(
        thread,
        new Promise((resolve) =>
          thread.once('exit', () => {
            this.#leaving.delete(thread)
            resolve()
          }),
        ),
      )
  }

  async #left(): Promise<void> {
    await Promise.race([Promise.all(this.#leaving.values()), endTime()])
  }
}

const endTime = () => setTimeout(endMs, undefined, { ref: false })

const failureOf = (error: Error & { code?: string }): WorkerFailure =>
  error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out_of_memory' : 'died'
