import { checkDeadline } from '../../format.js'
import { createMaliciousError, quoteName } from '../../format-error.js'
import type { ArchiveLevel } from '../archive-level.js'
import type { ByteStream } from '../byte-stream.js'
import { ArchiveLinks, checkMemberName } from '../member-names.js'
import type { TarHeader } from './header.js'
import { walkTar } from './walk.js'

const minArchiveBytes = 32

export interface TarFacts {
  entries: number
  contentBytes: number
}

/** Checks that all headers are valid and all data exists, as `tar -t` does. Throws a `FormatError` otherwise. */
export async function checkTar(stream: ByteStream, level: ArchiveLevel): Promise<TarFacts> {
  const facts: TarFacts = { entries: 0, contentBytes: 0 }
  const links = new ArchiveLinks()
  await walkTar(stream, {
    step: () => checkDeadline(level.limits),
    onMember: (header) => {
      facts.entries++
      facts.contentBytes += header.size
      level.budget.addEntries(1)
      checkTarMember(header, level, links)
    },
    onData: async (header, data) => {
      // Reads only regular files, because the size of a directory may be only a hint. Files smaller than `minArchiveBytes` cannot
      // be archives.
      if (header.size >= minArchiveBytes && (header.type === '0' || header.type === '\0' || header.type === '7'))
        await level.checkNestedArchive(data, header.name)
    },
  })
  links.checkLinks()
  return facts
}

const devices: Record<string, string> = { 3: 'a character device', 4: 'a block device', 6: 'a pipe' }

function checkTarMember(header: TarHeader, level: ArchiveLevel, links: ArchiveLinks): void {
  // Volume labels and members that continue from another volume are not complete files, so their names and links are not checked.
  if (header.type === 'V' || header.type === 'M') return
  checkMemberName(header.name)
  const device = devices[header.type]
  // An unpacked device file could give access to a disk. A pipe would block any program that opens it.
  if (device) throw createMaliciousError('archive_device', `the member ${quoteName(header.name)} is ${device}`)
  if (header.type === '1' || header.type === '2') links.addLink(header.name, header.linkName, header.type === '2')
  const realSize = header.sparse?.realSize ?? 0
  if (realSize > level.limits.maxUnpackedBytes) {
    throw createMaliciousError(
      'archive_size',
      `the sparse member ${quoteName(header.name)} expands to ${realSize} bytes. The maximum is ${level.limits.maxUnpackedBytes}`,
    )
  }
}
