import { isCentralDirectoryIntact, listZipEntries, type ZipEntry } from '../archive/zip/directory.js'
import { hasEncryptedZipDirectory } from '../archive/zip/encrypted-directory.js'
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
// Documents with macros have their own types, because Office opens them only with the matching extension.
const macroEnabledTypes: Record<string, string> = { docx: 'docm', xlsx: 'xlsm', pptx: 'pptm' }

const partFolders: [type: string, folder: string][] = [
  ['docx', 'word/'],
  ['xlsx', 'xl/'],
  ['pptx', 'ppt/'],
  ['vsdx', 'visio/'],
]

/**
 * Detects the type of a zip-based file by its member names. Returns `zip-damaged` if the central directory is unreadable,
 * because the file may be a truncated document.
 */
export function detectZipType(source: RandomAccessSource, limits: ReaderLimits): string {
  const entries = listZipEntries(source, limits)
  if (!entries) return hasEncryptedZipDirectory(source, limits) ? 'zip' : 'zip-damaged'
  // Office ignores the case of part names, and accepts backslashes and a leading slash in them, so names are normalized
  // accordingly.
  const names = new Set(entries.map((entry) => entry.name.replaceAll('\\', '/').replace(/^\//, '').toLowerCase()))
  const type =
    detectTypeByParts(names) ??
    detectTypeByMimetype(source, entries) ??
    detectTypeByNames(names, (name) => readMemberStart(source, limits, name))
  // A truncated central directory may lack the entries that identify a document format, so the file is not necessarily a plain zip.
  return type ?? (isCentralDirectoryIntact(source, limits) ? 'zip' : 'zip-damaged')
}

function detectTypeByParts(names: Set<string>): string | undefined {
  const all = [...names]
  const macros = all.some((name) => name.endsWith('/vbaproject.bin'))
  const main = mainParts.filter(([, part]) => all.some((name) => part.test(name)))
  if (main.length === 1) return macros ? (macroEnabledTypes[main[0]![0]] ?? main[0]![0]) : main[0]![0]
  const packaged = names.has('[content_types].xml') || names.has('_rels/.rels')
  if (!packaged) return undefined
  const found = partFolders.filter(([, folder]) => all.some((name) => name.startsWith(folder)))
  return found.length === 1 ? found[0]![0] : 'ooxml'
}

/** OpenDocument and EPUB files declare their media type in an uncompressed member named `mimetype`. */
function detectTypeByMimetype(source: RandomAccessSource, entries: ZipEntry[]): string | undefined {
  const entry = entries.find(({ name }) => name === 'mimetype')
  if (entry?.method !== 0 || entry.compressedSize > 200) return undefined
  const header = source.read(entry.localHeaderOffset, 30)
  if (header.length < 30) return undefined
  const start = entry.localHeaderOffset + 30 + header.readUInt16LE(26) + header.readUInt16LE(28)
  const declared = source.read(start, entry.compressedSize).toString('latin1').trim()
  return mimetypes[declared] ?? (declared.startsWith('application/vnd.oasis.opendocument') ? 'odf' : undefined)
}

/**
 * Detects formats by member names. MusicXML, InDesign, Hancom and XMind use the same names, so container.xml or manifest.xml must
 * also identify the format.
 */
function detectTypeByNames(names: Set<string>, readMember: (name: string) => string): string | undefined {
  const container = 'meta-inf/container.xml'
  if (names.has(container) && /\.opf\b|oebps-package/.test(readMember(container))) return 'epub'
  const manifest = 'meta-inf/manifest.xml'
  if (names.has('content.xml') && names.has(manifest) && /opendocument|openoffice/.test(readMember(manifest))) return 'odf'
  if (names.has('androidmanifest.xml')) return 'apk'
  if (names.has('meta-inf/manifest.mf')) return 'jar'
  for (const name of names) if (name.endsWith('.class') || name.startsWith('web-inf/')) return 'jar'
  return undefined
}

/** Returns the start of a member, or an empty string if it is unreadable. The type's reader reports the damage. */
function readMemberStart(source: RandomAccessSource, limits: ReaderLimits, name: string): string {
  try {
    return new ZipPackage(source, limits).read(name)?.toString('latin1', 0, 64 * 1024) ?? ''
  } catch (error) {
    if (error instanceof FormatError) return ''
    throw error
  }
}

const endOfDirectorySignature = Buffer.from('PK\x05\x06', 'latin1')

/** True if the file ends with a zip archive. If bytes follow the archive's comment, the archive is only an attachment. */
export function endsWithZip(source: RandomAccessSource, limits: ReaderLimits): boolean {
  const tail = source.read(Math.max(0, source.size - 65_557), 65_557)
  for (
    let at = tail.lastIndexOf(endOfDirectorySignature);
    at >= 0;
    at = at === 0 ? -1 : tail.lastIndexOf(endOfDirectorySignature, at - 1)
  ) {
    if (at + 22 <= tail.length && at + 22 + tail.readUInt16LE(at + 20) === tail.length)
      return (listZipEntries(source, limits)?.length ?? 0) > 0
  }
  return false
}
