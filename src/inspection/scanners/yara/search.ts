import type { MemberObserver, RandomAccessSource } from '@assay/formats'
import { type Visitor, Walk, WalkEnded, type WalkLimits, type WindowPlace } from '@assay/formats/walk'
import type { ScanVerdict } from '../verdict.js'
import type { MatchRules } from './engine.js'
import { nameTrick } from './rules.js'
import { Seen } from './script-search.js'

type Clean = Extract<ScanVerdict, { verdict: 'clean' }>

/** A verdict without the proof that the engine works, which the caller adds. */
export type SearchResult = Omit<Clean, 'provedAt'> | Exclude<ScanVerdict, Clean>

export interface SearchOptions {
  find: MatchRules
  limits: WalkLimits
  cancelled(): boolean
}

class Found extends WalkEnded {}

class Cancelled extends WalkEnded {}

class EngineFailed extends WalkEnded {}

/** Searches a file and everything that can be unpacked from it. */
export class Search implements Visitor {
  /** Passed to the reader of the same file. */
  readonly observer: MemberObserver
  /** Time used by the engine, in milliseconds. */
  spentMs = 0
  readonly #walk: Walk
  readonly #find: MatchRules

  constructor(source: RandomAccessSource, { find, limits, cancelled }: SearchOptions) {
    this.#find = find
    const step = () => {
      if (cancelled()) throw new Cancelled()
    }
    this.#walk = new Walk(source, { visitor: this, limits, step })
    this.observer = this.#walk.observer
  }

  member(name: string): void {
    throwIfFound(nameTrick(name))
  }

  content() {
    const seen = new Seen()
    return (bytes: Buffer, place: WindowPlace) => throwIfFound(this.#search(bytes, place, seen))
  }

  async finish(): Promise<SearchResult> {
    try {
      const { gaps, damage } = await this.#walk.finish()
      if (gaps[0]) return { verdict: 'incomplete', reason: gaps[0].reason }
      const notes = damage.map(({ problem }) => `looked at only as far as it can be unpacked: ${problem}`)
      return notes.length > 0 ? { verdict: 'clean', note: notes.join('; ') } : { verdict: 'clean' }
    } catch (error) {
      if (error instanceof Found) return { verdict: 'infected', signature: error.message }
      throw error
    }
  }

  #search(bytes: Buffer, place: WindowPlace, seen: Seen): string | undefined {
    const start = performance.now()
    try {
      return findInWindow(bytes, place, seen, this.#find) ?? findInMacros(bytes, this.#find)
    } catch (error) {
      // Neither the reader nor the walk may treat an engine failure as damage of the file.
      throw new EngineFailed((error as Error).message, { cause: error })
    } finally {
      this.spentMs += performance.now() - start
    }
  }
}

function throwIfFound(signature: string | undefined): void {
  if (signature !== undefined) throw new Found(signature)
}

/** Searches a small file that is not a container. */
export function findIn(bytes: Buffer, find: MatchRules): string | undefined {
  return find(bytes, true) ?? findInMacros(bytes, find)
}

const endBytes = 256 * 1024

/** Script rules cost a few ms per MiB. They are applied to text, and to both ends of any other file. */
function findInWindow(bytes: Buffer, { first, last }: WindowPlace, seen: Seen, find: MatchRules): string | undefined {
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

/**
 * Office documents contain the source code of macros in compressed form ([MS-OVBA], 2.4.1). Each module starts with `Attribute VB_…`,
 * compressed to these bytes.
 */
const marker = Buffer.from('Attribut\0e VB', 'latin1')
// Node.js searches for up to six bytes many times faster than for more.
const sought = marker.subarray(-6)
const before = marker.length - sought.length
const zeroInSought = sought.indexOf(0)
const maxModules = 200
const maxMacroBytes = 1024 * 1024

function* macroSources(bytes: Buffer): Iterable<Buffer> {
  // Most text contains no zero byte, and that search is many times faster than the search for the marker.
  const zero = bytes.indexOf(0)
  if (zero < 0) return
  let count = 0
  for (
    let end = bytes.indexOf(sought, Math.max(0, zero - zeroInSought));
    end >= 0;
    end = bytes.indexOf(sought, end + sought.length)
  ) {
    const at = end - before
    if (at < 0 || bytes.compare(marker, 0, marker.length, at, at + marker.length) !== 0) continue
    if (++count > maxModules) return
    // Bytes before the marker: 1 for the container, the header of the first chunk (two bytes), and the flags of its first eight tokens.
    if (at >= 4 && bytes[at - 4] === 1 && bytes[at - 1] === 0) yield unpack(bytes.subarray(at - 3))
  }
}

function unpack(chunks: Buffer): Buffer {
  const unpacked: number[] = []
  for (let at = 0; at + 2 <= chunks.length && unpacked.length < maxMacroBytes; ) {
    const header = chunks.readUInt16LE(at)
    if (((header >> 12) & 7) !== 3) break
    const end = Math.min(chunks.length, at + (header & 0xfff) + 3)
    if (header & 0x8000) unpackChunk(chunks.subarray(at + 2, end), unpacked)
    else unpacked.push(...chunks.subarray(at + 2, end))
    at = end
  }
  return Buffer.from(unpacked)
}

function unpackChunk(chunk: Buffer, unpacked: number[]): void {
  const start = unpacked.length
  for (let at = 0; at < chunk.length; ) {
    const flags = chunk[at++] as number
    for (let bit = 0; bit < 8 && at < chunk.length; bit++) {
      if (!((flags >> bit) & 1)) {
        unpacked.push(chunk[at++] as number)
        continue
      }
      if (at + 2 > chunk.length) return
      const token = chunk.readUInt16LE(at)
      at += 2
      // The number of unpacked bytes determines how many of the 16 bits are the distance.
      const distanceBits = Math.max(4, Math.ceil(Math.log2(Math.max(1, unpacked.length - start))))
      const length = (token & (0xffff >> distanceBits)) + 3
      const from = unpacked.length - (token >> (16 - distanceBits)) - 1
      if (from < start) return
      for (let copied = 0; copied < length; copied++) unpacked.push(unpacked[from + copied] as number)
    }
  }
}

function findInMacros(bytes: Buffer, find: MatchRules): string | undefined {
  for (const macro of macroSources(bytes)) {
    const signature = find(macro, true)
    if (signature !== undefined) return signature
  }
  return undefined
}
