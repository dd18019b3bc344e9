import { hash as digestOf } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'

/** The bytes of one upload, in memory or in a temporary file. The creator of the content disposes of it. */
export interface Content {
  readonly size: number
  /** Hexadecimal. */
  readonly sha256: string
  readonly bytes?: Buffer
  /** The temporary file. A local store may use it as the blob by a hard link or a rename. */
  readonly path?: string
  /** Opens a stream of all bytes, or of those from `start` to `end`, both inclusive. */
  stream(range?: { start: number; end: number }): Readable
}

export const memoryContent = (bytes: Buffer, sha256 = digestOf('sha256', bytes)): Content => ({
  size: bytes.length,
  sha256,
  bytes,
  stream: (range) =>
    Readable.from(bytes.length === 0 ? [] : [range ? bytes.subarray(range.start, range.end + 1) : bytes], { objectMode: false }),
})

export const fileContent = (path: string, size: number, sha256: string): Content => ({
  size,
  sha256,
  path,
  stream: (range) => createReadStream(path, { ...range, highWaterMark: 256 * 1024 }),
})

/** Reads the existing bytes from `start` to `end`, exclusive. For a few KiB at the beginning or the end. */
export async function readRange(content: Content, start: number, end: number): Promise<Buffer> {
  const from = Math.max(0, start)
  const to = Math.min(content.size, end)
  if (from >= to) return Buffer.alloc(0)
  if (content.bytes) return content.bytes.subarray(from, to)
  return Buffer.concat(await content.stream({ start: from, end: to - 1 }).toArray())
}
