import { megabyte } from '../units.js'

export interface SlabsOptions {
  /** Bytes that all uploads in memory may take together, and what is kept for the next ones. */
  budget: number
  /** How long a slab that is not used is kept. */
  idleMs?: number
}

// A form around the file, by which its body is longer.
export const formBytes = 64 * 1024
const sizes = [megabyte / 2, megabyte, 2 * megabyte, 4 * megabyte].map((size) => size + formBytes)

/** Of each block of memory that is in use, the slab that it belongs to. */
const slabs = new WeakMap<ArrayBufferLike, Slab>()

/**
 * For what may go on reading `bytes` though its result is not awaited any more: where they lie in a slab, that is not used for anything
 * else until the function that this gives has been called.
 */
export const holdBytes = (bytes: Uint8Array | undefined): (() => void) => (bytes && slabs.get(bytes.buffer)?.hold()) ?? (() => {})

/** A block of memory that threads share, filled by one upload after another. */
export class Slab {
  readonly bytes: Buffer
  idleSince = 0
  readonly #free: (slab: Slab) => void
  #holders = 0

  constructor(size: number, free: (slab: Slab) => void) {
    const memory = new SharedArrayBuffer(size)
    this.bytes = Buffer.from(memory)
    this.#free = free
    slabs.set(memory, this)
  }

  /** Gives the function that lets go, which counts once. The last of them gives the slab back. */
  hold(): () => void {
    this.#holders++
    let holds = true
    return () => {
      if (!holds) return
      holds = false
      if (--this.#holders === 0) this.#free(this)
    }
  }
}

/**
 * Memory for uploads, bounded for the process. Those of up to 4 MiB are copied into slabs as they come: no chunk outlives its turn, which
 * the garbage collector would count against the process, and workers read what the service holds.
 */
export class Slabs {
  readonly #budget: number
  readonly #idleMs: number
  readonly #idle: Slab[] = []
  #taken = 0
  #timer: NodeJS.Timeout | undefined

  constructor({ budget, idleMs = 30_000 }: SlabsOptions) {
    this.#budget = budget
    this.#idleMs = idleMs
  }

  /** One for so many bytes, which is to be held; undefined where they are too many, or the budget is spent. */
  take(bytes: number): Slab | undefined {
    const size = sizes.find((each) => each >= bytes)
    if (size === undefined) return undefined
    const last = this.#idle.findLastIndex((slab) => slab.bytes.length === size)
    if (last >= 0) return this.#idle.splice(last, 1)[0]
    return this.reserve(size) ? new Slab(size, (slab) => this.#keep(slab)) : undefined
  }

  /** Counts bytes of another's memory into the budget, where there is room. */
  reserve(bytes: number): boolean {
    while (this.#taken + bytes > this.#budget && this.#idle.length > 0) this.#drop()
    if (this.#taken + bytes > this.#budget) return false
    this.#taken += bytes
    return true
  }

  free(bytes: number): void {
    this.#taken -= bytes
  }

  #keep(slab: Slab): void {
    slab.idleSince = performance.now()
    this.#idle.push(slab)
    this.#timer ??= setInterval(() => this.#tidy(), this.#idleMs).unref()
  }

  /** The one that is idle for longest: taken are those that were given back last. */
  #drop(): void {
    this.free(this.#idle.shift()!.bytes.length)
  }

  #tidy(): void {
    while (this.#idle[0] && this.#idle[0].idleSince + this.#idleMs <= performance.now()) this.#drop()
    if (this.#idle.length > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
