import type { ReaderLimits } from '../../format.js'
import type { RandomAccessSource } from '../../random-access-source.js'
import { listZipEntries } from './directory.js'

/**
 * Flags for strong encryption and masked header values, which an encrypted central directory implies (ZIP specification, 7.3).
 */
const maskedMember = 0x2041

/** True if the central directory is encrypted. An archive without an end record is truncated, not encrypted. */
export function hasEncryptedZipDirectory(source: RandomAccessSource, limits: ReaderLimits): boolean {
  const head = source.read(0, 8)
  if (head.length < 8 || head.readUInt32LE(0) !== 0x04034b50) return false
  if ((head.readUInt16LE(6) & maskedMember) !== maskedMember) return false
  const tail = source.read(Math.max(0, source.size - 65_557), 65_557)
  const end = tail.lastIndexOf('PK\x05\x06', undefined, 'latin1')
  if (end < 0 || end + 22 > tail.length || end + 22 + tail.readUInt16LE(end + 20) > tail.length) return false
  return listZipEntries(source, limits) === null
}
