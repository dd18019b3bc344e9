import { Readable } from 'node:stream'
import { inflateRawSync } from 'node:zlib'
import { type Entry, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from 'yauzl'
import type { LookSource } from './look-source.js'

/** yauzl on a source. Its own reader makes a stream for every few bytes. */
class SourceReader extends RandomAccessReader {
  readonly #source: LookSource

  constructor(source: LookSource) {
    super()
    this.#source = source
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(chunks(this.#source, start, end))
  }

  override read(buffer: Buffer, offset: number, length: number, position: number, callback: (error: Error | null) => void): void {
    const bytes = this.#source.read(position, length)
    bytes.copy(buffer, offset)
    process.nextTick(callback, bytes.length === length ? null : new Error('unexpected end of the file'))
  }
}

/** A source in order, a chunk at a time. */
export function* chunks(source: LookSource, start = 0, end = source.size): Iterable<Buffer> {
  for (let at = start; at < end; at += 64 * 1024) yield source.read(at, Math.min(64 * 1024, end - at))
}

/** Opens a zip without judging it: names and sizes are another check's business. */
export function openZip(source: LookSource): Promise<ZipFile> {
  return fromRandomAccessReaderPromise(new SourceReader(source), source.size, {
    autoClose: false,
    decodeStrings: false,
    validateEntrySizes: false,
  })
}

const smallPacked = 1024 * 1024

/** A member's bytes: at once where they are few (a stream for each of thousands of small members costs more than they do), else as a stream. */
export async function openMember(zip: ZipFile, entry: Entry, source: LookSource, most: number): Promise<Buffer | Readable> {
  if (entry.compressedSize <= smallPacked && entry.uncompressedSize <= most) {
    const { fileDataStart } = await zip.readLocalFileHeaderPromise(entry, { minimal: true })
    const packed = source.read(fileDataStart, entry.compressedSize)
    if (entry.compressionMethod === 0) return packed
    const unpacked = inflateUpTo(packed, most)
    if (unpacked) return unpacked
  }
  return zip.openReadStreamPromise(entry)
}

/** Undefined where the member is larger than its entry tells, or damaged: the stream gives what there is. */
function inflateUpTo(packed: Buffer, most: number): Buffer | undefined {
  try {
    return inflateRawSync(packed, { maxOutputLength: most })
  } catch {
    return undefined
  }
}
