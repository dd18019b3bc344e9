import type { ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { headLength, recognise } from './containers.js'
import { listZipEntries } from './zip/directory.js'

const mostBytes = 16 * 1024
const mostEntries = 64

/**
 * Within these a small archive is looked at on the event loop, in less time than handing it to a worker takes. What goes beyond them is no
 * trap yet, but a worker's.
 */
export const smallLimits = { maxUnpackedBytes: 256 * 1024, maxRatio: 200, maxEntries: mostEntries, maxNesting: 0 }

/** One that zlib unpacks, with few members. */
export function isSmallArchive(source: RandomAccessSource): boolean {
  if (source.size > mostBytes) return false
  const kind = recognise(source.read(0, headLength))
  if (kind !== 'zip') return kind === 'gzip' || kind === 'tar'
  const limits: ReaderLimits = { ...smallLimits, maxPictureBits: 0, maxDepth: 0, deadline: Number.POSITIVE_INFINITY }
  const entries = listZipEntries(source, limits)
  return entries !== null && entries.length < mostEntries && entries.every(({ method }) => method === 0 || method === 8)
}
