import { Worker } from 'node:worker_threads'
import { compiled } from '../compiled.js'
import { storageUnavailable } from '../errors/errors.js'
import type { DigestStep } from './digest-program.js'

export interface Digest {
  /** Bytes of shared memory, which must stay as they are until it resolves. */
  update(bytes: Uint8Array): Promise<void>
  /** In hexadecimal digits. */
  end(): Promise<string>
  drop(): void
}

const idleMs = 30_000
const limits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 1 }

interface Waiting {
  resolve(answer: string | undefined): void
  reject(error: Error): void
}

/** SHA-256 of what is long, by a thread, so that this one receives what comes next meanwhile. The thread ends when it is not needed. */
export class Digests {
  #thread: Thread | undefined
  #open = 0
  #last = 0
  #timer: NodeJS.Timeout | undefined

  begin(): Digest {
    const of = ++this.#last
    clearTimeout(this.#timer)
    const thread = this.#running()
    this.#open++
    let isOpen = true
    const close = () => {
      if (isOpen && --this.#open === 0) this.#timer = setTimeout(() => this.close(), idleMs).unref()
      isOpen = false
    }
    return {
      update: async (bytes) => void (await thread.ask({ of, bytes })),
      end: async () => (await thread.ask({ of, end: 'tell' }).finally(close))!,
      drop: () => {
        if (isOpen) thread.ask({ of, end: 'drop' }).catch(() => {})
        close()
      },
    }
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#thread?.end()
    this.#thread = undefined
  }

  #running(): Thread {
    if (!this.#thread || this.#thread.ended) this.#thread = new Thread()
    return this.#thread
  }
}

class Thread {
  ended: Error | undefined
  readonly #worker: Worker
  readonly #waiting: Waiting[] = []

  constructor() {
    this.#worker = new Worker(compiled('platform/spool/digest-program'), { resourceLimits: limits, env: {}, execArgv: [] })
    this.#worker.unref()
    this.#worker.on('message', (answer: string | undefined) => this.#waiting.shift()!.resolve(answer))
    this.#worker.on('error', (error) => this.#fail(error as Error))
    this.#worker.on('exit', () => this.#fail(new Error('The thread that computes digests has ended.')))
  }

  ask(step: DigestStep): Promise<string | undefined> {
    if (this.ended) return Promise.reject(this.ended)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#worker.postMessage(step)
    })
  }

  end(): void {
    void this.#worker.terminate()
  }

  #fail(error: Error): void {
    this.ended ??= storageUnavailable('The upload could not be received at the moment; nothing was stored.', error)
    for (const each of this.#waiting.splice(0)) each.reject(this.ended)
  }
}
