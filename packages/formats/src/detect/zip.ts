import { listZipEntries, type ZipEntry, zipDirectoryIsWhole } from '../archive/zip/directory.js'
import { hidesZipDirectory } from '../archive/zip/encrypted-directory.js'
import { ZipPackage } from '../archive/zip/package.js'
import type { ReaderLimits } from '../format.js'
import { FormatError } from '../format-error.js'
import type { RandomAccessSource } from '../random-access-source.js'

const mimetypes: Record<string, string> = {
  'application/epub+zip': 'epub',
  'application/vnd.oasis.opendocument.text': 'odt',
  'application/vnd.oasis.opendocument.text-template': 'odt',
  'application/vnd.oasis.opendocument.text-master': 'odt',
  'application/vnd.oasis.opendocument.spreadsheet': 'ods',
  'application/vnd.oasis.opendocument.spreadsheet-template': 'ods',
  'application/vnd.oasis.opendocument.presentation': 'odp',
  'application/vnd.oasis.opendocument.presentation-template': 'odp',
  'application/vnd.oasis.opendocument.graphics': 'odg',
  'application/vnd.oasis.opendocument.graphics-template': 'odg',
}

const mainParts: [type: string, part: RegExp][] = [
  ['docx', /^word\/document\d*\.xml$/],
  ['xlsx', /^xl\/workbook\d*\.xml$/],
  ['xlsb', /^xl\/workbook\d*\.bin$/],
  ['pptx', /^ppt\/presentation\d*\.xml$/],
  ['vsdx', /^visio\/document\d*\.xml$/],
]
// A document with macros has a different type. Office does not open it with the extension of a document without macros.
const withMacros: Record<string, string> = { docx: 'docm', xlsx: 'xlsm', pptx: 'pptm' }

const folders: [type: string, folder: string][] = [
  ['docx', 'word/'],
  ['xlsx', 'xl/'],
  ['pptx', 'ppt/'],
  ['vsdx', 'visio/'],
]

/**
 * Detects the type of a zip-based file by the names in its directory. If the directory cannot be read, the type is `zip-damaged`, because a
 * truncated document is damaged whatever its original type was.
 */
export function zipType(source: RandomAccessSource, limits: ReaderLimits): string {
  const entries = listZipEntries(source, limits)
  if (!entries) return hidesZipDirectory(source, limits) ? 'zip' : 'zip-damaged'
  // Office accepts backslashes, a leading slash and any case.
  const names = new Set(entries.map((entry) => entry.name.replaceAll('\\', '/').replace(/^\//, '').toLowerCase()))
  const type =
    typeFromParts(names) ?? typeFromMimetype(source, entries) ?? typeFromNames(names, (name) => readMember(source, limits, name))
  // A truncated directory does not prove that the file is a plain archive.
  return type ?? (zipDirectoryIsWhole(source, limits) ? 'zip' : 'zip-damaged')
}

function typeFromParts(names: Set<string>): string | undefined {
  const all = [...names]
  const macros = all.some((name) => name.endsWith('/vbaproject.bin'))
  const main = mainParts.filter(([, part]) => all.some((name) => part.test(name)))
  if (main.length === 1) return macros ? (withMacros[main[0]![0]] ?? main[0]![0]) : main[0]![0]
  const packaged = names.has('[content_types].xml') || names.has('_rels/.rels')
  if (!packaged) return undefined
  const found = folders.filter(([, folder]) => all.some((name) => name.startsWith(folder)))
  return found.length === 1 ? found[0]![0] : 'ooxml'
}

/** OpenDocument and EPUB store their type in an uncompressed member. */
function typeFromMimetype(source: RandomAccessSource, entries: ZipEntry[]): string | undefined {
  const entry = entries.find(({ name }) => name === 'mimetype')
  if (entry?.method !== 0 || entry.compressedSize > 200) return undefined
  const header = source.read(entry.localHeaderOffset, 30)
  if (header.length < 30) return undefined
  const start = entry.localHeaderOffset + 30 + header.readUInt16LE(26) + header.readUInt16LE(28)
  const declared = source.read(start, entry.compressedSize).toString('latin1').trim()
  return mimetypes[declared] ?? (declared.startsWith('application/vnd.oasis.opendocument') ? 'odf' : undefined)
}

/** Other formats (MusicXML, InDesign, Hancom, XMind) also have a container or a manifest. Its content decides. */
function typeFromNames(names: Set<string>, read: (name: string) => string): string | undefined {
  const container = 'meta-inf/container.xml'
  if (names.has(container) && /\.opf\b|oebps-package/.test(read(container))) return 'epub'
  const manifest = 'meta-inf/manifest.xml'
  if (names.has('content.xml') && names.has(manifest) && /opendocument|openoffice/.test(read(manifest))) return 'odf'
  if (names.has('androidmanifest.xml')) return 'apk'
  if (names.has('meta-inf/manifest.mf')) return 'jar'
  for (const name of names) if (name.endsWith('.class') || name.startsWith('web-inf/')) return 'jar'
  return undefined
}

/** Returns the start of a member, or nothing if it cannot be read. The reader of the type then reports damage. */
function readMember(source: RandomAccessSource, limits: ReaderLimits, name: string): string {
  try {
    return new ZipPackage(source, limits).read(name)?.toString('latin1', 0, 64 * 1024) ?? ''
  } catch (error) {
    if (error instanceof FormatError) return ''
    throw error
  }
}

const endOfArchive = Buffer.from('PK\x05\x06', 'latin1')

/**
 * True if the file ends with a zip archive, whatever comes before it. The comment of the end record must extend to the end of the file.
 * Otherwise the archive belongs to an attachment.
 */
export function endsWithZip(source: RandomAccessSource, limits: ReaderLimits): boolean {
  const tail = source.read(Math.max(0, source.size - 65_557), 65_557)
  for (let at = tail.lastIndexOf(endOfArchive); at >= 0; at = at === 0 ? -1 : tail.lastIndexOf(endOfArchive, at - 1)) {
    if (at + 22 <= tail.length && at + 22 + tail.readUInt16LE(at + 20) === tail.length)
      return (listZipEntries(source, limits)?.length ?? 0) > 0
  }
  return false
}
