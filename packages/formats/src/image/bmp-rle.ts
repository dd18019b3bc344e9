import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'

interface RleImage {
  offset: number
  width: number
  rows: number
  nibbles: boolean
}

/** Checks that the runs of an RLE bitmap cover all rows. Like other readers, accepts runs beyond the end of a row. */
export function findRunLengthProblem(source: RandomAccessSource, limits: ReaderLimits, image: RleImage): string | undefined {
  const bytes = new ByteReader(source, image.offset)
  let x = 0
  let row = 0
  for (let steps = 0; ; steps++) {
    if ((steps & 4095) === 0) checkDeadline(limits)
    const first = bytes.readByte()
    const second = bytes.readByte()
    // Other readers accept a missing end marker after the last row, so it is not an error.
    if (first < 0 || second < 0)
      return row >= image.rows - 1 && (x >= image.width || row >= image.rows)
        ? undefined
        : `the BMP is truncated in row ${row + 1} of ${image.rows}`
    if (first > 0) {
      x += first
    } else if (second === 0) {
      row++
      x = 0
    } else if (second === 1) {
      return undefined
    } else if (second === 2) {
      x += Math.max(0, bytes.readByte())
      row += Math.max(0, bytes.readByte())
    } else {
      const length = image.nibbles ? (second + 1) >> 1 : second
      bytes.skip(length + (length & 1))
      x += second
    }
  }
}

class ByteReader {
  private window: Buffer = Buffer.alloc(0)
  private index = 0

  constructor(
    private readonly source: RandomAccessSource,
    private offset: number,
  ) {}

  readByte(): number {
    if (this.index >= this.window.length) {
      this.offset += this.index
      this.window = this.source.read(this.offset, 65536)
      this.index = 0
      if (this.window.length === 0) return -1
    }
    return this.window[this.index++] as number
  }

  skip(count: number): void {
    this.index += count
  }
}
