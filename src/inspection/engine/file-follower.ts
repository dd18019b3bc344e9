import type { Ahead } from '@assay/formats'
import { compiled } from '../../platform/compiled.js'
import type { Follower } from '../../platform/spool/content.js'
import type { VisitScan } from '../scanners/virus-scanner.js'
import { windowBytes } from '../scanners/yara/limits.js'
import type { WorkerPool } from '../workers/worker-pool.js'
import type { AheadJob } from './looking-ahead.js'

export interface Followed {
  path: string
  /** Bytes that are expected. */
  size: number
  owner: string
}

const stepBytes = 2 * windowBytes
const stepMs = 10_000

/** Has a file looked at while it is received, by workers that have nothing else to do. Where that fails, it is looked at when it is whole. */
export class FileFollower implements Follower {
  readonly #pool: WorkerPool
  readonly #setup: VisitScan['setup']
  readonly #file: Followed
  readonly #stop = new AbortController()
  #ahead: Ahead = { scanned: 0, plain: 0 }
  #written = 0
  #step: Promise<void> | undefined
  #isOver = false

  constructor(pool: WorkerPool, { setup }: VisitScan, file: Followed) {
    this.#pool = pool
    this.#setup = setup
    this.#file = file
  }

  written(bytes: number): void {
    this.#written = bytes
    if (this.#isOver || this.#step || bytes - this.#ahead.scanned <= stepBytes || !this.#pool.isFreeFor(this.#file.size)) return
    this.#step = this.#look()
      .catch(() => {
        this.#isOver = true
      })
      .finally(() => {
        this.#step = undefined
        this.written(this.#written)
      })
  }

  async end(): Promise<Ahead> {
    this.#isOver = true
    await this.#step
    return this.#ahead
  }

  stop(): void {
    this.#isOver = true
    if (this.#step) this.#stop.abort()
  }

  async #look(): Promise<void> {
    const { path, size, owner } = this.#file
    const data: AheadJob = { path, written: this.#written, ahead: this.#ahead, setup: this.#setup }
    const module = compiled('inspection/engine/looking-ahead')
    const work = { module, run: 'lookAhead', data, apart: false, size, owner, deadlineMs: stepMs, retryHung: false }
    const ahead = await this.#pool.run<Ahead>(work, this.#stop.signal)
    // It has come to what only a scan of the whole can judge.
    if (ahead.scanned === this.#ahead.scanned) this.#isOver = true
    this.#ahead = ahead
  }
}
