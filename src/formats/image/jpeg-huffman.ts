import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'

/** Sixteen bits of data to the length of the code that they start with (high byte) and its symbol; 0 where none starts so. */
export type HuffmanTable = Uint16Array

/** A table from its DHT segment: how many codes there are of each length, and their symbols. Undefined where no such code exists. */
export function huffmanTable(counts: Buffer, symbols: Buffer): HuffmanTable | undefined {
  const table = new Uint16Array(65536)
  let from = 0
  let index = 0
  for (let length = 1; length <= 16; length++) {
    const width = 1 << (16 - length)
    for (let left = counts[length - 1]!; left > 0; left--) {
      if (from + width > 65536) return undefined
      table.fill((length << 8) | symbols[index++]!, from, from + width)
      from += width
    }
  }
  return table
}

export interface ScanComponent {
  blocks: number
  dc: HuffmanTable
  ac: HuffmanTable
}

/** The bits of a scan up to its next marker, zeros stuffed in after 0xff left out, zeros in the place of what is missing. */
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

  /** The symbol of the next code. Readers take a code that starts none for 17 bits that mean 0. */
  symbol(table: HuffmanTable): number {
    if (this.count < 17) this.fill()
    const found = table[(this.held >>> (this.count - 16)) & 0xffff]!
    this.count -= found === 0 ? 17 : found >> 8
    if (found === 0) this.lost = true
    return found & 0xff
  }

  skip(bits: number): void {
    if (this.count < bits) this.fill()
    this.count -= bits
  }

  private fill(): void {
    while (this.count <= 16) {
      this.held = (this.held << 8) | this.next()
      this.count += 8
    }
  }

  private next(): number {
    if (this.index + 1 >= this.window.length) {
      this.base += this.index
      this.index = 0
      this.window = this.source.read(this.base, 4096)
    }
    const byte = this.window[this.index]
    if (byte === undefined || (byte === 0xff && this.window[this.index + 1] !== 0)) {
      this.padded += 8
      return 0
    }
    this.index += byte === 0xff ? 2 : 1
    return byte
  }
}

export interface Followed {
  end: number
  displaced: boolean
}

/** Follows the codes of a sequential scan for a number of units, as readers do, without making pixels of them. Undefined where they run out. */
export function followCodes(
  source: RandomAccessSource,
  limits: ReaderLimits,
  start: number,
  units: number,
  components: ScanComponent[],
): Followed | undefined {
  const bits = new ScanBits(source, start)
  let displaced = false
  for (let unit = 0; unit < units; unit++) {
    if ((unit & 1023) === 0) checkDeadline(limits)
    for (const { blocks, dc, ac } of components)
      for (let block = 0; block < blocks; block++) if (followBlock(bits, dc, ac) > 64) displaced = true
    if (bits.exhausted) return undefined
  }
  return { end: bits.position, displaced: displaced || bits.lost }
}

function followBlock(bits: ScanBits, dc: HuffmanTable, ac: HuffmanTable): number {
  bits.skip(bits.symbol(dc) & 15)
  let at = 1
  for (; at < 64; at++) {
    const symbol = bits.symbol(ac)
    const size = symbol & 15
    if (size === 0 && symbol !== 0xf0) break
    at += symbol >> 4
    bits.skip(size)
  }
  return at
}
