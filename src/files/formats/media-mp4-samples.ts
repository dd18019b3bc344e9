import { checkDeadline, type ReaderLimits, type Source } from './format.js'
import { type Box, boxesOf } from './media-boxes.js'

/** What a sample table is worth: `fault` where it cannot be read, `outside` where it lists samples beyond the end of the file. */
export interface SampleCheck {
  fault?: string
  outside?: string
}

/** Checks that every sample that a sample table (stbl) lists lies inside the file. Tables are read in windows, never held. */
export function checkSamples(source: Source, limits: ReaderLimits, table: Box): SampleCheck {
  const boxes = new Map<string, Box>()
  for (const box of boxesOf(source, limits, table.start, table.end)) {
    if (box.cut) return { fault: `the '${box.type.replace(/[^ -~]/g, '?')}' box does not fit into its sample table` }
    boxes.set(box.type, box)
  }
  const offsets = boxes.get('stco') ?? boxes.get('co64')
  const sizes = boxes.get('stsz') ?? boxes.get('stz2')
  const runs = boxes.get('stsc')
  if (!boxes.has('stsd')) return { fault: 'it does not say how its samples are coded (stsd)' }
  // A movie whose samples are all in fragments may leave its tables out.
  if (!offsets || !sizes || !runs) return {}
  return new SampleWalk(source, limits, offsets, sizes, runs).check()
}

class SampleWalk {
  private readonly chunks: number
  private readonly samples: number
  private readonly uniform: number
  private readonly sizeBits: number
  private readonly runCount: number
  private readonly reader: WindowReader

  constructor(
    private readonly source: Source,
    private readonly limits: ReaderLimits,
    private readonly offsets: Box,
    private readonly sizes: Box,
    private readonly runs: Box,
  ) {
    this.chunks = number32(source, offsets.start + 4)
    this.samples = number32(source, sizes.start + 8)
    this.uniform = sizes.type === 'stsz' ? number32(source, sizes.start + 4) : 0
    this.sizeBits = sizes.type === 'stsz' ? 32 : (source.read(sizes.start + 7, 1)[0] ?? 0)
    this.runCount = number32(source, runs.start + 4)
    this.reader = new WindowReader(source)
  }

  check(): SampleCheck {
    const { offsets, sizes, runs } = this
    const wide = offsets.type === 'co64' ? 8 : 4
    if (offsets.start + 8 + this.chunks * wide > offsets.end) return { fault: 'its list of chunks is cut off' }
    if (this.uniform === 0 && sizes.start + 12 + (this.samples * this.sizeBits) / 8 > sizes.end)
      return { fault: 'its list of sample sizes is cut off' }
    if (runs.start + 8 + this.runCount * 12 > runs.end) return { fault: 'its list of chunk lengths is cut off' }
    if (this.samples === 0 || this.chunks === 0) return {}
    const outside = this.walk(wide)
    return outside ? { outside } : {}
  }

  /** Chunk after chunk: its offset, and the sizes of the samples in it. */
  private walk(wide: number): string | undefined {
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
      const offset = this.offset(chunk, wide)
      if (offset >= this.source.size && count > 0) return `chunk ${chunk} of ${this.chunks} lies beyond the end of the file`
      const bytes = this.bytesOf(sample, count)
      // Uniform sizes of compressed QuickTime sound count samples and not bytes, so that only where a chunk starts is sure.
      if (this.uniform === 0 && offset + bytes > this.source.size)
        return `chunk ${chunk} of ${this.chunks} runs beyond the end of the file`
      sample += count
    }
    return undefined
  }

  private runNumber = (run: number, offset: number) => this.reader.read('runs', this.runs.start + 8 + run * 12 + offset, 4)
  private offset = (chunk: number, wide: number) => this.reader.read('offsets', this.offsets.start + 8 + (chunk - 1) * wide, wide)

  private bytesOf(first: number, count: number): number {
    if (this.uniform > 0) return this.uniform * count
    if (this.sizeBits < 8) return 0
    const bytes = this.sizeBits / 8
    let total = 0
    for (let index = 0; index < count; index++) {
      if ((index & 4095) === 4095) checkDeadline(this.limits)
      total += this.reader.read('sizes', this.sizes.start + 12 + (first + index) * bytes, bytes)
    }
    return total
  }
}

/** Numbers out of several tables, each through a window of its own. */
class WindowReader {
  private readonly windows = new Map<string, { start: number; bytes: Buffer }>()

  constructor(private readonly source: Source) {}

  read(name: string, offset: number, size: number): number {
    let window = this.windows.get(name)
    if (!window || offset < window.start || offset + size > window.start + window.bytes.length) {
      window = { start: offset, bytes: this.source.read(offset, 16384) }
      this.windows.set(name, window)
    }
    if (offset + size > window.start + window.bytes.length) return 0
    const at = offset - window.start
    return size === 8 ? Number(window.bytes.readBigUInt64BE(at)) : window.bytes.readUIntBE(at, size)
  }
}

function number32(source: Source, offset: number): number {
  const bytes = source.read(offset, 4)
  return bytes.length === 4 ? bytes.readUInt32BE(0) : 0
}
