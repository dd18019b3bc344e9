import { checkWholeZip, createArchiveReader } from '../archive/archive.js'
import type { ArchiveLevel } from '../archive/archive-level.js'
import { resolvePartName, toPartKey, ZipPackage } from '../archive/zip/package.js'
import type { FormatReader } from '../format.js'
import { createDamageError } from '../format-error.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { EntityBombDetector, isXmlPart } from './entity-bombs.js'
import { getAttribute, parseXmlPart, type XmlElement, XmlPart } from './xml.js'

export type OpenDocumentKind = 'odt' | 'ods' | 'odp'

const kinds: Record<OpenDocumentKind, string> = { odt: 'text', ods: 'spreadsheet', odp: 'presentation' }

function checkMimetype(zipPackage: ZipPackage, level: ArchiveLevel, documentKind: string, pattern: RegExp): void {
  const type = zipPackage.read('mimetype')?.toString('latin1', 0, 200).trim()
  if (type === undefined) level.addNote("the member 'mimetype' is missing")
  else if (!pattern.test(type)) throw createDamageError(`the ${documentKind} has the type '${type.slice(0, 80)}'`)
}

/** Checks OpenDocument files (ODF 1.x), including templates. The zip must be intact, and its XML parts must be well-formed. */
export const createOpenDocumentReader = (kind: OpenDocumentKind): FormatReader =>
  createArchiveReader(async (source, level) => {
    const zipPackage = new ZipPackage(source, level.limits)
    checkMimetype(zipPackage, level, 'document', new RegExp(`^application/vnd\\.oasis\\.opendocument\\.${kinds[kind]}`))
    const { encrypted, hasContent } = readManifest(zipPackage)
    if (encrypted) {
      level.budget.encrypted = true
      level.addNote('the document is encrypted, so its content was not checked')
    } else if (!zipPackage.has('content.xml')) {
      // A template that consists only of styles has no content.xml and does not declare one in its manifest.
      if (hasContent || !zipPackage.has('styles.xml')) throw createDamageError('content.xml is missing from the document')
      level.addNote('the document consists of styles only')
    }
    const parts = new Map<string, string | undefined>([['meta-inf/manifest.xml', 'manifest']])
    if (!encrypted)
      for (const [name, root] of [
        ['meta.xml'],
        ['settings.xml'],
        ['styles.xml', 'document-styles'],
        ['content.xml', 'document-content'],
      ])
        parts.set(name!, root)
    const active = new Set<string>()
    const recordActiveElement = ({ name }: XmlElement) =>
      void (/^dde-(source|link|connection-decl)$/.test(name) && active.add('DDE link'))
    const evidence = await checkXmlParts(source, level, parts, recordActiveElement)
    return { ...evidence, ...(active.size > 0 && { active_content: [...active] }) }
  })

/**
 * Determines whether the document is encrypted and, from its manifest, whether it has content. ODF 1.4 can encrypt the whole
 * package as one member instead of encrypting each part.
 */
function readManifest(zipPackage: ZipPackage): { encrypted: boolean; hasContent: boolean } {
  if (zipPackage.has('encrypted-package') || zipPackage.isEncrypted('content.xml')) return { encrypted: true, hasContent: true }
  const manifest = zipPackage.read('META-INF/manifest.xml')
  // LibreOffice opens documents without a manifest, so a missing manifest is not an error.
  if (!manifest) return { encrypted: false, hasContent: true }
  const found = { encrypted: false, hasContent: false }
  const readManifestElement = (element: XmlElement) => {
    if (element.name === 'encryption-data') found.encrypted = true
    if (element.name === 'file-entry' && getAttribute(element, 'full-path') === 'content.xml') found.hasContent = true
  }
  parseXmlPart('META-INF/manifest.xml', manifest, {
    limits: zipPackage.limits,
    doctype: 'without entities',
    onElement: readManifestElement,
  })
  return found
}

export const readEpub = createArchiveReader(async (source, level) => {
  const zipPackage = new ZipPackage(source, level.limits)
  checkMimetype(zipPackage, level, 'book', /^application\/epub\+zip$/)
  if (zipPackage.has('META-INF/encryption.xml')) level.addNote('parts of the book are encrypted')
  const parts = new Map([
    ['meta-inf/container.xml', 'container'],
    [findPackageDocument(zipPackage), 'package'],
  ])
  return checkXmlParts(source, level, parts)
})

function findPackageDocument(zipPackage: ZipPackage): string {
  const container = zipPackage.read('META-INF/container.xml')
  if (!container) throw createDamageError('META-INF/container.xml is missing from the book')
  let path: string | undefined
  parseXmlPart('META-INF/container.xml', container, {
    limits: zipPackage.limits,
    doctype: 'without entities',
    // Programs open the first rendition, and other renditions are optional, so only the first one is checked.
    onElement: (element) => {
      if (element.name === 'rootfile') path ??= getAttribute(element, 'full-path')
    },
  })
  if (path === undefined) throw createDamageError('META-INF/container.xml does not name a package document')
  const part = resolvePartName('', path)
  if (!zipPackage.has(part)) throw createDamageError(`the package document ${part.slice(0, 100)} is missing from the book`)
  return part
}

async function checkXmlParts(
  source: RandomAccessSource,
  level: ArchiveLevel,
  parts: ReadonlyMap<string, string | undefined>,
  onElement?: (element: XmlElement) => void,
): Promise<Record<string, unknown>> {
  const { entries, unpackedBytes } = await checkWholeZip(source, level, ({ name }) => {
    const key = toPartKey(name)
    if (!parts.has(key)) return isXmlPart(name) ? new EntityBombDetector(name) : undefined
    const root = parts.get(key)
    return new XmlPart(name, {
      limits: level.limits,
      doctype: 'without entities',
      ...(root && { root }),
      ...(onElement && { onElement }),
    })
  })
  return { parts: entries, unpacked_bytes: unpackedBytes }
}
