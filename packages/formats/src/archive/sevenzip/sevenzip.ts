import { crc32 } from 'node:zlib'
import type { ReaderLimits } from '../../format.js'
import { createDamageError } from '../../format-error.js'
import type { PackedMember, SevenZipListing, SevenZipRun } from '../../member-observer.js'
import type { RandomAccessSource } from '../../random-access-source.js'
import type { ArchiveLevel } from '../archive-level.js'
import { ArchiveLinks, checkMemberName } from '../member-names.js'
import { combineSinks } from '../zip/member.js'
import { listMembers, unpackMembers } from './members.js'
import { NestedMembers } from './nested-members.js'

// 7-Zip in WebAssembly unpacks about 40 MB of LZMA per second. This value allows for machines that are half as fast.
const bytesPerMillisecond = 20_000

export interface SevenZipFacts {
  entries: number
  unpackedBytes: number
}

/** Checks a 7z archive as strictly as `7z t`. Checks the headers before the data, because they reveal malicious archives. */
export async function checkSevenZip(source: RandomAccessSource, level: ArchiveLevel): Promise<SevenZipFacts> {
  const start = readStartHeader(source)
  if (isDirectoryEncrypted(source, start)) {
    level.budget.encrypted = true
    level.addNote('the archive and its directory are encrypted, so only the outer headers were checked')
    return { entries: 0, unpackedBytes: 0 }
  }
  return checkMembers(source, level, { type: '7z', displayName: '7z archive' })
}

export interface SevenZipKind {
  type: string
  displayName: string
}

export async function checkMembers(source: RandomAccessSource, level: ArchiveLevel, kind: SevenZipKind): Promise<SevenZipFacts> {
  const { type, displayName } = kind
  const listing = await listMembers(source, type, level.limits, (name) => {
    level.budget.addEntries(1)
    checkMemberName(name)
  })
  const { run, members } = listing
  const facts = { entries: members.length, unpackedBytes: members.reduce((sum, { size }) => sum + toFiniteSize(size), 0) }
  if (isOutOfMemory(run)) {
    level.addNote('reading the archive directory needs more memory than allowed, so only the outer headers were checked')
    return facts
  }
  if (requiresPassword(run)) {
    level.budget.encrypted = true
    level.addNote('the archive and its directory are encrypted, so only the outer headers were checked')
    return facts
  }
  if (run.exitCode > 1 && !hasTrailingData(run))
    throw createDamageError(`the ${displayName} cannot be opened: ${getFailureReason(run)}`)
  level.budget.checkDeclaredBytes(facts.unpackedBytes)
  const encrypted = members.filter((member) => member.encrypted).length
  if (encrypted > 0) {
    level.budget.encrypted = true
    level.addNote(`${encrypted} of ${members.length} members are encrypted: only the headers were checked`)
  } else await testMembers(source, listing, { ...kind, unpackedBytes: facts.unpackedBytes }, level)
  return facts
}

const toFiniteSize = (size: number) => (Number.isFinite(size) ? size : 0)

/** Checks the signature header and the checksum of the directory (7zFormat.txt in the 7-Zip sources). */
function readStartHeader(source: RandomAccessSource): { position: number; size: number } {
  const start = source.read(0, 32)
  if (start.length < 32 || start.toString('latin1', 0, 6) !== '7z\xbc\xaf\x27\x1c')
    throw createDamageError('the file does not start with a 7z header')
  if (crc32(start.subarray(12, 32)) !== start.readUInt32LE(8))
    throw createDamageError('the checksum of the 7z start header is incorrect')
  const offset = start.readBigUInt64LE(12)
  const size = start.readBigUInt64LE(20)
  if (32n + offset + size > BigInt(source.size))
    throw createDamageError('the 7z archive is truncated: its directory is beyond the end of the file')
  let sum = 0
  for (const chunk of source.chunks(32 + Number(offset), 32 + Number(offset + size))) sum = crc32(chunk, sum)
  if (size > 0n && sum !== start.readUInt32LE(28)) throw createDamageError('the checksum of the 7z directory is incorrect')
  return { position: 32 + Number(offset), size: Number(size) }
}

/** True if the directory's compression methods include AES (06F10701). */
function isDirectoryEncrypted(source: RandomAccessSource, { position, size }: { position: number; size: number }): boolean {
  const header = source.read(position, Math.min(size, 4096))
  return header[0] === 0x17 && header.includes(Buffer.from('06f10701', 'hex'))
}

