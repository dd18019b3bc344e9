import { setTimeout as sleep } from 'node:timers/promises'
import { megabyte } from '../../platform/units.js'

/** However small a file is, to open and scan it costs something. */
const leastBytes = 4 * 1024
// What was not used is used up a moment later, and no more of it.
const mostAheadMs = 1_000

/** Lets bytes pass at a rate. */
export class Pace {
  readonly #msPerByte: number
  #next = Number.NEGATIVE_INFINITY

  constructor(megabytesPerSecond: number) {
    this.#msPerByte = 1000 / (megabytesPerSecond * megabyte)
  }

  /** Resolves when so many may begin; rejects with the signal's reason. */
  async pass(bytes: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const now = performance.now()
    const at = Math.max(this.#next, now - mostAheadMs)
    this.#next = at + Math.max(bytes, leastBytes) * this.#msPerByte
    if (at > now) await sleep(at - now, undefined, { signal })
  }
}
