import { checkDeadline, type ReaderLimits } from '../../format.js'
import { createDamageError, createMaliciousError, FormatError } from '../../format-error.js'
import type { RandomAccessSource } from '../../random-access-source.js'

export interface ZipEntry {
  name: string
  nameBytes: Buffer
  /** Name in the Info-ZIP Unicode path field, which takes precedence over `name`. */
  unicodeName?: string
  flags: number
  /** Compression method. 0: stored, 8: deflated, 99: AES. The ZIP specification (4.4.5) lists the others. */
  method: number
  crc32: number
  compressedSize: number
  uncompressedSize: number
  localHeaderOffset: number
  encrypted: boolean
  symlink: boolean
}

export interface ZipDirectory {
  entries: ZipEntry[]
  /** Offset of the central directory, before which every member must end. */
  start: number
  /** Number of bytes before the archive, such as a self-extracting program. Offsets in the archive do not include them. */
  prefix: number
  commentTruncated: boolean
}

const centralSignature = 0x02014b50
const endSize = 22
const centralSize = 46
const maxDirectoryBytes = 64 * 1024 * 1024

interface EndRecord {
  /** Offset of the zip64 end record if one exists, otherwise of the end record. */
  position: number
  entries: number
  size: number
  offset: number
  zip64: boolean
  shift?: number
  commentTruncated: boolean
}

const splitArchive = 'the file is one part of a split zip archive. Join the parts, or upload an archive that is not split'

/** Lists members for type detection, up to `maxEntries`. Returns null if the central directory is unreadable. */
export function listZipEntries(source: RandomAccessSource, limits: ReaderLimits): ZipEntry[] | null {
  try {
    return readZipDirectory(source, limits, { partial: true }).entries
  } catch (error) {
    if (error instanceof FormatError) return null
    throw error
  }
}

/** True if the central directory is intact, even if it has too many members. */
export function isCentralDirectoryIntact(source: RandomAccessSource, limits: ReaderLimits): boolean {
  try {
    return readZipDirectory(source, limits) !== undefined
  } catch (error) {
    if (error instanceof FormatError) return error.isMalicious
    throw error
  }
}

/** Reads the central directory. Throws a `FormatError` if `unzip` would reject the archive. */
export function readZipDirectory(source: RandomAccessSource, limits: ReaderLimits, { partial = false } = {}): ZipDirectory {
  const end = findEndRecord(source)
  if (!partial && end.entries > limits.maxEntries) throw createTooManyMembersError(end.entries, limits)
  const { start, prefix } = locateDirectory(source, end)
  const length = end.position - start
  if (length > maxDirectoryBytes && !partial)
    throw createMaliciousError(
      'archive_entries',
      `the zip archive's central directory is ${length} bytes, which exceeds the limit`,
    )
  const bytes = source.read(start, Math.min(length, maxDirectoryBytes))
  const entries = readEntries(bytes, prefix, limits, partial)
  const counted = end.zip64 ? entries.length : entries.length & 0xffff
  if (!partial && counted !== end.entries && (entries.length & 0xffff) !== end.entries) {
    throw createDamageError(
      `the zip archive's central directory lists ${entries.length} members, but the end record declares ${end.entries}`,
    )
  }
  return { entries, start, prefix, commentTruncated: end.commentTruncated }
}

const createTooManyMembersError = (count: number, limits: ReaderLimits) =>
  createMaliciousError('archive_entries', `the archive has ${count} members. The maximum is ${limits.maxEntries}`)

function findEndRecord(source: RandomAccessSource): EndRecord {
  const tailSize = Math.min(source.size, endSize + 0xffff + 1024)
  const tailStart = source.size - tailSize
  const tail = source.read(tailStart, tailSize)
  const at = findLastEndRecord(tail)
  if (at < 0) throw createDamageError('the file has no zip central directory at its end')
  const record = tail.subarray(at, at + endSize)
  const thisDisk = record.readUInt16LE(4)
  const directoryDisk = record.readUInt16LE(6)
  const end: EndRecord = {
    position: tailStart + at,
    entries: record.readUInt16LE(10),
    size: record.readUInt32LE(12),
    offset: record.readUInt32LE(16),
    zip64: false,
    commentTruncated: at + endSize + record.readUInt16LE(20) > tail.length,
  }
  const large = readZip64End(source, end)
  if (large) return large
  if (thisDisk !== 0 || directoryDisk !== 0) throw createDamageError(splitArchive)
  return end
}

function findLastEndRecord(tail: Buffer): number {
  let fallback = -1
  for (
    let at = tail.lastIndexOf('PK\x05\x06', undefined, 'latin1');
    at >= 0;
    at = at === 0 ? -1 : tail.lastIndexOf('PK\x05\x06', at - 1, 'latin1')
  ) {
    if (at + endSize > tail.length) continue
    if (at + endSize + tail.readUInt16LE(at + 20) <= tail.length) return at
    if (fallback < 0) fallback = at
  }
  return fallback
}

