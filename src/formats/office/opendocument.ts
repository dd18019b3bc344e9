import { closedIn, openNest } from '../archive/archive.js'
import { damaged, decided } from '../archive/refusal.js'
import { checkZip } from '../archive/zip/check.js'
import { testOtherMethods } from '../archive/zip/other-methods.js'
import { keyOf, resolvePart, ZipPackage } from '../archive/zip/package.js'
import { type FormatReader, type ReaderLimits, sound } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { EntityWatch, isXmlPart } from './entities.js'
import { attribute, parseXml, type XmlElement, XmlPart } from './xml.js'

export type OpenDocumentKind = 'odt' | 'ods' | 'odp'

const mediaTypes: Record<OpenDocumentKind, string> = {
  odt: 'application/vnd.oasis.opendocument.text',
  ods: 'application/vnd.oasis.opendocument.spreadsheet',
  odp: 'application/vnd.oasis.opendocument.presentation',
}

/** LibreOffice's formats (ODF 1.x), templates included: a sound zip with a well-formed `content.xml`. */
export const readOpenDocument =
  (kind: OpenDocumentKind): FormatReader =>
  (source, limits) =>
    decided(async () => {
      const pack = new ZipPackage(source, limits)
      const notes: string[] = []
      const type = pack.read('mimetype')?.toString('latin1', 0, 200).trim()
      if (type === undefined) notes.push("the member 'mimetype' is missing")
      else if (!type.startsWith(mediaTypes[kind]))
        throw damaged(`the document calls itself '${type.slice(0, 80)}', not ${mediaTypes[kind]}`)
      const { encrypted, hasContent } = readManifest(pack)
      if (encrypted) notes.push('the document is encrypted: its content was not looked at')
      else if (!pack.has('content.xml')) {
        // Templates that are nothing but styles have no content, and do not announce any.
        if (hasContent || !pack.has('styles.xml')) throw damaged('content.xml is missing from the document')
        notes.push('the document consists of styles alone')
      }
      const parts = new Map<string, { root?: string }>([['meta-inf/manifest.xml', { root: 'manifest' }]])
      if (!encrypted) for (const name of ['meta.xml', 'settings.xml']) parts.set(name, {})
      if (!encrypted) parts.set('styles.xml', { root: 'document-styles' })
      if (!encrypted) parts.set('content.xml', { root: 'document-content' })
      const active = new Set<string>()
      const element = ({ name }: XmlElement) => void (/^dde-(source|link|connection-decl)$/.test(name) && active.add('DDE link'))
      const evidence = await checkParts(source, limits, parts, notes, element)
      return sound(notes, {
        ...evidence,
        ...(encrypted && { encrypted }),
        ...(active.size > 0 && { active_content: [...active] }),
      })
    })

/** Parts of a document are encrypted one by one, or (since ODF 1.4) as one member that holds the whole package. */
function readManifest(pack: ZipPackage): { encrypted: boolean; hasContent: boolean } {
  if (pack.has('encrypted-package') || pack.isEncrypted('content.xml')) return { encrypted: true, hasContent: true }
  const manifest = pack.read('META-INF/manifest.xml')
  // LibreOffice repairs a document without its manifest.
  if (!manifest) return { encrypted: false, hasContent: true }
  const found = { encrypted: false, hasContent: false }
  const element = (each: XmlElement) => {
    if (each.name === 'encryption-data') found.encrypted = true
    if (each.name === 'file-entry' && attribute(each, 'full-path') === 'content.xml') found.hasContent = true
  }
  parseXml('META-INF/manifest.xml', manifest, { limits: pack.limits, doctype: 'without entities', element })
  return found
}

/** E-books (EPUB 2 and 3): the container leads to the package document, and both are well-formed. */
export const readEpub: FormatReader = (source, limits) =>
  decided(async () => {
    const pack = new ZipPackage(source, limits)
    const notes: string[] = []
    const type = pack.read('mimetype')?.toString('latin1', 0, 200).trim()
    if (type === undefined) notes.push("the member 'mimetype' is missing")
    else if (type !== 'application/epub+zip')
      throw damaged(`the book calls itself '${type.slice(0, 80)}', not application/epub+zip`)
    if (pack.has('META-INF/encryption.xml')) notes.push('parts of the book are encrypted')
    const packages = packageDocuments(pack)
    const parts = new Map<string, { root?: string }>([['meta-inf/container.xml', { root: 'container' }]])
    for (const name of packages) parts.set(name, { root: 'package' })
    return sound(notes, await checkParts(source, limits, parts, notes))
  })

function packageDocuments(pack: ZipPackage): string[] {
  const container = pack.read('META-INF/container.xml')
  if (!container) throw damaged('META-INF/container.xml is missing from the book')
  const paths: string[] = []
  parseXml('META-INF/container.xml', container, {
    limits: pack.limits,
    doctype: 'without entities',
    element: (element) => {
      const path = element.name === 'rootfile' ? attribute(element, 'full-path') : undefined
      // Other renditions of the book are optional: programs open the first.
      if (path !== undefined && paths.length === 0) paths.push(resolvePart('', path))
    },
  })
  if (paths.length === 0) throw damaged('META-INF/container.xml names no package document')
  if (!pack.has(paths[0]!)) throw damaged(`the package document ${paths[0]!.slice(0, 100)} is missing from the book`)
  return paths
}

async function checkParts(
  source: RandomAccessSource,
  limits: ReaderLimits,
  parts: Map<string, { root?: string }>,
  notes: string[],
  element?: (element: XmlElement) => void,
): Promise<Record<string, unknown>> {
  const nest = openNest(source, limits)
  const facts = await checkZip(source, nest, ({ name }) => {
    const part = parts.get(keyOf(name))
    if (part) return new XmlPart(name, { limits, root: part.root, doctype: 'without entities', ...(element && { element }) })
    return isXmlPart(name) ? new EntityWatch(name) : undefined
  })
  await testOtherMethods(source, facts, nest)
  notes.push(...nest.notes)
  return { parts: facts.entries, unpacked_bytes: facts.unpackedBytes, ...closedIn(nest) }
}
