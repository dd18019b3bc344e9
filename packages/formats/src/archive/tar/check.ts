import { checkDeadline } from '../../format.js'
import { named, trap } from '../../refusal.js'
import { ArchiveLinks, checkName } from '../names.js'
import type { ArchiveNest } from '../nest.js'
import type { ByteStream } from '../stream.js'
import type { TarHeader } from './header.js'
import { walkTar } from './walk.js'

const smallestArchive = 32

export interface TarFacts {
  entries: number
  contentBytes: number
}

/**
 * Checks a tar as `tar -t` does: the checksum and the numbers of every header, and that all data is in the file. Throws a
 * `FormatError`.
 */
export async function checkTar(stream: ByteStream, nest: ArchiveNest): Promise<TarFacts> {
  const facts: TarFacts = { entries: 0, contentBytes: 0 }
  const links = new ArchiveLinks()
  await walkTar(stream, {
    step: () => checkDeadline(nest.limits),
    member: (header) => {
      facts.entries++
      facts.contentBytes += header.size
      nest.budget.addEntries(1)
      judgeMember(header, nest, links)
    },
    data: async (header, data) => {
      // The size of a directory may be only a hint. Members below this size cannot be an archive.
      if (header.size >= smallestArchive && (header.type === '0' || header.type === '\0' || header.type === '7'))
        await nest.look(data, header.name)
    },
  })
  links.check()
  return facts
}

const devices: Record<string, string> = { 3: 'a character device', 4: 'a block device', 6: 'a pipe' }

function judgeMember(header: TarHeader, nest: ArchiveNest, links: ArchiveLinks): void {
  // Volume labels and continued members of a multi-volume archive are not files.
  if (header.type === 'V' || header.type === 'M') return
  checkName(header.name)
  const device = devices[header.type]
  // If an administrator unpacks it, a device gives access to a disk, and a pipe blocks the program that opens it.
  if (device) throw trap('archive_device', `the member ${named(header.name)} is ${device}`)
  if (header.type === '1' || header.type === '2') links.add(header.name, header.linkName, header.type === '2')
  const realSize = header.sparse?.realSize ?? 0
  if (realSize > nest.limits.maxUnpackedBytes) {
    throw trap(
      'archive_size',
      `the sparse member ${named(header.name)} unpacks to ${realSize} bytes; at most ${nest.limits.maxUnpackedBytes} are allowed`,
    )
  }
}
