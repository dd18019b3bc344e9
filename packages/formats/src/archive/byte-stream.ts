import type { RandomAccessSource } from '../random-access-source.js'

/** Sequential access to the bytes of a file or to an inflater's output. Skipped bytes of a file are not read from disk. */
export interface ByteStream {
  peek(length: number): Promise<Buffer>
  read(length: number): Promise<Buffer>
  skip(length: number): Promise<number>
  /** Returns the next `length` bytes in chunks. A chunk is valid until the next one is requested. */
  readChunks(length: number): AsyncIterable<Buffer>
}

export class SourceStream implements ByteStream {
  constructor(
    readonly source: RandomAccessSource,
    public position = 0,
    private readonly end = source.size,
  ) {}

  get remaining(): number {
    return this.end - this.position
  }

  async peek(length: number): Promise<Buffer> {
    return this.source.read(this.position, Math.min(length, this.end - this.position))
  }

  async read(length: number): Promise<Buffer> {
    const bytes = await this.peek(length)
    this.position += bytes.length
    return bytes
  }

  async skip(length: number): Promise<number> {
    const skipped = Math.min(length, this.end - this.position)
    this.position += skipped
    return skipped
  }

  async *readChunks(length: number): AsyncGenerator<Buffer> {
    const end = Math.min(this.end, this.position + length)
    for (const chunk of this.source.chunks(this.position, end)) {
      this.position += chunk.length
      yield chunk
    }
  }
}

export class IteratorStream implements ByteStream {
  private readonly iterator: AsyncIterator<Buffer>
  private held: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Buffer>) {
    this.iterator = chunks[Symbol.asyncIterator]()
  }

  async peek(length: number): Promise<Buffer> {
    const parts = [this.held]
    for (let bytes = this.held.length; bytes < length; ) {
      const last = parts.pop()!
      // A chunk is valid only until the next one is requested, so it is copied.
      if (last.length > 0) parts.push(Buffer.from(last))
      const next = await this.iterator.next()
      if (next.done) break
      parts.push(next.value)
      bytes += next.value.length
    }
    this.held = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    return this.held.subarray(0, length)
  }

  async read(length: number): Promise<Buffer> {
    const bytes = await this.peek(length)
    this.held = this.held.subarray(bytes.length)
    return bytes
  }

  async skip(length: number): Promise<number> {
    let skipped = 0
    for await (const chunk of this.readChunks(length)) skipped += chunk.length
    return skipped
  }

  async *readChunks(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0; ) {
      if (this.held.length === 0) {
        const next = await this.iterator.next()
        if (next.done) return
        this.held = next.value
      }
      const chunk = this.held.subarray(0, left)
      this.held = this.held.subarray(chunk.length)
      left -= chunk.length
      yield chunk
    }
  }

  async close(): Promise<void> {
    await this.iterator.return?.()
  }
}
