import { checkDeadline, type ReaderLimits } from '../format.js'
import { createMaliciousError } from '../format-error.js'
import type { RandomAccessSource } from '../random-access-source.js'

export interface Chunk {
  type: string
  start: number
  /** Declared length in bytes. The file may contain fewer. */
  size: number
}

/** Iterates over the chunks of a RIFF file up to `end`. Throws if the file has too many chunks. RIFX files are big-endian. */
export function* readRiffChunks(
  source: RandomAccessSource,
  limits: ReaderLimits,
  { end = source.size, isBigEndian = false }: { end?: number; isBigEndian?: boolean },
): Generator<Chunk> {
  let count = 0
  for (let at = 12; at + 8 <= end; ) {
    checkDeadline(limits)
    if (++count > limits.maxEntries)
      throw createMaliciousError('chunk_flood', `the file has more than ${limits.maxEntries} chunks`)
    const head = source.read(at, 8)
    const chunk = {
      type: head.toString('latin1', 0, 4),
      start: at + 8,
      size: isBigEndian ? head.readUInt32BE(4) : head.readUInt32LE(4),
    }
    yield chunk
    at = getChunkEnd(source, chunk)
  }
}

// Returns the end of a chunk. Chunks of odd length are padded to an even length, but some programs omit the padding.
function getChunkEnd(source: RandomAccessSource, { start, size }: Chunk): number {
  const end = start + size
  const isPadded = (size & 1) !== 0 && !/^[A-Za-z0-9 _-]{4}$/.test(source.read(end, 4).toString('latin1'))
  return isPadded ? end + 1 : end
}
