import { megabyte } from '../units.js'

// A form around the file, by which its body is longer.
export const formBytes = 64 * 1024
const unitBytes = (megabyte + formBytes) / 4
const unitsEach = 16
const segmentBytes = unitsEach * unitBytes

/** Of each segment's memory, the slabs that lie in it, by the units that they take. */
const slabsIn = new WeakMap<ArrayBufferLike, (Slab | undefined)[]>()

/**
 * For what may go on reading `bytes` though its result is not awaited any more: where they lie in a slab, that is not used for anything
 * else until the function that this gives has been called.
 */
export const holdBytes = (bytes: Uint8Array | undefined): (() => void) =>
  (bytes && slabsIn.get(bytes.buffer)?.[Math.floor(bytes.byteOffset / unitBytes)]?.hold()) ?? (() => {})

/**
 * As much of `bytes` as there is room for from `at` on. Shared memory V8 copies byte by byte, where both do not begin alike within a word:
 * six times as slow as `fill`, which copies as C does.
 */
export function copyShared(bytes: Uint8Array, target: Buffer, at = 0): number {
  const end = Math.min(target.length, at + bytes.length)
  if (end > at) target.fill(bytes, at, end)
  return end - at
}

/** A block of memory that threads share, for one upload. */
export class Slab {
  readonly #free: () => void
  #holders = 0

  constructor(
    readonly bytes: Buffer,
    free: () => void,
  ) {
    this.#free = free
  }

  /** Gives the function that lets go, which counts once. With the last of them the memory is another's. */
  hold(): () => void {
    this.#holders++
    let holds = true
    return () => {
      if (!holds) return
      holds = false
      if (--this.#holders === 0) this.#free()
    }
  }
}

/**
 * Memory for uploads, bounded for the process. Those of up to 4 MiB are copied into slabs as they come: no chunk outlives its turn, which
 * the garbage collector would count against the process, and workers read what the service holds. Slabs lie in a few segments that
 * are made when they are first wanted and stay: shared memory goes only when the collectors of all threads that saw it have come by.
 */
export class Slabs {
  readonly #budget: number
  readonly #segments: SharedArrayBuffer[] = []
  #taken = 0

  /** Bytes that all uploads in memory may take together. */
  constructor(budget: number) {
    this.#budget = budget
  }

  /** One for so many bytes, which is to be held; undefined where they are too many, or the budget is spent. */
  take(bytes: number): Slab | undefined {
    const units = [1, 2, 4, 8, 16].find((each) => each * unitBytes >= bytes)
    if (units === undefined || !this.reserve(units * unitBytes)) return undefined
    const slab = this.#place(units)
    if (!slab) this.free(units * unitBytes)
    return slab
  }

  /** Counts bytes of another's memory into the budget, where there is room. */
  reserve(bytes: number): boolean {
    if (this.#taken + bytes > this.#budget) return false
    this.#taken += bytes
    return true
  }

  free(bytes: number): void {
    this.#taken -= bytes
  }

  #place(units: number): Slab | undefined {
    for (const segment of this.#segments) {
      const slab = this.#placeIn(segment, units)
      if (slab) return slab
    }
    if ((this.#segments.length + 1) * segmentBytes > this.#budget) return undefined
    const segment = new SharedArrayBuffer(segmentBytes)
    slabsIn.set(segment, Array(unitsEach).fill(undefined))
    this.#segments.push(segment)
    return this.#placeIn(segment, units)
  }

  #placeIn(segment: SharedArrayBuffer, units: number): Slab | undefined {
    const slabs = slabsIn.get(segment)!
    for (let at = 0; at < unitsEach; at += units) {
      const end = at + units
      if (slabs.slice(at, end).some((slab) => slab)) continue
      const slab = new Slab(Buffer.from(segment, at * unitBytes, units * unitBytes), () => {
        slabs.fill(undefined, at, end)
        this.free(units * unitBytes)
      })
      slabs.fill(slab, at, end)
      return slab
    }
    return undefined
  }
}
