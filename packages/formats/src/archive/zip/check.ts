import { checkDeadline } from '../../format.js'
import { createMaliciousError, quoteName } from '../../format-error.js'
import type { PartSink } from '../../member-observer.js'
import type { RandomAccessSource } from '../../random-access-source.js'
import type { ArchiveLevel } from '../archive-level.js'
import { ArchiveLinks, checkMemberName } from '../member-names.js'
import { readZipDirectory, type ZipEntry } from './directory.js'
import { hasEncryptedZipDirectory } from './encrypted-directory.js'
import { findUnknownHeaders } from './local-headers.js'
import { readSmallMember, verifyMember } from './member.js'
import { locateMembers, type ZipMember } from './member-locations.js'

export type PartSinkFactory = (entry: ZipEntry) => PartSink | undefined

export interface ZipFacts {
  entries: number
  encrypted: number
  unpackedBytes: number
  otherMethods: Set<number>
  names: ReadonlySet<string>
}

const maxLinkBytes = 4096

/** Checks a zip archive like `unzip -t`: the central directory, the local headers, then the data and checksum of every member. */
export async function checkZip(source: RandomAccessSource, level: ArchiveLevel, createSink?: PartSinkFactory): Promise<ZipFacts> {
  if (hasEncryptedZipDirectory(source, level.limits)) {
    level.budget.encrypted = true
    level.addNote('the archive and its directory are encrypted, so only the outer records were checked')
    return { entries: 0, encrypted: 0, unpackedBytes: 0, otherMethods: new Set(), names: new Set() }
  }
  const directory = readZipDirectory(source, level.limits)
  if (directory.prefix > 0) level.addNote(`${directory.prefix} bytes precede the zip archive, as in self-extracting programs`)
  if (directory.commentTruncated) level.addNote('the zip archive comment is truncated')
  if (directory.entries.length === 0) rejectHiddenMembers(source, level)
  level.budget.addEntries(directory.entries.length)
  const names = checkHeaders(directory.entries, level)
  const members = locateMembers(source, directory, level.limits)
  const facts: ZipFacts = { entries: members.length, encrypted: 0, unpackedBytes: 0, otherMethods: new Set(), names }
  const links = new ArchiveLinks()
  for (const member of members) await checkZipMember(source, member, { level, createSink, facts, links })
  links.checkLinks()
  if (facts.encrypted > 0)
    level.addNote(`${facts.encrypted} of ${facts.entries} members are encrypted: only their headers were checked`)
  return facts
}

/**
 * Rejects an archive that contains a member although its central directory is empty. Programs that ignore the central directory
 * would unpack the member.
 */
function rejectHiddenMembers(source: RandomAccessSource, level: ArchiveLevel): void {
  const [at] = findUnknownHeaders(source, new Map(), { maxCount: 1, step: () => checkDeadline(level.limits) })
  if (at !== undefined)
    throw createMaliciousError(
      'hidden_members',
      `the zip archive's central directory is empty, but there is a member at byte ${at}`,
    )
}

function checkHeaders(entries: ZipEntry[], level: ArchiveLevel): Set<string> {
  const names = new Set<string>()
  let total = 0
  for (const entry of entries) {
    checkMemberName(entry.name)
    if (entry.unicodeName !== undefined) checkMemberName(entry.unicodeName)
    if (names.has(entry.name)) level.addNote(`two members have the name ${quoteName(entry.name)}`)
    names.add(entry.name)
    total += entry.uncompressedSize
    level.budget.checkMemberRatio(`the member ${quoteName(entry.name)}`, entry.uncompressedSize, entry.compressedSize)
  }
  level.budget.checkDeclaredBytes(total)
  return names
}

interface CheckState {
  level: ArchiveLevel
  createSink: PartSinkFactory | undefined
  facts: ZipFacts
  links: ArchiveLinks
}

async function checkZipMember(
  source: RandomAccessSource,
  member: ZipMember,
  { level, createSink, facts, links }: CheckState,
): Promise<void> {
  const { entry } = member
  facts.unpackedBytes += entry.uncompressedSize
  if (entry.encrypted) {
    facts.encrypted++
    level.budget.encrypted = true
    return
  }
  if (entry.method !== 0 && entry.method !== 8) {
    facts.otherMethods.add(entry.method)
    return
  }
  await verifyMember(source, member, level, createSink?.(entry))
  if (!entry.symlink) return
  const target = readSmallMember(source, member, maxLinkBytes)
  if (target) links.addLink(entry.name, target.toString('utf8'), true)
}
