import { createMaliciousError, quoteName } from '../format-error.js'

export function checkMemberName(name: string): void {
  if (name.includes('\0'))
    throw createMaliciousError('archive_name', `the member ${quoteName(name)} has a NUL character in its name`)
  const path = name.replaceAll('\\', '/')
  if (path.startsWith('/')) throw createMaliciousError('archive_path', `the member ${quoteName(name)} has an absolute path`)
  if (/^[A-Za-z]:/.test(path))
    throw createMaliciousError('archive_path', `the member ${quoteName(name)} has a path with a drive letter`)
  if (path.split('/').includes('..'))
    throw createMaliciousError('archive_path', `the member ${quoteName(name)} points outside the archive`)
}

/** Links in one archive. They are checked together at the end, because a link's path may contain another link. */
export class ArchiveLinks {
  private readonly links: { name: string; target: string; isSymbolic: boolean }[] = []

  addLink(name: string, target: string, isSymbolic: boolean): void {
    this.links.push({ name, target, isSymbolic })
  }

  checkLinks(): void {
    const symbolic = new Set(this.links.filter((link) => link.isSymbolic).map((link) => toPathSegments(link.name).join('/')))
    for (const link of this.links) this.checkLink(link, symbolic)
  }

  private checkLink(
    { name, target, isSymbolic }: { name: string; target: string; isSymbolic: boolean },
    links: Set<string>,
  ): void {
    const path = target.replaceAll('\\', '/')
    const createLinkError = () =>
      createMaliciousError('archive_link', `the link ${quoteName(name)} points outside the archive, to ${quoteName(target)}`)
    if (path.startsWith('/') || /^[A-Za-z]:/.test(path) || path.includes('\0')) throw createLinkError()
    const at = isSymbolic ? toPathSegments(name).slice(0, -1) : []
    for (const segment of toPathSegments(path)) {
      if (segment !== '..') at.push(segment)
      // The parent of a symbolic link depends on the link's target, so the path is unknown.
      else if (at.length === 0 || links.has(at.join('/'))) throw createLinkError()
      else at.pop()
    }
  }
}

const toPathSegments = (path: string) =>
  path
    .replaceAll('\\', '/')
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
