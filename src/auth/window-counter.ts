import { type RateLimiterAbstract, RateLimiterMemory } from 'rate-limiter-flexible'
import { now } from '../clock.js'
import type { SharedCounts } from './shared-counts.js'

export interface Count {
  count: number
  resetSeconds: number
}

// A flood of addresses must not fill memory: beyond this many in one window further keys are let through uncounted.
const mostKeys = 100_000

/** Counts by key in windows of so many seconds. */
export interface WindowCounter {
  readonly seconds: number
  /** Adds, and gives how many there are now. Negative points take back. */
  add(key: string, points?: number): Promise<Count>
}

/** Counts in the process. Windows begin at the same moments everywhere, so that `shared` can add up what replicas counted. */
export class ProcessCounter implements WindowCounter {
  readonly #counts: RateLimiterMemory
  #window = 0
  #keys = new Set<string>()
  readonly #shared: SharedCounts | undefined

  constructor(
    readonly name: string,
    readonly seconds: number,
    shared?: SharedCounts,
  ) {
    this.#shared = shared

    // The library only counts here (`penalty` never refuses): limits are the caller's, since one count serves several.
    this.#counts = new RateLimiterMemory({ keyPrefix: '', points: Number.MAX_SAFE_INTEGER, duration: seconds })
  }

  async add(key: string, points = 1): Promise<Count> {
    const seconds = now() / 1000
    const window = Math.floor(seconds / this.seconds)
    const resetSeconds = Math.max(1, Math.ceil((window + 1) * this.seconds - seconds))
    if (!this.#isCounted(key, window)) return { count: 0, resetSeconds }
    const { consumedPoints } = await this.#counts.penalty(`${window}:${key}`, points)
    this.#shared?.added(this, key, window, points)
    return { count: consumedPoints, resetSeconds }
  }

  /** Takes over what all replicas counted together: `others` is what they added since it was last asked. */
  async addOthers(key: string, window: number, others: number): Promise<void> {
    if (others !== 0 && window === this.#window) await this.#counts.penalty(`${window}:${key}`, others)
  }

  #isCounted(key: string, window: number): boolean {
    if (window !== this.#window) {
      this.#window = window
      this.#keys = new Set()
    }
    if (this.#keys.has(key)) return true
    if (this.#keys.size >= mostKeys) return false
    this.#keys.add(key)
    return true
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
