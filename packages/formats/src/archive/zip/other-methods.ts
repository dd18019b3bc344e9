import { createDamageError } from '../../format-error.js'
import type { PackedMember } from '../../member-observer.js'
import type { RandomAccessSource } from '../../random-access-source.js'
import type { ArchiveLevel } from '../archive-level.js'
import { ArchiveLinks } from '../member-names.js'
import { getFailureReason, hasUnsupportedMethod, isOutOfMemory, unpackWithNestedArchives } from '../sevenzip/sevenzip.js'
import type { ZipFacts } from './check.js'
import { readZipDirectory } from './directory.js'

// ZIP methods that 7-Zip supports: shrink, implode, deflate64, bzip2, LZMA, Zstandard, XZ and PPMd (ZIP specification, 4.4.5).
export const sevenZipMethods = new Set([1, 6, 9, 12, 14, 93, 95, 98])
const maxBytes = 256 * 1024 * 1024

/** Uses 7-Zip to check members that are neither stored nor deflated. A note lists the methods that 7-Zip does not support. */
export async function checkMembersWithSevenZip(source: RandomAccessSource, facts: ZipFacts, level: ArchiveLevel): Promise<void> {
  const methods = [...facts.otherMethods]
  if (methods.length === 0) return
  const addUncheckedNote = () =>
    level.addNote(`members with compression method ${methods.join(', ')} were not unpacked: only their headers were checked`)
  if (facts.encrypted > 0 || facts.unpackedBytes > maxBytes || !methods.some((method) => sevenZipMethods.has(method)))
    return addUncheckedNote()
  const links = new ArchiveLinks()
  const checkedMembers = new Set<PackedMember>()
  const members = readZipDirectory(source, level.limits).entries.map(({ name, uncompressedSize: size, method, symlink }) => {
    const member = { name, size, symlink, encrypted: false }
    if (method === 0 || method === 8) checkedMembers.add(member)
    return member
  })
  const run = await unpackWithNestedArchives(
    source,
    { type: 'zip', members, links, isAlreadyChecked: (member) => checkedMembers.has(member) },
    level,
  )
  if (isOutOfMemory(run) || hasUnsupportedMethod(run)) return addUncheckedNote()
  if (run.exitCode > 1) throw createDamageError(`the zip archive is damaged: ${getFailureReason(run)}`)
  links.checkLinks()
}
