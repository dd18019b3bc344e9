import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Source, TooLarge } from '../format.js'

const defaultChunk = 64 * 1024
// A nested archive up to this size stays in memory while it is looked into.
const heldInMemory = 8 * 1024 * 1024

abstract class RandomAccess implements Source {
  abstract readonly size: number
  readonly extension: string = ''
  abstract read(offset: number, length: number): Buffer

  whole(limit: number): Buffer {
    if (this.size > limit) throw new TooLarge(`${this.size} bytes, at most ${limit} are read at once`)
    return this.read(0, this.size)
  }

  *chunks(start = 0, end = this.size, chunkSize = defaultChunk): Generator<Buffer> {
    for (let at = start; at < end; at += chunkSize) yield this.read(at, Math.min(chunkSize, end - at))
  }
}

/** Bytes in memory. */
export class MemorySource extends RandomAccess {
  readonly size: number

  constructor(private readonly bytes: Buffer) {
    super()
    this.size = bytes.length
  }

  read(offset: number, length: number): Buffer {
    const start = Math.max(0, offset)
    return this.bytes.subarray(start, Math.max(start, offset + length))
  }
}

/** A part of another source: a member that was stored as it is. */
export class WindowSource extends RandomAccess {
  constructor(
    private readonly source: Source,
    private readonly start: number,
    readonly size: number,
  ) {
    super()
  }

  read(offset: number, length: number): Buffer {
    const from = Math.max(0, offset)
    const to = Math.min(this.size, offset + length)
    return to <= from ? Buffer.alloc(0) : this.source.read(this.start + from, to - from)
  }
}

class TemporarySource extends RandomAccess {
  constructor(
    private readonly file: number,
    readonly size: number,
  ) {
    super()
  }

  read(offset: number, length: number): Buffer {
    const from = Math.max(0, offset)
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, this.size - from)))
    let done = 0
    while (done < bytes.length) {
      const count = readSync(this.file, bytes, done, bytes.length - done, from + done)
      if (count === 0) break
      done += count
    }
    return bytes.subarray(0, done)
  }
}

/** Bytes that are written in order and then read at random: in memory while they are few. `close` when done. */
export class HeldBytes {
  private parts: Buffer[] = []
  private size = 0
  private file: number | undefined

  write(chunk: Buffer): void {
    if (this.file === undefined && this.size + chunk.length > heldInMemory) {
      this.file = openUnnamed()
      for (const part of this.parts.splice(0)) writeWhole(this.file, part)
    }
    if (this.file === undefined) this.parts.push(Buffer.from(chunk))
    else writeWhole(this.file, chunk)
    this.size += chunk.length
  }

  source(): Source {
    return this.file === undefined ? new MemorySource(Buffer.concat(this.parts)) : new TemporarySource(this.file, this.size)
  }

  close(): void {
    this.parts = []
    if (this.file !== undefined) closeSync(this.file)
    this.file = undefined
  }
}

/** Holds what `chunks` bring for random access and gives it to `use`. */
export async function holding<T>(chunks: AsyncIterable<Buffer>, use: (source: Source) => Promise<T>): Promise<T> {
  const held = new HeldBytes()
  try {
    for await (const chunk of chunks) held.write(chunk)
    return await use(held.source())
  } finally {
    held.close()
  }
}

/** A temporary file that has already lost its name: it goes with its descriptor, even if this worker is killed. */
function openUnnamed(): number {
  const folder = mkdtempSync(join(tmpdir(), 'assay-'))
  try {
    return openSync(join(folder, 'nested'), 'wx+', 0o600)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function writeWhole(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
}
