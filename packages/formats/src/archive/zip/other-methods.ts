import type { PackedMember } from '../../member-observer.js'
import type { RandomAccessSource } from '../../random-access-source.js'
import { damaged } from '../../refusal.js'
import { ArchiveLinks } from '../names.js'
import type { ArchiveNest } from '../nest.js'
import { outOfMemory, reason, unpackNested, unsupported } from '../sevenzip/sevenzip.js'
import type { ZipFacts } from './check.js'
import { readZipDirectory } from './directory.js'

// Shrink, implode, deflate64, bzip2, LZMA, Zstandard, XZ and PPMd: methods that 7-Zip unpacks in a zip (ZIP specification,
// 4.4.5).
export const knownToSevenZip = new Set([1, 6, 9, 12, 14, 93, 95, 98])
const mostBytes = 256 * 1024 * 1024

/** Checks members that are neither stored nor deflated with 7-Zip. A note lists methods that 7-Zip cannot unpack. */
export async function testOtherMethods(source: RandomAccessSource, facts: ZipFacts, nest: ArchiveNest): Promise<void> {
  const methods = [...facts.otherMethods]
  if (methods.length === 0) return
  const note = () =>
    nest.note(`members packed by method ${methods.join(', ')} were not unpacked: only their headers were checked`)
  if (facts.encrypted > 0 || facts.unpackedBytes > mostBytes || !methods.some((method) => knownToSevenZip.has(method)))
    return note()
  const links = new ArchiveLinks()
  const seen = new Set<PackedMember>()
  const members = readZipDirectory(source, nest.limits).entries.map(({ name, uncompressedSize: size, method, symlink }) => {
    const member = { name, size, symlink, encrypted: false }
    if (method === 0 || method === 8) seen.add(member)
    return member
  })
  const run = await unpackNested(source, { type: 'zip', members, links, seen: (member) => seen.has(member) }, nest)
  if (outOfMemory(run) || unsupported(run)) return note()
  if (run.exitCode > 1) throw damaged(`the zip archive is damaged: ${reason(run)}`)
  links.check()
}
