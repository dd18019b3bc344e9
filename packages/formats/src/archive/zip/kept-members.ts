import type { RandomAccessSource } from '../../random-access-source.js'
import type { ZipMember } from './local.js'

// Bytes of one archive: what comes after them is unpacked again.
const mostKept = 8 * 1024 * 1024

const kept = new WeakMap<RandomAccessSource, { members: Map<string, Buffer>; bytes: number }>()

/** What a reader unpacks of this zip is kept for the scanner, as long as the source is there. */
export const keepMembers = (source: RandomAccessSource): void => void kept.set(source, { members: new Map(), bytes: 0 })

export function keepMember(source: RandomAccessSource, member: ZipMember, content: Buffer): void {
  const archive = kept.get(source)
  if (!archive || archive.bytes + content.length > mostKept) return
  archive.bytes += content.length
  archive.members.set(placeOf(member), content)
}

/** Where a member that comes in chunks can be kept whole; undefined where it will not be. */
export function roomToKeep(source: RandomAccessSource, { entry }: ZipMember): Buffer | undefined {
  const archive = kept.get(source)
  const isKept = archive && archive.bytes + entry.uncompressedSize <= mostKept
  return isKept ? Buffer.allocUnsafeSlow(entry.uncompressedSize) : undefined
}

export const keptMember = (source: RandomAccessSource, member: ZipMember): Buffer | undefined =>
  kept.get(source)?.members.get(placeOf(member))

const placeOf = ({ entry, dataStart }: ZipMember): string => `${dataStart} ${entry.compressedSize} ${entry.uncompressedSize}`
