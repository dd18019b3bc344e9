import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Source, TooLarge } from './format.js'

const defaultPiece = 64 * 1024
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

  *pieces(start = 0, end = this.size, pieceSize = defaultPiece): Generator<Buffer> {
    for (let at = start; at < end; at += pieceSize) yield this.read(at, Math.min(pieceSize, end - at))
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

/** Holds what `pieces` bring for random access, in memory while small, and gives it to `use`. */
export async function holding<T>(pieces: AsyncIterable<Buffer>, use: (source: Source) => Promise<T>): Promise<T> {
  const parts: Buffer[] = []
  let size = 0
  let file: number | undefined
  try {
    for await (const piece of pieces) {
      if (file === undefined && size + piece.length > heldInMemory) {
        file = openUnnamed()
        for (const part of parts.splice(0)) writeWhole(file, part)
      }
      if (file === undefined) parts.push(Buffer.from(piece))
      else writeWhole(file, piece)
      size += piece.length
    }
    return await use(file === undefined ? new MemorySource(Buffer.concat(parts)) : new TemporarySource(file, size))
  } finally {
    if (file !== undefined) closeSync(file)
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
