import { inflateSync } from 'node:zlib'
import { inflated, inflateFault } from '../archive/inflate.js'
import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'

export interface PngPicture {
  width: number
  height: number
  /** Of a pixel. */
  bits: number
  interlaced: boolean
}

/** A part of the compressed data: an IDAT chunk's content. */
export interface DataPart {
  start: number
  end: number
}

/** Bytes. Up to here the rows are inflated at once, beyond it piece by piece. */
const atOnce = 4 * 1024 * 1024
const mostSurplus = 1024 * 1024
const pieceBytes = 256 * 1024

/**
 * What is wrong with the pixels: rows that do not inflate, or are packed by a filter that does not exist, or are missing, or a checksum of
 * theirs that is wrong. Readers do not mind data behind the last row.
 */
export async function pixelFault(
  source: RandomAccessSource,
  parts: DataPart[],
  picture: PngPicture,
  limits: ReaderLimits,
): Promise<string | undefined> {
  const rows = new Rows(picture)
  if (rows.bytes <= atOnce) {
    const unpacked = inflatedWhole(
      parts.map(({ start, end }) => source.read(start, end - start)),
      rows.bytes,
    )
    if (unpacked) return rows.take(unpacked) ?? rows.missing()
  }
  try {
    for await (const chunk of inflated('zlib', packed(source, parts))) {
      checkDeadline(limits)
      const fault = rows.take(chunk)
      if (fault || rows.surplus > mostSurplus) return fault
    }
  } catch (error) {
    const fault = inflateFault(error)
    if (fault === undefined) throw error
    return fault
  }
  return rows.missing()
}

/** Put together: most writers make parts of 8 KiB, and each piece that is inflated costs a turn of zlib's thread. */
function* packed(source: RandomAccessSource, parts: DataPart[]): Generator<Buffer> {
  let held: Buffer[] = []
  let size = 0
  for (const { start, end } of parts)
    for (let at = start; at < end; at += pieceBytes) {
      const piece = source.read(at, Math.min(pieceBytes, end - at))
      held.push(piece)
      size += piece.length
      if (size < pieceBytes) continue
      yield Buffer.concat(held)
      held = []
      size = 0
    }
  yield Buffer.concat(held)
}

/** Undefined where it is damaged, or more than the picture's rows and a little. */
function inflatedWhole(parts: Buffer[], bytes: number): Buffer | undefined {
  const all = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  try {
    return inflateSync(all, { maxOutputLength: bytes + 1024, chunkSize: Math.max(64, bytes + 1) })
  } catch {
    return undefined
  }
}

/** The seven passes of an interlaced picture: first column and row, and the steps from one to the next. */
const adam7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const

/** Every row begins with the number of its filter. */
class Rows {
  readonly #passes: { rows: number; rowBytes: number }[]
  readonly bytes: number
  #taken = 0
  #pass = 0
  #row = 0
  /** Of the next filter, from the start of what comes next. */
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

  get surplus(): number {
    return this.#taken - this.bytes
  }

  take(chunk: Buffer): string | undefined {
    this.#taken += chunk.length
    let next = this.#next
    for (let pass = this.#passes[this.#pass]; pass && next < chunk.length; pass = this.#passes[this.#pass]) {
      if (chunk[next]! > 4) return `a row is packed by filter ${chunk[next]}, which does not exist`
      next += pass.rowBytes
      if (++this.#row < pass.rows) continue
      this.#row = 0
      this.#pass++
    }
    this.#next = next - chunk.length
    return undefined
  }

  missing(): string | undefined {
    return this.surplus >= 0 ? undefined : `they end after ${this.#taken} of ${this.bytes} bytes`
  }
}
