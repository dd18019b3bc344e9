import { tmpdir } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { compiledModule } from '../../platform/compiled-module.js'
import type { ThreadTask } from './thread-program.js'
import { type Answer, type Attempt, minBlockBytes, NotStarted, type Work, WorkerFailed, type WorkerFailure } from './work.js'

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
  /** At most one for each thread. See `#copied`. */
  readonly #blocks: ArrayBuffer[] = []

  constructor({ most, memoryMb, idleMs }: ThreadsOptions) {
    this.#most = most
    this.#piscina = new Piscina({
      filename: fileURLToPath(compiledModule('inspection/workers/thread-program')),
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
    this.#piscina.on('message', (block: ArrayBuffer) => void (this.#blocks.length < most && this.#blocks.push(block)))
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
    const bytes = this.#copied(content)
    return this.#piscina.run({ ...task, bytes }, { signal, transferList: [bytes.buffer] })
  }

  /**
   * A copy in a block that the thread owns until it sends it back. With a new block for each content, V8 marked the heaps of both threads
   * again and again. The block of a thread that dies is lost.
   */
  #copied(content: Uint8Array): Uint8Array<ArrayBuffer> {
    const spare = content.length < minBlockBytes ? undefined : this.#blocks.pop()
    const block = spare && spare.byteLength >= content.length ? spare : new ArrayBuffer(content.length)
    const bytes = new Uint8Array(block, 0, content.length)
    bytes.set(content)
    return bytes
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
