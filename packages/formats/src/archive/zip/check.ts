import { checkDeadline } from '../../format.js'
import type { PartSink } from '../../member-observer.js'
import type { RandomAccessSource } from '../../random-access-source.js'
import { named, trap } from '../../refusal.js'
import { ArchiveLinks, checkName } from '../names.js'
import type { ArchiveNest } from '../nest.js'
import { readZipDirectory, type ZipEntry } from './directory.js'
import { unknownOffsets } from './hidden.js'
import { hidesZipDirectory } from './hidden-directory.js'
import { locateMembers, type ZipMember } from './local.js'
import { readSmallMember, verifyMember } from './member.js'

export type ZipWatch = (entry: ZipEntry) => PartSink | undefined

export interface ZipFacts {
  entries: number
  encrypted: number
  unpackedBytes: number
  otherMethods: Set<number>
  names: ReadonlySet<string>
}

const longestLink = 4096

/** Checks a zip as `unzip -t` does: the directory, the local headers, then the data and checksum of every member. */
export async function checkZip(source: RandomAccessSource, nest: ArchiveNest, watch?: ZipWatch): Promise<ZipFacts> {
  if (hidesZipDirectory(source, nest.limits)) {
    nest.budget.encrypted = true
    nest.note('the archive is encrypted, its directory too: only its outer records were checked')
    return { entries: 0, encrypted: 0, unpackedBytes: 0, otherMethods: new Set(), names: new Set() }
  }
  const directory = readZipDirectory(source, nest.limits)
  if (directory.prefix > 0)
    nest.note(`${directory.prefix} bytes come before the zip archive (self-extracting programs have them)`)
  if (directory.commentTruncated) nest.note('the comment of the zip archive is cut off')
  if (directory.entries.length === 0) refuseHidden(source, nest)
  nest.budget.addEntries(directory.entries.length)
  const names = judgeHeaders(directory.entries, nest)
  const members = locateMembers(source, directory, nest.limits)
  const facts: ZipFacts = { entries: members.length, encrypted: 0, unpackedBytes: 0, otherMethods: new Set(), names }
  const links = new ArchiveLinks()
  for (const member of members) await checkMember(source, member, { nest, watch, facts, links })
  links.check()
  if (facts.encrypted > 0)
    nest.note(`${facts.encrypted} of ${facts.entries} members are encrypted: only their headers were checked`)
  return facts
}

/** Programs that unpack from the front would find members that the directory does not list. */
function refuseHidden(source: RandomAccessSource, nest: ArchiveNest): void {
  const [at] = unknownOffsets(source, new Map(), { most: 1, step: () => checkDeadline(nest.limits) })
  if (at !== undefined) throw trap('hidden_members', `the zip directory is empty, but a member stands at byte ${at}`)
}

function judgeHeaders(entries: ZipEntry[], nest: ArchiveNest): Set<string> {
  const names = new Set<string>()
  let total = 0
  for (const entry of entries) {
    checkName(entry.name)
    if (entry.unicodeName !== undefined) checkName(entry.unicodeName)
    if (names.has(entry.name)) nest.note(`two members are called ${named(entry.name)}`)
    names.add(entry.name)
    total += entry.uncompressedSize
    nest.budget.judgeMember(`the member ${named(entry.name)}`, entry.uncompressedSize, entry.compressedSize)
  }
  nest.budget.announce(total)
  return names
}

interface Progress {
  nest: ArchiveNest
  watch: ZipWatch | undefined
  facts: ZipFacts
  links: ArchiveLinks
}

async function checkMember(
  source: RandomAccessSource,
  member: ZipMember,
  { nest, watch, facts, links }: Progress,
): Promise<void> {
  const { entry } = member
  facts.unpackedBytes += entry.uncompressedSize
  if (entry.encrypted) {
    facts.encrypted++
    nest.budget.encrypted = true
    return
  }
  if (entry.method !== 0 && entry.method !== 8) {
    facts.otherMethods.add(entry.method)
    return
  }
  await verifyMember(source, member, nest, watch?.(entry))
  if (!entry.symlink) return
  const target = readSmallMember(source, member, longestLink)
  if (target) links.add(entry.name, target.toString('utf8'), true)
}
