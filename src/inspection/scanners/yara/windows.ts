import type { RandomAccessSource } from '@assay/formats'
import type { Find } from './engine.js'
import { overlapBytes, windowBytes } from './limits.js'
import type { Seen } from './script-search.js'
import { findInMacros } from './vba.js'

export interface WindowPlace {
  first: boolean
  last: boolean
}

export type See = (bytes: Buffer, place: WindowPlace) => void

/** `room`: for a window of what is not in memory. */
export function findInSource(source: RandomAccessSource, room: () => Buffer, see: See, step: () => void): void {
  for (let at = 0; at < source.size; at += windowBytes - overlapBytes) {
    step()
    const last = at + windowBytes >= source.size
    see(source.readInto(room, at, windowBytes), { first: at === 0, last })
    if (last) return
  }
}

export class StreamWindow {
  readonly #buffer: Buffer
  readonly #see: See
  #filled = windowBytes
  #first = true

  /** `buffer` holds the stream's first window already. */
  constructor(buffer: Buffer, see: See) {
    this.#buffer = buffer
    this.#see = see
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#filled === windowBytes) this.#turn()
      const count = chunk.copy(this.#buffer, this.#filled, at, at + windowBytes - this.#filled)
      this.#filled += count
      at += count
    }
  }

  end(): void {
    this.#see(this.#buffer.subarray(0, this.#filled), { first: this.#first, last: true })
  }

  #turn(): void {
    this.#see(this.#buffer, { first: this.#first, last: false })
    this.#first = false
    this.#buffer.copyWithin(0, windowBytes - overlapBytes)
    this.#filled = overlapBytes
  }
}

/** What a single look at all of a small file, which holds nothing that could be unpacked, finds. */
export function findIn(bytes: Buffer, find: Find): string | undefined {
  return find(bytes, true) ?? findInMacros(bytes, find)
}

const endBytes = 256 * 1024

/** Rules about scripts cost a few ms for each MiB: they are run on what looks like text, and on both ends of any other file. */
export function findInWindow(bytes: Buffer, { first, last }: WindowPlace, seen: Seen, find: Find): string | undefined {
  if (bytes.length <= 2 * endBytes || looksLikeText(bytes)) return find(bytes, true, seen)
  return (
    find(bytes, false) ??
    (first ? find(bytes.subarray(0, endBytes), true, seen) : undefined) ??
    (last ? find(bytes.subarray(-endBytes), true, seen) : undefined)
  )
}

const samples = 16
const sampleBytes = 256

function looksLikeText(bytes: Buffer): boolean {
  for (let sample = 0; sample < samples; sample++) {
    const start = Math.floor(((bytes.length - sampleBytes) * sample) / (samples - 1))
    for (let at = start; at < start + sampleBytes; at++) {
      const byte = bytes[at] as number
      if (byte < 9 || (byte > 13 && byte < 32 && byte !== 27)) return false
    }
  }
  return true
}
