import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'

/**
 * Tables that map the next bits to the length of their code (high byte) and its symbol (low byte). 0 means that no code matches.
 */
export interface HuffmanTable {
  /** Table for the next 10 bits, which fits in the CPU cache. 0 means that the code is longer. */
  short: Uint16Array
  /** Table for the next 16 bits, the maximum code length. */
  whole: Uint16Array
}

const shortBits = 10

/** Builds a table from the code counts and symbols of a DHT segment. Returns undefined if the codes overflow. */
export function buildHuffmanTable(counts: Buffer, symbols: Buffer): HuffmanTable | undefined {
  const whole = new Uint16Array(65536)
  const short = new Uint16Array(1 << shortBits)
  let from = 0
  let index = 0
  for (let length = 1; length <= 16; length++) {
    const width = 1 << (16 - length)
    for (let left = counts[length - 1]!; left > 0; left--) {
      if (from + width > 65536) return undefined
      const found = (length << 8) | symbols[index++]!
      whole.fill(found, from, from + width)
      if (length <= shortBits) short.fill(found, from >> (16 - shortBits), (from + width) >> (16 - shortBits))
      from += width
    }
  }
  return { short, whole }
}

export interface ScanComponent {
  blocks: number
  dc: HuffmanTable
  ac: HuffmanTable
}

/** Reads the bits of a scan up to the next marker. Removes stuffed zero bytes and pads missing data with zeros. */
class ScanBits {
  private window: Buffer = Buffer.alloc(0)
  private index = 0
  private base: number
  private held = 0
  private count = 0
  private padded = 0
  lost = false

  constructor(
    private readonly source: RandomAccessSource,
    start: number,
  ) {
    this.base = start
  }

  get isExhausted(): boolean {
    return this.padded > this.count
  }

  get position(): number {
    return this.base + this.index - ((this.count - this.padded) >> 3)
  }

  /**
   * Skips the codes of one block. Returns true if they exceed its 64 coefficients. An invalid code counts as 17 bits with the
   * value 0, as in other readers. Local variables keep this hot loop fast.
   */
  skipBlockAndDetectOverflow(dc: HuffmanTable, ac: HuffmanTable): boolean {
    let { window, index, held, count } = this
    let { short, whole } = dc
    let at = 0
    for (;;) {
      while (count <= 16) {
        if (index + 1 >= window.length) {
          window = this.readNextWindow(index)
          index = 0
        }
        const byte = window[index]
        // Fast path for ordinary bytes. The code below handles stuffed bytes and the end of the data.
        if (byte !== undefined && byte !== 0xff) {
          held = (held << 8) | byte
          count += 8
          index++
          continue
        }
        const ends = byte === undefined || window[index + 1] !== 0
        if (ends) this.padded += 8
        else index += 2
        held = (held << 8) | (ends ? 0 : byte)
        count += 8
      }
      const bits = (held >>> (count - 16)) & 0xffff
      const found = short[bits >>> (16 - shortBits)] || whole[bits]!
      if (found === 0) this.lost = true
      const symbol = found & 0xff
      const size = symbol & 15
      if (at > 0 && size === 0 && symbol !== 0xf0) {
        count -= found === 0 ? 17 : found >> 8
        break
      }
      // If `count` becomes negative, the next iteration reads the missing bits.
      count -= (found === 0 ? 17 : found >> 8) + size
      if (at === 0) ({ short, whole } = ac)
      else at += symbol >> 4
      if (++at >= 64) break
    }
    this.window = window
    this.index = index
    this.held = held
    this.count = count
    while (this.count < 0) this.fillBits()
    return at > 64
  }

  private fillBits(): void {
    if (this.index + 1 >= this.window.length) {
      this.window = this.readNextWindow(this.index)
      this.index = 0
    }
    const byte = this.window[this.index]
    const ends = byte === undefined || (byte === 0xff && this.window[this.index + 1] !== 0)
    if (ends) this.padded += 8
    else this.index += byte === 0xff ? 2 : 1
    this.held = (this.held << 8) | (ends ? 0 : byte)
    this.count += 8
  }

  /** Reads the next window, which starts `index` bytes after the start of the current one. */
  private readNextWindow(index: number): Buffer {
    this.base += index
    return this.source.read(this.base, 16_384)
  }
}

export interface SkipResult {
  end: number
  displaced: boolean
}

/** Reads the codes of a sequential scan without computing pixels. Returns undefined if the data ends early. */
export function skipScanCodes(
  source: RandomAccessSource,
  limits: ReaderLimits,
  start: number,
  units: number,
  components: ScanComponent[],
): SkipResult | undefined {
  const bits = new ScanBits(source, start)
  let displaced = false
  for (let unit = 0; unit < units; unit++) {
    if ((unit & 1023) === 0) checkDeadline(limits)
    for (const { blocks, dc, ac } of components)
      for (let block = 0; block < blocks; block++) if (bits.skipBlockAndDetectOverflow(dc, ac)) displaced = true
    if (bits.isExhausted) return undefined
  }
  return { end: bits.position, displaced: displaced || bits.lost }
}
