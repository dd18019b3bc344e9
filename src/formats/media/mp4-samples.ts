import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { type Box, boxesOf, isEndless } from './boxes.js'
import { number32, WindowReader } from './window.js'

/** Where a sample lies in the file, in bytes. */
export interface SamplePlace {
  offset: number
  size: number
}

/** What a sample table is worth. */
export interface SampleCheck {
  /** Why the table cannot be read. */
  fault?: string
  /** The first place where it lists samples beyond the end of the file. */
  outside?: string
  /** Chunks that hold samples, and those of them that start inside the file. */
  promised: number
  there: number
  /** A few samples from all over the track, to look into. */
  places: SamplePlace[]
}

export const noSamples: SampleCheck = { promised: 0, there: 0, places: [] }
const faulty = (fault: string): SampleCheck => ({ ...noSamples, fault })

/** How many samples of a track are looked into. */
const looks = 16

/** The boxes of a sample table (stbl) by their types, or what is wrong with them. */
export function tableBoxes(source: RandomAccessSource, limits: ReaderLimits, table: Box): Map<string, Box> | string {
  const boxes = new Map<string, Box>()
  for (const box of boxesOf(source, limits, table.start, table.end)) {
    if (box.cut || isEndless(box)) return `the '${box.type.replace(/[^ -~]/g, '?')}' box does not fit into its sample table`
    if (!boxes.has(box.type)) boxes.set(box.type, box)
  }
  return boxes.has('stsd') ? boxes : 'it does not say how its samples are coded (stsd)'
}

/** Checks that a sample table's lists are whole, and where its samples lie. Lists are read in windows, never held. */
export function checkSamples(source: RandomAccessSource, limits: ReaderLimits, boxes: Map<string, Box>): SampleCheck {
  const offsets = boxes.get('stco') ?? boxes.get('co64')
  const sizes = boxes.get('stsz') ?? boxes.get('stz2')
  const runs = boxes.get('stsc')
  const times = boxes.get('stts')
  const chunks = offsets ? number32(source, offsets.start + 4) : 0
  const samples = sizes ? number32(source, sizes.start + 8) : 0
  if (times && times.start + 8 + number32(source, times.start + 4) * 8 > times.end)
    return faulty('its list of times is cut off (stts)')
  // A movie whose samples are all in fragments may leave its tables out.
  if (chunks === 0) return samples > 0 ? faulty('it has samples and does not say where they are (stco)') : noSamples
  if (!offsets || !sizes || !runs || !times) return faulty('its sample table lacks a list (stsz, stsc or stts)')
  return new SampleWalk(source, limits, offsets, sizes, runs, { chunks, samples }).check()
}

class SampleWalk {
  private readonly chunks: number
  private readonly samples: number
  private readonly uniform: number
  private readonly sizeBits: number
  private readonly runCount: number
  private readonly reader: WindowReader
  private readonly places: SamplePlace[] = []

  constructor(
    private readonly source: RandomAccessSource,
    private readonly limits: ReaderLimits,
    private readonly offsets: Box,
    private readonly sizes: Box,
    private readonly runs: Box,
    counts: { chunks: number; samples: number },
  ) {
    this.chunks = counts.chunks
    this.samples = counts.samples
    this.uniform = sizes.type === 'stsz' ? number32(source, sizes.start + 4) : 0
    this.sizeBits = sizes.type === 'stsz' ? 32 : (source.read(sizes.start + 7, 1)[0] ?? 0)
    this.runCount = number32(source, runs.start + 4)
    this.reader = new WindowReader(source)
  }

  check(): SampleCheck {
    const { offsets, sizes, runs } = this
    const wide = offsets.type === 'co64' ? 8 : 4
    if (offsets.start + 8 + this.chunks * wide > offsets.end) return faulty('its list of chunks is cut off')
    if (this.uniform === 0 && sizes.start + 12 + (this.samples * this.sizeBits) / 8 > sizes.end)
      return faulty('its list of sample sizes is cut off')
    if (runs.start + 8 + this.runCount * 12 > runs.end) return faulty('its list of chunk lengths is cut off')
    if (this.samples === 0) return noSamples
    return this.walk(wide)
  }

  /** Chunk after chunk: its offset, and the sizes of the samples in it. */
  private walk(wide: number): SampleCheck {
    const found: SampleCheck = { promised: 0, there: 0, places: this.places }
    const every = Math.max(1, Math.floor(this.chunks / looks))
    let run = -1
    let nextRunAt = 1
    let perChunk = 0
    let sample = 0
    for (let chunk = 1; chunk <= this.chunks && sample < this.samples; chunk++) {
      if ((chunk & 255) === 0) checkDeadline(this.limits)
      while (chunk >= nextRunAt && run + 1 < this.runCount) {
        run++
        perChunk = this.runNumber(run, 4)
        nextRunAt = run + 1 < this.runCount ? this.runNumber(run + 1, 0) : Number.MAX_SAFE_INTEGER
      }
      const count = Math.min(perChunk, this.samples - sample)
      if (count === 0) continue
      const offset = this.reader.read('offsets', this.offsets.start + 8 + (chunk - 1) * wide, wide)
      const end = offset + this.bytesOf(sample, count)
      found.promised++
      if (offset < this.source.size) found.there++
      if (offset >= this.source.size) found.outside ??= `chunk ${chunk} of ${this.chunks} lies beyond the end of the file`
      // Uniform sizes of compressed QuickTime sound count samples and not bytes, so that only where a chunk starts is sure.
      else if (this.uniform === 0 && end > this.source.size)
        found.outside ??= `chunk ${chunk} of ${this.chunks} runs beyond the end of the file`
      if (chunk % every === 1 || every === 1) this.look(offset, sample, count)
      sample += count
    }
    return found
  }

  private runNumber = (run: number, offset: number) => this.reader.read('runs', this.runs.start + 8 + run * 12 + offset, 4)

  /** Remembers the first samples of a chunk, all of them where the track has few chunks. */
  private look(offset: number, first: number, count: number): void {
    if (this.uniform > 0 || this.sizeBits < 8) return
    const wanted = Math.min(count, Math.ceil(looks / Math.min(this.chunks, looks)), looks * 2 - this.places.length)
    let at = offset
    for (let index = 0; index < wanted; index++) {
      const size = this.sizeOf(first + index)
      if (size > 0 && at + size <= this.source.size) this.places.push({ offset: at, size })
      at += size
    }
  }

  private sizeOf(sample: number): number {
    const bytes = this.sizeBits / 8
    return this.reader.read('sizes', this.sizes.start + 12 + sample * bytes, bytes)
  }

  private bytesOf(first: number, count: number): number {
    if (this.uniform > 0) return this.uniform * count
    if (this.sizeBits < 8) return 0
    let total = 0
    for (let index = 0; index < count; index++) {
      if ((index & 4095) === 4095) checkDeadline(this.limits)
      total += this.sizeOf(first + index)
    }
    return total
  }
}
