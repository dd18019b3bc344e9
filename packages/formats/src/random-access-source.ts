import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

const defaultChunkSize = 64 * 1024
// Size of the read-ahead window in bytes. Most reads are only a few bytes long.
const windowSize = 64 * 1024
/** Files up to this size are read page by page into a buffer that the thread reuses. Each page is read from disk only once. */
const maxCachedBytes = 4 * 1024 * 1024
const pageBytes = 256 * 1024
/** Idle read buffer, or undefined while it is in use. A new buffer per file would cause frequent garbage collection. */
let idleBuffer: Buffer | undefined

export class TooLarge extends Error {
  override readonly name = 'TooLarge'
}

/** Random access to a file or a part of a file. Reads are synchronous, because a worker processes one file at a time. */
export abstract class RandomAccessSource {
  abstract readonly size: number
  readonly extension: string = ''

  /** Returns `length` bytes from `offset`, or fewer at the end of the file. Later reads do not overwrite them. */
  abstract read(offset: number, length: number): Buffer

  readAll(limit: number): Buffer {
    if (this.size > limit) throw new TooLarge(`the file is ${this.size} bytes, but the maximum for this type is ${limit} bytes`)
    return this.read(0, this.size)
  }

  /** Like `read`, but reads from disk into the buffer that `getBuffer` returns, which must have at least `length` bytes. */
  readInto(_getBuffer: () => Buffer, offset: number, length: number): Buffer {
    return this.read(offset, length)
  }

  /** Iterates over the content in chunks of up to `chunkSize`. A chunk is valid until the next one is requested. */
  *chunks(start = 0, end = this.size, chunkSize = defaultChunkSize): Generator<Buffer> {
    const last = clamp(end, this.size)
    for (let at = clamp(start, this.size); at < last; at += chunkSize) yield this.read(at, Math.min(chunkSize, last - at))
  }
}

/** Random access to bytes in memory. Reads return views, not copies. */
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
    const start = clamp(offset, this.size)
    return this.#bytes.subarray(start, clamp(offset + Math.max(0, length), this.size))
  }
}

export class WindowSource extends RandomAccessSource {
  constructor(
    private readonly source: RandomAccessSource,
    private readonly start: number,
    readonly size: number,
    override readonly extension = '',
  ) {
    super()
  }

  read(offset: number, length: number): Buffer {
    const from = clamp(offset, this.size)
    return this.source.read(this.start + from, clamp(offset + Math.max(0, length), this.size) - from)
  }

  override readInto(getBuffer: () => Buffer, offset: number, length: number): Buffer {
    const from = clamp(offset, this.size)
    return this.source.readInto(getBuffer, this.start + from, clamp(offset + Math.max(0, length), this.size) - from)
  }
}

export class FileSource extends RandomAccessSource {
  readonly size: number
  /** Content of a small file. `#pages` marks the pages that were read. */
  #content: Buffer | undefined
  readonly #pages: Uint8Array
  #window: Buffer = Buffer.alloc(0)
  #windowStart = 0
  readonly #fd: number
  #closed = false

  constructor(
    file: string | number,
    override readonly extension = '',
  ) {
    super()
    this.#fd = typeof file === 'string' ? openSync(file, 'r') : file
    this.size = fstatSync(this.#fd).size
    this.#pages = new Uint8Array(this.size <= maxCachedBytes ? Math.ceil(this.size / pageBytes) : 0)
  }

  read(offset: number, length: number): Buffer {
    const start = clamp(offset, this.size)
    const wanted = clamp(offset + Math.max(0, length), this.size) - start
    if (wanted <= 0) return Buffer.alloc(0)
    if (this.#pages.length > 0) return this.#readFromPages(start, start + wanted)
    if (wanted > windowSize / 2) return this.#readFully(Buffer.allocUnsafeSlow(wanted), start)
    if (start < this.#windowStart || start + wanted > this.#windowStart + this.#window.length) {
      this.#window = this.#readFully(Buffer.allocUnsafeSlow(Math.min(windowSize, this.size - start)), start)
      this.#windowStart = start
    }
    return this.#window.subarray(start - this.#windowStart, start - this.#windowStart + wanted)
  }

  override readInto(getBuffer: () => Buffer, offset: number, length: number): Buffer {
    if (this.#pages.length > 0) return this.read(offset, length)
    const start = clamp(offset, this.size)
    return this.#readFully(getBuffer().subarray(0, clamp(offset + Math.max(0, length), this.size) - start), start)
  }

  override *chunks(start = 0, end = this.size, chunkSize = defaultChunkSize): Generator<Buffer> {
    if (this.#pages.length > 0) return yield* super.chunks(start, end, chunkSize)
    const last = clamp(end, this.size)
    let at = clamp(start, this.size)
    const chunk = Buffer.allocUnsafeSlow(Math.min(chunkSize, Math.max(1, last - at)))
    while (at < last) {
      const filled = this.#readFully(chunk.subarray(0, Math.min(chunk.length, last - at)), at)
      if (filled.length === 0) return
      yield filled
      at += filled.length
    }
  }

  /** Closes the file and invalidates the buffers that `read` returned. */
  close(): void {
    closeSync(this.#fd)
    this.#closed = true
    if (this.#content) idleBuffer = this.#content
    this.#content = undefined
  }

  #readFromPages(start: number, end: number): Buffer {
    if (this.#closed) throw new Error('the file is closed')
    if (!this.#content) {
      this.#content = idleBuffer ?? Buffer.allocUnsafeSlow(maxCachedBytes)
      idleBuffer = undefined
    }
    const content = this.#content
    const last = Math.floor((end - 1) / pageBytes)
    for (let page = Math.floor(start / pageBytes); page <= last; page++) {
      if (this.#pages[page]) continue
      let after = page + 1
      while (after <= last && !this.#pages[after]) after++
      const [from, to] = [page * pageBytes, Math.min(this.size, after * pageBytes)]
      const filled = this.#readFully(content.subarray(from, to), from)
      // If the file was truncated during the read, the reused buffer still contains bytes of the previous file, so they are
      // cleared.
      content.fill(0, from + filled.length, to)
      this.#pages.fill(1, page, after)
      page = after
    }
    return content.subarray(start, end)
  }

  #readFully(target: Buffer, position: number): Buffer {
    if (this.#closed) throw new Error('the file is closed')
    let filled = 0
    while (filled < target.length) {
      const read = readSync(this.#fd, target, filled, target.length - filled, position + filled)
      if (read === 0) break
      filled += read
    }
    return target.subarray(0, filled)
  }
}

const clamp = (position: number, size: number): number => Math.max(0, Math.min(size, position))
