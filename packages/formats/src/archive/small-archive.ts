import type { ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { detectContainer, headLength } from './containers.js'
import { listZipEntries } from './zip/directory.js'

const maxBytes = 16 * 1024
const maxEntries = 64

/** Archives within these limits are checked on the event loop, because starting a worker would take longer. */
export const smallLimits = { maxUnpackedBytes: 256 * 1024, maxRatio: 200, maxEntries: maxEntries, maxNesting: 0 }

/** True if the archive has few members and zlib can unpack all of them. */
export function isSmallArchive(source: RandomAccessSource): boolean {
  if (source.size > maxBytes) return false
  const kind = detectContainer(source.read(0, headLength))
  if (kind !== 'zip') return kind === 'gzip' || kind === 'tar'
  const limits: ReaderLimits = { ...smallLimits, maxPictureBits: 0, maxDepth: 0, deadline: Number.POSITIVE_INFINITY }
  const entries = listZipEntries(source, limits)
  return entries !== null && entries.length < maxEntries && entries.every(({ method }) => method === 0 || method === 8)
}
