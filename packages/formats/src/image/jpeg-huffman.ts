import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'

/** Maps the next bits of the data to the length of their code (high byte) and its symbol. 0 means that no code matches. */
export interface HuffmanTable {
  /** Indexed by ten bits, which fits into the processor cache. 0 for longer codes. */
  short: Uint16Array
  /** Indexed by 16 bits. */
  whole: Uint16Array
}

const shortBits = 10

/** Builds a table from a DHT segment: the number of codes of each length, and their symbols. Undefined if invalid. */
export function huffmanTable(counts: Buffer, symbols: Buffer): HuffmanTable | undefined {
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

/** Bits of a scan up to the next marker. Removes the zeros stuffed after 0xff, and returns zeros for missing data. */
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

  get exhausted(): boolean {
    return this.padded > this.count
  }

  get position(): number {
    return this.base + this.index - ((this.count - this.padded) >> 3)
  }

  /**
   * Skips the codes of one block. Returns true if they exceed its 64 coefficients. Like readers, treats an invalid code as 17 bits with the
   * value 0. One function with local variables, because most of the time is spent here.
   */
  skipBlock(dc: HuffmanTable, ac: HuffmanTable): boolean {
    let { window, index, held, count } = this
    let { short, whole } = dc
    let at = 0
    for (;;) {
      while (count <= 16) {
        if (index + 1 >= window.length) {
          window = this.turn(index)
          index = 0
        }
        const byte = window[index]
        // The common case. The remaining code handles the end of the data and stuffed bytes.
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
      // The next bytes provide the missing bits.
      count -= (found === 0 ? 17 : found >> 8) + size
      if (at === 0) ({ short, whole } = ac)
      else at += symbol >> 4
      if (++at >= 64) break
    }
    this.window = window
    this.index = index
    this.held = held
    this.count = count
    while (this.count < 0) this.fill()
    return at > 64
  }

  private fill(): void {
    if (this.index + 1 >= this.window.length) {
      this.window = this.turn(this.index)
      this.index = 0
    }
    const byte = this.window[this.index]
    const ends = byte === undefined || (byte === 0xff && this.window[this.index + 1] !== 0)
    if (ends) this.padded += 8
    else this.index += byte === 0xff ? 2 : 1
    this.held = (this.held << 8) | (ends ? 0 : byte)
    this.count += 8
  }

  /** Offset of the next window from the start of this one. */
  private turn(index: number): Buffer {
    this.base += index
    return this.source.read(this.base, 16_384)
  }
}

export interface FollowResult {
  end: number
  displaced: boolean
}

/** Follows the codes of a sequential scan for a number of units, without computing pixels. Undefined if the data ends early. */
export function followCodes(
  source: RandomAccessSource,
  limits: ReaderLimits,
  start: number,
  units: number,
  components: ScanComponent[],
): FollowResult | undefined {
  const bits = new ScanBits(source, start)
  let displaced = false
  for (let unit = 0; unit < units; unit++) {
    if ((unit & 1023) === 0) checkDeadline(limits)
    for (const { blocks, dc, ac } of components)
      for (let block = 0; block < blocks; block++) if (bits.skipBlock(dc, ac)) displaced = true
    if (bits.exhausted) return undefined
  }
  return { end: bits.position, displaced: displaced || bits.lost }
}
