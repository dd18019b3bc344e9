import { checkDeadline, type ReaderLimits } from '../../format.js'
import { createDamageError, createMaliciousError, quoteName } from '../../format-error.js'
import type { RandomAccessSource } from '../../random-access-source.js'
import { findExtraField, type ZipDirectory, type ZipEntry } from './directory.js'

const localSignature = 0x04034b50
const localSize = 30

export interface ZipMember {
  entry: ZipEntry
  dataStart: number
}

/** Compares every local header with the central directory and rejects overlapping members, without inflating data. */
export function locateMembers(source: RandomAccessSource, directory: ZipDirectory, limits: ReaderLimits): ZipMember[] {
  const entries = [...directory.entries].sort((a, b) => a.localHeaderOffset - b.localHeaderOffset)
  const members: ZipMember[] = []
  let free = 0
  for (const entry of entries) {
    if ((members.length & 255) === 0) checkDeadline(limits)
    const member = locateMember(source, entry)
    if (entry.localHeaderOffset < free) {
      throw createMaliciousError('overlapping_members', `the member ${quoteName(entry.name)} overlaps another member`)
    }
    free = member.dataStart + entry.compressedSize
    if (free > directory.start) throw createDamageError(`the member ${quoteName(entry.name)} extends into the central directory`)
    members.push(member)
  }
  return members
}

function locateMember(source: RandomAccessSource, entry: ZipEntry): ZipMember {
  const header = source.read(entry.localHeaderOffset, localSize + entry.nameBytes.length)
  if (header.length < localSize || header.readUInt32LE(0) !== localSignature) {
    throw createDamageError(`the member ${quoteName(entry.name)} is not at the offset that the central directory declares`)
  }
  const nameLength = header.readUInt16LE(26)
  checkZip64Field(source, entry, header)
  const fault = findHeaderMismatch(entry, header, header.subarray(localSize, localSize + nameLength), nameLength)
  if (fault)
    throw createDamageError(
      `the member ${quoteName(entry.name)} has a different ${fault} in its local header than in the central directory`,
    )
  return { entry, dataStart: entry.localHeaderOffset + localSize + nameLength + header.readUInt16LE(28) }
}

function findHeaderMismatch(entry: ZipEntry, header: Buffer, name: Buffer, nameLength: number): string | undefined {
  const flags = header.readUInt16LE(6)
  // Bit 13 means that strong encryption masks the values in the local header (ZIP specification, 7.3), so they cannot be
  // compared.
  if (entry.flags & 0x2000) return undefined
  if (nameLength !== entry.nameBytes.length || !name.equals(entry.nameBytes)) {
    if (!namesMatch(entry, flags, name, nameLength)) return 'name'
  }
  if (header.readUInt16LE(8) !== entry.method) return 'method'
  if ((flags & 1) !== (entry.flags & 1)) return 'encryption flag'
  // If the member has a data descriptor (bit 3), its local header contains neither the checksum nor the sizes, so they cannot be
  // compared.
  if ((flags | entry.flags) & 8) return undefined
  if (header.readUInt32LE(14) !== entry.crc32) return 'checksum'
  if (sizesDiffer(header.readUInt32LE(18), entry.compressedSize) || sizesDiffer(header.readUInt32LE(22), entry.uncompressedSize))
    return 'size'
  return undefined
}

// A size with this value is only a placeholder. The zip64 field then contains the actual size.
const saturatedSize = 0xffffffff
const sizesDiffer = (localValue: number, centralValue: number) => localValue !== saturatedSize && localValue !== centralValue

/**
 * Checks the zip64 extra field, which is required if a 32-bit size is 0xFFFFFFFF. If a data descriptor follows, the field only has
 * to be present.
 */
function checkZip64Field(source: RandomAccessSource, entry: ZipEntry, header: Buffer): void {
  const [packed, unpacked] = [header.readUInt32LE(18) === saturatedSize, header.readUInt32LE(22) === saturatedSize]
  if (!packed && !unpacked) return
  const place = entry.localHeaderOffset + localSize + header.readUInt16LE(26)
  const field = findExtraField(source.read(place, header.readUInt16LE(28)), 1)
  if (!field) throw createDamageError(`the member ${quoteName(entry.name)} has no size in its local header`)
  if ((header.readUInt16LE(6) | entry.flags) & 0x2008) return
  const readSize = (offset: number) => (offset + 8 <= field.length ? Number(field.readBigUInt64LE(offset)) : -1)
  if ((unpacked && readSize(0) !== entry.uncompressedSize) || (packed && readSize(unpacked ? 8 : 0) !== entry.compressedSize))
    throw createDamageError(
      `the member ${quoteName(entry.name)} has a different size in its local header than in the central directory`,
    )
}

/** Compares names as common programs do, ignoring differences in slashes and encoding. */
function namesMatch(entry: ZipEntry, flags: number, name: Buffer, nameLength: number): boolean {
  if (((flags ^ entry.flags) & 0x800) !== 0 && entry.nameBytes.some((byte) => byte >= 0x80)) return true
  if (nameLength !== entry.nameBytes.length) return false
  const toForwardSlashes = (bytes: Buffer) => bytes.toString('latin1').replaceAll('\\', '/')
  return toForwardSlashes(name) === toForwardSlashes(entry.nameBytes)
}
