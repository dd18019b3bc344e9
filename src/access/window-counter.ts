import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import { now } from '../platform/clock.js'
import type { SharedCounts } from './shared-counts.js'

export interface Count {
  count: number
  resetSeconds: number
}

// A flood of addresses must not fill memory: beyond this many in one window further keys are let through uncounted.
const maxKeys = 100_000

/** Counts by key in windows of so many seconds. */
export interface WindowCounter {
  readonly seconds: number
  /** Adds, and gives how many there are now. Negative points take back. */
  add(key: string, points?: number): Count | Promise<Count>
}

/** Counts in the process. Windows begin at the same moments everywhere, so that `shared` can add up what replicas counted. */
export class ProcessCounter implements WindowCounter {
  #window = 0
  #counts = new Map<string, number>()
  readonly #shared: SharedCounts | undefined

  constructor(
    readonly name: string,
    readonly seconds: number,
    shared?: SharedCounts,
  ) {
    this.#shared = shared
  }

  add(key: string, points = 1): Count {
    const seconds = now() / 1000
    const window = Math.floor(seconds / this.seconds)
    const resetSeconds = Math.max(1, Math.ceil((window + 1) * this.seconds - seconds))
    if (window !== this.#window) {
      this.#window = window
      this.#counts = new Map()
    }
    const known = this.#counts.get(key)
    if (known === undefined && this.#counts.size >= maxKeys) return { count: 0, resetSeconds }
    const count = (known ?? 0) + points
    this.#counts.set(key, count)
    this.#shared?.added(this, key, window, points)
    return { count, resetSeconds }
  }

  /** Takes over what all replicas counted together: `others` is what they added since it was last asked. */
  addOthers(key: string, window: number, others: number): void {
    const count = this.#counts.get(key)
    if (window === this.#window && count !== undefined) this.#counts.set(key, count + others)
  }
}

/** Counts in Redis, where every call asks it: exact over all replicas, for one round trip a call. */
export class RedisCounter implements WindowCounter {
  readonly #counts: RateLimiterAbstract

  constructor(
    readonly seconds: number,
    counts: RateLimiterAbstract,
  ) {
    this.#counts = counts
  }

  async add(key: string, points = 1): Promise<Count> {
    const { consumedPoints, msBeforeNext } = await this.#counts.penalty(key, points)
    return { count: consumedPoints, resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)) }
  }
}
