import { setTimeout as sleep } from 'node:timers/promises'
import { megabyte } from './units.js'

/** Each file counts as at least this many bytes, because opening and scanning even a small file takes time. */
const minBytes = 4 * 1024
// Unused reading time is carried over to later files, up to this number of milliseconds.
const maxAheadMs = 1_000

/** Limits the number of bytes that are read per second. */
export class ReadThrottle {
  readonly #msPerByte: number
  #next = Number.NEGATIVE_INFINITY

  constructor(megabytesPerSecond: number) {
    this.#msPerByte = 1000 / (megabytesPerSecond * megabyte)
  }

  /** Resolves when `bytes` bytes may be read. Rejects with the signal's reason if it is aborted. */
  async waitForBytes(bytes: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    const now = performance.now()
    const at = Math.max(this.#next, now - maxAheadMs)
    this.#next = at + Math.max(bytes, minBytes) * this.#msPerByte
    if (at > now) await sleep(at - now, undefined, signal && { signal })
  }
}
