import type { ReaderLimits } from '../../format.js'
import type { RandomAccessSource } from '../../random-access-source.js'
import { readZipDirectory } from './directory.js'
import { readSmallMember } from './member.js'
import { locateMembers, type ZipMember } from './member-locations.js'

// Maximum size of relationship parts and manifests. Even large ones are only a few hundred kilobytes long.
const maxPartBytes = 16 * 1024 * 1024

export class ZipPackage {
  private readonly members = new Map<string, ZipMember>()

  constructor(
    private readonly source: RandomAccessSource,
    readonly limits: ReaderLimits,
  ) {
    for (const member of locateMembers(source, readZipDirectory(source, limits), limits)) {
      const key = toPartKey(member.entry.name)
      if (!this.members.has(key)) this.members.set(key, member)
    }
  }

  has(name: string): boolean {
    return this.members.has(toPartKey(name))
  }

  isEncrypted(name: string): boolean {
    return this.members.get(toPartKey(name))?.entry.encrypted ?? false
  }

  /** Returns the content of a part. Returns undefined if the part is missing, encrypted or too large. */
  read(name: string): Buffer | undefined {
    const member = this.members.get(toPartKey(name))
    if (!member || member.entry.encrypted || member.entry.uncompressedSize > maxPartBytes) return undefined
    return readSmallMember(this.source, member, maxPartBytes)
  }
}

export function toPartKey(name: string): string {
  return name.replaceAll('\\', '/').replace(/^\/+/, '').toLowerCase()
}

export function resolvePartName(from: string, target: string): string {
  const path = decodeTarget(target.replaceAll('\\', '/')).replace(/[#?].*$/s, '')
  const at = path.startsWith('/') ? [] : from.split('/').slice(0, -1)
  for (const segment of path.split('/')) {
    if (segment === '..') at.pop()
    else if (segment !== '' && segment !== '.') at.push(segment)
  }
  return toPartKey(at.join('/'))
}

function decodeTarget(target: string): string {
  try {
    return decodeURIComponent(target)
  } catch {
    return target
  }
}