/** True if the member names are encrypted. Throws a `FormatError` if the headers are damaged. */
export const hasEncryptedDirectory = (source: RandomAccessSource): boolean =>
  isDirectoryEncrypted(source, readStartHeader(source))

async function testMembers(
  source: RandomAccessSource,
  listing: SevenZipListing,
  { type, displayName, unpackedBytes }: SevenZipKind & { unpackedBytes: number },
  level: ArchiveLevel,
): Promise<void> {
  if (!canUnpackBeforeDeadline(unpackedBytes, level.limits)) {
    level.addNote(`unpacking ${unpackedBytes} bytes would take too long: only the directory was checked`)
    return
  }
  const links = new ArchiveLinks()
  for (const { name, target, symlink } of listing.members) if (target !== undefined) links.addLink(name, target, symlink)
  const members = listing.members.map((each) => ({ ...each, size: each.folder ? 0 : toFiniteSize(each.size) }))
  const run = await unpackWithNestedArchives(source, { type, members, links, listing }, level)
  checkUnpackRun(run, displayName, level)
  links.checkLinks()
}

export function checkUnpackRun(run: SevenZipRun, displayName: string, level: ArchiveLevel): void {
  if (isOutOfMemory(run)) level.addNote('unpacking needs more memory than allowed, so only the directory was checked')
  else if (hasUnsupportedMethod(run))
    level.addNote('the bundled 7-Zip does not support the compression method of a member, so only the directory was checked')
  else if (hasTrailingData(run)) level.addNote(`bytes after the end of the ${displayName}`)
  else if (run.exitCode > 1) throw createDamageError(`the ${displayName} is damaged: ${getFailureReason(run)}`)
  else if (run.exitCode === 1) level.addNote(`7-Zip warns: ${getFailureReason(run)}`)
}

interface UnpackOptions {
  type: string
  members: PackedMember[]
  links: ArchiveLinks
  /** Member listing for the observer. If it is omitted, the observer receives no members. */
  listing?: SevenZipListing
  isAlreadyChecked?(member: PackedMember): boolean
}

export async function unpackWithNestedArchives(
  source: RandomAccessSource,
  options: UnpackOptions,
  level: ArchiveLevel,
): Promise<SevenZipRun> {
  const { type, members, links, listing, isAlreadyChecked } = options
  const inside = new NestedMembers(level, links)
  const observer = listing && level.observer?.observeSevenZip(type, listing)
  let run: SevenZipRun | undefined
  try {
    const createSink = (member: PackedMember) =>
      isAlreadyChecked?.(member) ? undefined : combineSinks(inside.createSink(member), observer?.begin())
    run = await unpackMembers(source, { type, members, limits: level.limits, createSink })
    // After an error, it is unclear which output bytes belong to which member, so the nested archives cannot be checked.
    if (run.exitCode <= 1 && run.errors.length === 0) await inside.checkNestedArchives()
    return run
  } finally {
    inside.close()
    await observer?.end(run)
  }
}

const canUnpackBeforeDeadline = (bytes: number, limits: ReaderLimits) =>
  bytes / bytesPerMillisecond <= limits.deadline - Date.now()

export const isOutOfMemory = (run: SevenZipRun) =>
  run.exitCode === 8 || run.errors.some((text) => /Can't allocate|not enough memory|E_OUTOFMEMORY/i.test(text))
/** True if the archive is intact but has trailing bytes, such as tape padding or a signature. */
export const hasTrailingData = (run: SevenZipRun) =>
  run.errors.some((text) => /data after the end of/i.test(text)) &&
  !run.errors.some((text) => /CRC|Data Error|Unexpected end|Headers Error|Unavailable/i.test(text))
const requiresPassword = (run: SevenZipRun) => run.errors.some((text) => /encrypted|password/i.test(text))
export const hasUnsupportedMethod = (run: SevenZipRun) => run.errors.some((text) => /Unsupported (Method|Feature)/i.test(text))

export function getFailureReason(run: SevenZipRun): string {
  const telling = run.errors.find(
    (text) => /error|failed|cannot|unexpected|data/i.test(text) && !/^ERRORS?:?$/i.test(text.trim()),
  )
  return (
    (telling ?? 'the archive cannot be read')
      .replace(/\/archive( : )?/g, '')
      .replace(/^ERROR:\s*/, '')
      .trim() || 'the archive cannot be opened'
  )
}
