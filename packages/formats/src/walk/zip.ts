import { inflateChunks, inflateToBuffer, singleCallLimits } from '../archive/inflate.js'
import { readZipDirectory, type ZipEntry } from '../archive/zip/directory.js'
import { hasEncryptedZipDirectory } from '../archive/zip/encrypted-directory.js'
import { describesSameContent, findUnknownHeaders, type LocalMember, readLocalMember } from '../archive/zip/local-headers.js'
import { sevenZipMethods } from '../archive/zip/other-methods.js'
import { quoteName } from '../format-error.js'
import type { PackedMember } from '../member-observer.js'
import { MemorySource, type RandomAccessSource, WindowSource } from '../random-access-source.js'
import type { Members, Opener } from './opener.js'
import { addPackedMembers } from './sevenzip.js'
import { LimitExceeded, WalkEnded } from './visitor.js'

const stored = 0
const deflated = 8

/**
 * Visits the members in the central directory, then all other members with a local header, which sequential programs also
 * unpack.
 */
export const openZip: Opener = async (source, members) => {
  if (hasEncryptedZipDirectory(source, members.readerLimits))
    return members.reportUnscannedPart('encrypted', 'a zip archive has an encrypted directory')
  const known = new Map<number, number | undefined>()
  const others: ZipEntry[] = []
  let entries: ZipEntry[] = []
  let damage: unknown
  try {
    // Lists one member more than the limit allows, so that the walk reports that the limit is exceeded.
    const limits = { ...members.readerLimits, maxEntries: members.limits.maxMembers + 1 }
    entries = readZipDirectory(source, limits, { partial: true }).entries
    for (const entry of entries) {
      const local = readLocalMember(source, entry.localHeaderOffset)
      const name = entry.nameBytes.toString('utf8')
      members.reportDeclaredSize(entry.uncompressedSize)
      members.beginMember(name)
      if (entry.unicodeName !== undefined) members.beginMember(entry.unicodeName)
      if (entry.encrypted) reportEncryptedMember(name, members)
      else if (entry.method !== stored && entry.method !== deflated) others.push(entry)
      else damage = (await tryToAddEntry(source, entry, local, members)) ?? damage
      if (local && describesSameContent(local, entry)) known.set(local.offset, local.dataEnd)
    }
  } catch (error) {
    if (error instanceof WalkEnded) throw error
    damage = error
  }
  const readLimit = new ReadLimit(members)
  for (const offset of findUnknownHeaders(source, known, { maxCount: members.limits.maxMembers, step: members.step })) {
    const local = readLocalMember(source, offset)
    if (local) await addLocalMember(source, local, members.withUncommonMembers(), readLimit)
  }
  if (others.length > 0) await addMembersWithSevenZip(source, { entries, entriesToUnpack: new Set(others), members })
  if (damage) throw damage
}

function reportEncryptedMember(name: string, members: Members): void {
  members.reportUnscannedPart('encrypted', `the zip member ${quoteName(name)} is encrypted`)
}

/**
 * Uses 7-Zip to unpack members that are neither stored nor deflated. The sizes of all members are needed to split the output of
 * 7-Zip into members.
 */
async function addMembersWithSevenZip(
  source: RandomAccessSource,
  { entries, entriesToUnpack, members }: { entries: ZipEntry[]; entriesToUnpack: Set<ZipEntry>; members: Members },
): Promise<void> {
  const methods = [...new Set([...entriesToUnpack].map(({ method }) => method))]
  if (entries.some(({ encrypted }) => encrypted) || !methods.every((method) => sevenZipMethods.has(method)))
    return members.reportUnscannedPart(
      'unsupported',
      `a zip member uses the unsupported compression method ${methods.join(', ')}`,
    )
  const membersToVisit = new Set<PackedMember>()
  const packed = entries.map((entry) => {
    const member = { name: entry.name, size: entry.uncompressedSize, symlink: false, encrypted: false }
    if (entriesToUnpack.has(entry)) membersToVisit.add(member)
    return member
  })
  await addPackedMembers(source, { type: 'zip', name: 'ZIP archive', packed, members, membersToVisit })
}

/** Visits a member. Returns the error if the member is damaged. */
async function tryToAddEntry(
  source: RandomAccessSource,
  entry: ZipEntry,
  local: LocalMember | undefined,
  members: Members,
): Promise<unknown> {
  if (!local) return new Error(`the member ${quoteName(entry.name)} is not at the offset that the central directory declares`)
  if (members.wasObserved(entry.localHeaderOffset)) return undefined
  const { dataStart } = local
  try {
    const length = Math.min(dataStart + entry.compressedSize, source.size) - dataStart
    if (entry.method === stored) await members.addContent(new WindowSource(source, dataStart, length))
    else await addDeflatedMember(source, entry, dataStart, members)
    return undefined
  } catch (error) {
    if (error instanceof WalkEnded) throw error
    return error
  }
}

/** Visits a deflated member. Inflates small members synchronously, because a stream per member would take longer. */
async function addDeflatedMember(source: RandomAccessSource, entry: ZipEntry, start: number, members: Members): Promise<void> {
  const { compressedSize, uncompressedSize } = entry
  if (compressedSize <= singleCallLimits.input && uncompressedSize <= singleCallLimits.output) {
    const bytes = inflateToBuffer('raw', source.read(start, compressedSize), singleCallLimits.output, uncompressedSize)
    if (bytes) return members.addContent(new MemorySource(bytes))
  }
  await members.addStream(inflateChunks('raw', source.chunks(start, Math.min(source.size, start + compressedSize))))
}

const localChunkBytes = 16 * 1024
const maxInflatedAtOnce = 16 * localChunkBytes

async function addLocalMember(
  source: RandomAccessSource,
  local: LocalMember,
  members: Members,
  readLimit: ReadLimit,
): Promise<void> {
  const { method, dataStart, dataEnd = source.size } = local
  if (method !== stored && method !== deflated) return
  const name = local.name.toString('utf8')
  members.beginMember(name)
  if (local.encrypted) return reportEncryptedMember(name, members)
  try {
    if (method === stored) {
      readLimit.countReadBytes(dataEnd - dataStart)
      return await members.addContent(new WindowSource(source, dataStart, dataEnd - dataStart))
    }
    const packed = source.read(dataStart, Math.min(dataEnd - dataStart, localChunkBytes))
    const bytes = inflateToBuffer('raw', packed, maxInflatedAtOnce)
    readLimit.countReadBytes(packed.length)
    if (bytes) await members.addContent(new MemorySource(bytes))
    else await members.addStream(inflateChunks('raw', readLimit.readChunks(source, dataStart, dataEnd)))
  } catch (error) {
    // The bytes may only look like a local header, so errors that indicate damage are ignored.
    if (error instanceof WalkEnded) throw error
  }
}

const maxRead = { bytes: 64 * 1024 * 1024, times: 16 }

/** Limits the number of bytes read, because members without a central directory entry can overlap. */
class ReadLimit {
  readonly #members: Members
  #bytes = 0

  constructor(members: Members) {
    this.#members = members
  }

  countReadBytes(bytes: number): void {
    this.#members.step()
    this.#bytes += bytes
    if (this.#bytes > maxRead.bytes + maxRead.times * this.#members.fileSize) throw new LimitExceeded('the members overlap')
  }

  *readChunks(source: RandomAccessSource, start: number, end: number): Iterable<Buffer> {
    for (const chunk of source.chunks(start, end, localChunkBytes)) {
      this.countReadBytes(chunk.length)
      yield chunk
    }
  }
}
