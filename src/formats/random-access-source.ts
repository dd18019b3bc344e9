import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

const defaultChunk = 64 * 1024
// Readers look at headers a few bytes at a time: one system call serves many of them.
const windowSize = 64 * 1024

export class TooLarge extends Error {
  override readonly name = 'TooLarge'
}

/** Random access to a file under test, or to a part of one. Reads are synchronous: a worker does one file at a time. */
export abstract class RandomAccessSource {
  abstract readonly size: number
  readonly extension: string = ''

  /** Up to `length` bytes from `offset`; shorter at the end. Never throws for being out of range; never overwritten by a later read. */
  abstract read(offset: number, length: number): Buffer

  whole(limit: number): Buffer {
    if (this.size > limit)
      throw new TooLarge(`the file has ${this.size} bytes; at most ${limit} of this kind are looked at as a whole`)
    return this.read(0, this.size)
  }

  /** The content in chunks of at most `chunkSize`. A chunk is valid until the next is asked for. */
  *chunks(start = 0, end = this.size, chunkSize = defaultChunk): Generator<Buffer> {
    const last = within(end, this.size)
    for (let at = within(start, this.size); at < last; at += chunkSize) yield this.read(at, Math.min(chunkSize, last - at))
  }
}

/** Bytes that are held in memory: every read is a view of the same bytes. */
export class MemorySource extends RandomAccessSource {
  readonly size: number
  readonly #bytes: Buffer

  constructor(
    bytes: Uint8Array,
    override readonly extension = '',
  ) {
    super()
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.size = bytes.byteLength
  }

  read(offset: number, length: number): Buffer {
    const start = within(offset, this.size)
    return this.#bytes.subarray(start, within(offset + Math.max(0, length), this.size))
  }
}

export class WindowSource extends RandomAccessSource {
  constructor(
    private readonly source: RandomAccessSource,
    private readonly start: number,
    readonly size: number,
  ) {
    super()
  }

  read(offset: number, length: number): Buffer {
    const from = within(offset, this.size)
    return this.source.read(this.start + from, within(offset + Math.max(0, length), this.size) - from)
  }
}

export class FileSource extends RandomAccessSource {
  readonly size: number
  #window: Buffer = Buffer.alloc(0)
  #windowStart = 0

  readonly #fd: number

  constructor(
    file: string | number,
    override readonly extension = '',
  ) {
    super()
    this.#fd = typeof file === 'string' ? openSync(file, 'r') : file
    this.size = fstatSync(this.#fd).size
  }

  read(offset: number, length: number): Buffer {
    const start = within(offset, this.size)
    const wanted = within(offset + Math.max(0, length), this.size) - start
    if (wanted <= 0) return Buffer.alloc(0)
    if (wanted > windowSize / 2) return this.#fill(Buffer.allocUnsafeSlow(wanted), start)
    if (start < this.#windowStart || start + wanted > this.#windowStart + this.#window.length) {
      this.#window = this.#fill(Buffer.allocUnsafeSlow(Math.min(windowSize, this.size - start)), start)
      this.#windowStart = start
    }
    return this.#window.subarray(start - this.#windowStart, start - this.#windowStart + wanted)
  }

  override *chunks(start = 0, end = this.size, chunkSize = defaultChunk): Generator<Buffer> {
    const last = within(end, this.size)
    const chunk = Buffer.allocUnsafeSlow(Math.min(chunkSize, Math.max(1, last)))
    for (let at = within(start, this.size); at < last; ) {
      const filled = this.#fill(chunk.subarray(0, Math.min(chunk.length, last - at)), at)
      if (filled.length === 0) return
      yield filled
      at += filled.length
    }
  }

  close(): void {
    closeSync(this.#fd)
  }

  #fill(target: Buffer, position: number): Buffer {
    let filled = 0
    while (filled < target.length) {
      const read = readSync(this.#fd, target, filled, target.length - filled, position + filled)
      if (read === 0) break
      filled += read
    }
    return target.subarray(0, filled)
  }
}

const within = (position: number, size: number): number => Math.max(0, Math.min(size, position))
