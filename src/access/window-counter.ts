import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import { now } from '../platform/clock.js'
import type { SharedCounts } from './shared-counts.js'

export interface Count {
  count: number
  resetSeconds: number
}

// Limits memory if there are many addresses. Beyond this number of keys in one window, new keys are not counted.
const maxKeys = 100_000

/** Counts by key in time windows. */
export interface WindowCounter {
  readonly seconds: number
  /** Adds points, which may be negative, and returns the count. */
  add(key: string, points?: number): Count | Promise<Count>
}

/** Counts in the process. Windows start at the same time in all replicas, so that `shared` can add up their counts. */
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

  /** Adds what other replicas have counted since the last exchange. */
  addOthers(key: string, window: number, others: number): void {
    const count = this.#counts.get(key)
    if (window === this.#window && count !== undefined) this.#counts.set(key, count + others)
  }
}

/** Counts in Redis: exact for all replicas, with one round trip per call. */
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