function readZip64End(source: RandomAccessSource, end: EndRecord): EndRecord | undefined {
  // The end record does not show whether a zip64 end record exists. Some programs omit it even if a field of the end record has
  // its maximum value. Info-ZIP writes this record even for small values if it compresses standard input.
  const locator = source.read(end.position - 20, 20)
  if (end.position < 20 || locator.length < 20 || locator.readUInt32LE(0) !== 0x07064b50) return undefined
  if (locator.readUInt32LE(16) > 1) throw createDamageError(splitArchive)
  const record = findZip64Record(source, end.position - 20, Number(locator.readBigUInt64LE(8)))
  return {
    ...end,
    position: record.position,
    shift: record.shift,
    entries: end.entries === 0xffff ? Number(record.bytes.readBigUInt64LE(32)) : end.entries,
    size: end.size === 0xffffffff ? Number(record.bytes.readBigUInt64LE(40)) : end.size,
    offset: end.offset === 0xffffffff ? Number(record.bytes.readBigUInt64LE(48)) : end.offset,
    zip64: true,
  }
}

function findZip64Record(
  source: RandomAccessSource,
  locatorOffset: number,
  declaredOffset: number,
): { position: number; shift: number; bytes: Buffer } {
  for (const position of [declaredOffset, locatorOffset - 56]) {
    if (!Number.isSafeInteger(position) || position < 0 || position > locatorOffset - 56) continue
    const bytes = source.read(position, 56)
    if (bytes.length === 56 && bytes.readUInt32LE(0) === 0x06064b50) return { position, shift: position - declaredOffset, bytes }
  }
  throw createDamageError('the zip64 end record is not at the offset that its locator declares')
}

function locateDirectory(source: RandomAccessSource, end: EndRecord): { start: number; prefix: number } {
  const startsWithMember = source.read(0, 4).toString('latin1') === 'PK\x03\x04'
  if (end.entries === 0 && end.size === 0) {
    if (startsWithMember && end.position > 0)
      throw createMaliciousError('hidden_members', "the zip archive's central directory is empty, but members precede it")
    return { start: end.position, prefix: 0 }
  }
  const prefix = end.position - (end.offset + end.size)
  if (prefix < 0) throw createDamageError(`${-prefix} bytes are missing from the zip archive`)
  const start = end.offset + prefix
  // Bytes before the archive shift the central directory and the zip64 end record by the same distance.
  if (isCentralHeader(source, start) && (end.shift === undefined || end.shift === prefix)) {
    if (prefix > 0 && startsWithMember)
      throw createDamageError('the zip archive is truncated: the only complete central directory belongs to a nested archive')
    return { start, prefix }
  }
  // A digital signature may follow the central directory (ZIP specification, 4.3.13). The declared size does not include it.
  const signed = source.read(end.offset + end.size, 4).toString('latin1') === 'PK\x05\x05'
  if (signed && isCentralHeader(source, end.offset) && !end.shift) return { start: end.offset, prefix: 0 }
  throw createDamageError("the zip archive's central directory is not at the offset that the end record declares")
}

function isCentralHeader(source: RandomAccessSource, position: number): boolean {
  const signature = source.read(position, 4)
  return signature.length === 4 && signature.readUInt32LE(0) === centralSignature
}

function readEntries(bytes: Buffer, prefix: number, limits: ReaderLimits, allowPartial: boolean): ZipEntry[] {
  const entries: ZipEntry[] = []
  let at = 0
  while (at + centralSize <= bytes.length && bytes.readUInt32LE(at) === centralSignature) {
    if (entries.length >= limits.maxEntries) {
      if (allowPartial) break
      throw createTooManyMembersError(entries.length + 1, limits)
    }
    if ((entries.length & 1023) === 0) checkDeadline(limits)
    const length = centralSize + bytes.readUInt16LE(at + 28) + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32)
    if (at + length > bytes.length) throw createDamageError("the zip archive's central directory is truncated")
    entries.push(readEntry(bytes.subarray(at, at + length), prefix))
    at += length
  }
  return entries
}

function readEntry(header: Buffer, prefix: number): ZipEntry {
  const flags = header.readUInt16LE(8)
  const nameEnd = centralSize + header.readUInt16LE(28)
  const nameBytes = header.subarray(centralSize, nameEnd)
  const extra = header.subarray(nameEnd, nameEnd + header.readUInt16LE(30))
  const sizes = readZip64Sizes(extra, header.readUInt32LE(24), header.readUInt32LE(20), header.readUInt32LE(42))
  const host = header.readUInt16LE(4) >> 8
  const entry: ZipEntry = {
    name: nameBytes.toString(flags & 0x800 ? 'utf8' : 'latin1'),
    nameBytes,
    flags,
    method: header.readUInt16LE(10),
    crc32: header.readUInt32LE(16),
    uncompressedSize: sizes[0],
    compressedSize: sizes[1],
    localHeaderOffset: sizes[2] + prefix,
    encrypted: (flags & 1) !== 0,
    // Unix and macOS store the file mode in the upper half of the external attributes.
    symlink: (host === 3 || host === 19) && header.readUInt32LE(38) >>> 28 === 0xa,
  }
  const unicode = findExtraField(extra, 0x7075)
  if (unicode && unicode.length > 5) entry.unicodeName = unicode.subarray(5).toString('utf8')
  return entry
}

function readZip64Sizes(extra: Buffer, ...values: [number, number, number]): [number, number, number] {
  const field = findExtraField(extra, 1)
  if (!field) return values
  let at = 0
  return values.map((value) => {
    if (value !== 0xffffffff || at + 8 > field.length) return value
    at += 8
    return Number(field.readBigUInt64LE(at - 8))
  }) as [number, number, number]
}

export function findExtraField(extra: Buffer, id: number): Buffer | undefined {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    const end = at + 4 + extra.readUInt16LE(at + 2)
    if (extra.readUInt16LE(at) === id && end <= extra.length) return extra.subarray(at + 4, end)
  }
  return undefined
}
