import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { trap } from '../refusal.js'

export interface Chunk {
  type: string
  start: number
  /** As it is claimed: there may be less. */
  size: number
}

/** The chunks of a RIFF file up to `end`; of a RIFX one the numbers are big-endian. Throws where they are a flood. */
export function* chunksOf(
  source: RandomAccessSource,
  limits: ReaderLimits,
  { end = source.size, big = false }: { end?: number; big?: boolean },
): Generator<Chunk> {
  let count = 0
  for (let at = 12; at + 8 <= end; ) {
    checkDeadline(limits)
    if (++count > limits.maxEntries) throw trap('chunk_flood', `has more than ${limits.maxEntries} chunks`)
    const head = source.read(at, 8)
    const chunk = { type: head.toString('latin1', 0, 4), start: at + 8, size: big ? head.readUInt32BE(4) : head.readUInt32LE(4) }
    yield chunk
    at = endOf(source, chunk)
  }
}

// Chunks of odd length are padded, except by the programs that forget to.
function endOf(source: RandomAccessSource, { start, size }: Chunk): number {
  const end = start + size
  const isPadded = (size & 1) !== 0 && !/^[A-Za-z0-9 _-]{4}$/.test(source.read(end, 4).toString('latin1'))
  return isPadded ? end + 1 : end
}
