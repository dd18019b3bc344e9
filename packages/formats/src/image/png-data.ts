import { getInflateErrorMessage, inflateChunks } from '../archive/inflate.js'
import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'

export interface PngPicture {
  width: number
  height: number
  /** Bits per pixel, across all channels. */
  bits: number
  interlaced: boolean
}

/** Byte range of the content of an IDAT chunk. */
export interface DataPart {
  start: number
  end: number
}

const maxSurplusBytes = 1024 * 1024

/**
 * Inflates the pixel data and checks that all rows exist and use a valid filter. Like other readers, accepts data after the last
 * row.
 */
export async function findPixelProblem(
  source: RandomAccessSource,
  parts: DataPart[],
  picture: PngPicture,
  limits: ReaderLimits,
): Promise<string | undefined> {
  const rows = new RowChecker(picture)
  try {
    for await (const chunk of inflateChunks('zlib', readDataParts(source, parts))) {
      checkDeadline(limits)
      const problem = rows.checkChunk(chunk)
      if (problem || rows.surplusBytes > maxSurplusBytes) return problem
    }
  } catch (error) {
    const problem = getInflateErrorMessage(error)
    if (problem === undefined) throw error
    return problem
  }
  return rows.findMissingRows()
}

function* readDataParts(source: RandomAccessSource, parts: DataPart[]): Generator<Buffer> {
  for (const { start, end } of parts) yield* source.chunks(start, end)
}

/** Passes of an interlaced image (Adam7): first column, first row, column step and row step. */
const adam7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const

/** Counts rows and checks the filter type, which is the first byte of every row. */
class RowChecker {
  readonly #passes: { rows: number; rowBytes: number }[]
  readonly bytes: number
  #taken = 0
  #pass = 0
  #row = 0
  /** Distance from the start of the next chunk to the next filter byte. */
  #next = 0

  constructor({ width, height, bits, interlaced }: PngPicture) {
    const steps = interlaced ? adam7 : [[0, 0, 1, 1] as const]
    this.#passes = steps
      .map(([left, top, across, down]) => ({
        columns: Math.ceil((width - left) / across),
        rows: Math.ceil((height - top) / down),
      }))
      .filter(({ columns, rows }) => columns > 0 && rows > 0)
      .map(({ columns, rows }) => ({ rows, rowBytes: 1 + Math.ceil((columns * bits) / 8) }))
    this.bytes = this.#passes.reduce((sum, { rows, rowBytes }) => sum + rows * rowBytes, 0)
  }

  get surplusBytes(): number {
    return this.#taken - this.bytes
  }

  checkChunk(chunk: Buffer): string | undefined {
    this.#taken += chunk.length
    let next = this.#next
    for (let pass = this.#passes[this.#pass]; pass && next < chunk.length; pass = this.#passes[this.#pass]) {
      if (chunk[next]! > 4) return `a row uses filter ${chunk[next]}, which does not exist`
      next += pass.rowBytes
      if (++this.#row < pass.rows) continue
      this.#row = 0
      this.#pass++
    }
    this.#next = next - chunk.length
    return undefined
  }

  findMissingRows(): string | undefined {
    return this.surplusBytes >= 0 ? undefined : `the image data ends after ${this.#taken} of ${this.bytes} bytes`
  }
}
