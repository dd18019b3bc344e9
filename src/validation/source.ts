import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { type Source, TooLarge } from '../formats/format.js'

const defaultChunk = 64 * 1024
// Readers look at headers a few bytes at a time: one system call serves many of them.
const windowSize = 64 * 1024

/** A file that is held in memory: every read is a view of the same bytes. */
export class MemorySource implements Source {
  readonly size: number
  private readonly bytes: Buffer

  constructor(
    bytes: Uint8Array,
    readonly extension: string,
  ) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.size = bytes.byteLength
  }

  read(offset: number, length: number): Buffer {
    const start = within(offset, this.size)
    return this.bytes.subarray(start, within(offset + Math.max(0, length), this.size))
  }

  whole(limit: number): Buffer {
    if (this.size > limit) throw tooLarge(this.size, limit)
    return this.bytes
  }

  *chunks(start = 0, end = this.size, chunkSize = defaultChunk): Iterable<Buffer> {
    const last = within(end, this.size)
    for (let at = within(start, this.size); at < last; at += chunkSize)
      yield this.bytes.subarray(at, Math.min(last, at + chunkSize))
  }
}

/** A file on disk: read where it is looked at, never held as a whole. */
export class FileSource implements Source {
  readonly size: number
  private readonly fd: number
  private window: Buffer = Buffer.alloc(0)
  private windowStart = 0

  constructor(
    path: string,
    readonly extension: string,
  ) {
    this.fd = openSync(path, 'r')
    this.size = fstatSync(this.fd).size
  }

  /** What it gives is the caller's own: never overwritten by a later read. */
  read(offset: number, length: number): Buffer {
    const start = within(offset, this.size)
    const wanted = within(offset + Math.max(0, length), this.size) - start
    if (wanted <= 0) return Buffer.alloc(0)
    if (wanted > windowSize / 2) return this.fill(Buffer.allocUnsafeSlow(wanted), start)
    if (start < this.windowStart || start + wanted > this.windowStart + this.window.length) {
      this.window = this.fill(Buffer.allocUnsafeSlow(Math.min(windowSize, this.size - start)), start)
      this.windowStart = start
    }
    return this.window.subarray(start - this.windowStart, start - this.windowStart + wanted)
  }

  whole(limit: number): Buffer {
    if (this.size > limit) throw tooLarge(this.size, limit)
    return this.fill(Buffer.allocUnsafeSlow(this.size), 0)
  }

  *chunks(start = 0, end = this.size, chunkSize = defaultChunk): Iterable<Buffer> {
    const last = within(end, this.size)
    const chunk = Buffer.allocUnsafeSlow(Math.min(chunkSize, Math.max(1, last)))
    for (let at = within(start, this.size); at < last; ) {
      const filled = this.fill(chunk.subarray(0, Math.min(chunk.length, last - at)), at)
      if (filled.length === 0) return
      yield filled
      at += filled.length
    }
  }

  close(): void {
    closeSync(this.fd)
  }

  private fill(target: Buffer, position: number): Buffer {
    let filled = 0
    while (filled < target.length) {
      const read = readSync(this.fd, target, filled, target.length - filled, position + filled)
      if (read === 0) break
      filled += read
    }
    return target.subarray(0, filled)
  }
}

const within = (position: number, size: number): number => Math.max(0, Math.min(size, position))

const tooLarge = (size: number, limit: number) =>
  new TooLarge(`the file has ${size} bytes; at most ${limit} of this kind are looked at as a whole`)
