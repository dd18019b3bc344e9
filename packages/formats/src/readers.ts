import type { Recognition } from './detect/detect.js'
import type { FormatReader } from './format.js'
import { mimeByExtension, rawPhotos, type TypeRow, textTypes, types } from './types.js'

const genericExtensions = new Set(['bin', 'dat', 'data', 'raw', 'blob', 'tmp', 'bak', 'old', 'file', 'part', '001', 'z01', ''])
const programTypes = new Set(['exe', 'macho', 'class', 'wasm', 'lnk', 'chm', 'swf'])

/** Maps each extension to the type of the same name or, if there is none, to the first type that lists the extension. */
function mapExtensionsToTypes(table: Record<string, TypeRow>): Map<string, string> {
  const found = new Map<string, string>()
  for (const [type, { extensions }] of Object.entries(table))
    for (const extension of extensions) if (!found.has(extension)) found.set(extension, type)
  for (const [type, { extensions }] of Object.entries(table)) if (extensions.includes(type)) found.set(type, type)
  return found
}
const binaryTypesByExtension = mapExtensionsToTypes(types)
for (const extension of rawPhotos.split(' ')) binaryTypesByExtension.set(extension, 'raw-photo')
const textTypesByExtension = mapExtensionsToTypes(textTypes)

export const getTextType = (extension: string): string | undefined => textTypesByExtension.get(extension)

/** True if browsers render text files with this extension and run their scripts. */
export const isWebPageExtension = (extension: string): boolean =>
  getTextType(extension) === 'html' || /^(xhtml|xht|mht|mhtml)$/.test(extension)

export const getBinaryType = (extension: string): string | undefined =>
  textTypesByExtension.has(extension) ? undefined : binaryTypesByExtension.get(extension)

export function isExtensionOfType(extension: string, type: string): boolean {
  if (genericExtensions.has(extension) || extension === type) return true
  if (types[type]?.extensions.includes(extension)) return true
  if (getBinaryType(extension) ?? getTextType(extension)) return false
  // A file with an unknown extension may be anything except a program.
  return !programTypes.has(type)
}

export function getMimeTypeByExtension(extension: string): string | null {
  if (genericExtensions.has(extension)) return null
  const fine = mimeByExtension[extension]
  if (fine) return fine
  const text = getTextType(extension)
  if (text) return textTypes[text]!.mime
  const binary = getBinaryType(extension)
  return binary ? types[binary]!.mime : null
}

const coarseTypes = new Set(['zip', 'ooxml', 'odf', 'ole', 'encrypted-ooxml', 'zip-damaged', 'ogx', 'iso-damaged'])

/** Returns the content type for a detected type. If the type has several content types, the extension decides. */
export function getMimeType(type: string, extension: string): string | null {
  const known = types[type] ?? textTypes[type]
  if (!known) return getMimeTypeByExtension(extension)
  const describesSameContent = known.extensions.includes(extension)
  const isCoarse = coarseTypes.has(type) && getTextType(extension) === undefined
  return (describesSameContent && (isCoarse || mimeByExtension[extension]) && getMimeTypeByExtension(extension)) || known.mime
}

type ReaderLoader = () => Promise<FormatReader>

// Maps types to readers, each of which is named after its first type. Readers load on demand, because most workers need only
// some of them.
const readerTable: [types: string, load: ReaderLoader][] = [
  ['pdf', async () => (await import('./pdf/pdf.js')).readPdf],

  ['png', async () => (await import('./image/png.js')).readPng],
  ['jpg', async () => (await import('./image/jpeg.js')).readJpeg],
  ['gif', async () => (await import('./image/gif.js')).readGif],
  ['webp', async () => (await import('./image/webp.js')).readWebp],
  ['tif', async () => (await import('./image/tiff.js')).readTiff],
  ['bmp', async () => (await import('./image/bmp.js')).readBmp],
  ['heic', async () => (await import('./image/heif.js')).readHeic],
  ['avif', async () => (await import('./image/heif.js')).readAvif],

  ['zip apk odg odf ooxml xlsb vsdx zip-damaged', async () => (await import('./archive/archive.js')).readZip],
  ['gz', async () => (await import('./archive/archive.js')).readGzip],
  ['tar', async () => (await import('./archive/archive.js')).readTar],
  ['7z', async () => (await import('./archive/archive.js')).readSevenZip],
  ['rar', async () => (await import('./archive/sevenzip/other-formats.js')).readRar],
  ['cab', async () => (await import('./archive/sevenzip/other-formats.js')).readCab],
  [
    'xz',
    async () =>
      (await import('./archive/sevenzip/other-formats.js')).createCompressedStreamReader({ type: 'xz', displayName: 'xz file' }),
  ],
  [
    'bz2',
    async () =>
      (await import('./archive/sevenzip/other-formats.js')).createCompressedStreamReader({
        type: 'bzip2',
        displayName: 'bzip2 file',
      }),
  ],
  [
    'zst',
    async () =>
      (await import('./archive/sevenzip/other-formats.js')).createCompressedStreamReader({
        type: 'zstd',
        displayName: 'Zstandard file',
      }),
  ],
  ['jar', async () => (await import('./archive/archive.js')).readJar],

  ['docx docm', async () => (await import('./office/ooxml.js')).createOoxmlReader('docx')],
  ['xlsx xlsm', async () => (await import('./office/ooxml.js')).createOoxmlReader('xlsx')],
  ['pptx pptm', async () => (await import('./office/ooxml.js')).createOoxmlReader('pptx')],
  ['odt', async () => (await import('./office/opendocument.js')).createOpenDocumentReader('odt')],
  ['ods', async () => (await import('./office/opendocument.js')).createOpenDocumentReader('ods')],
  ['odp', async () => (await import('./office/opendocument.js')).createOpenDocumentReader('odp')],
  ['epub', async () => (await import('./office/opendocument.js')).readEpub],
  ['encrypted-ooxml', async () => (await import('./office/ole/ole.js')).readEncryptedOoxml],
  ['doc', async () => (await import('./office/ole/ole.js')).createOleReader('doc')],
  ['xls', async () => (await import('./office/ole/ole.js')).createOleReader('xls')],
  ['ppt', async () => (await import('./office/ole/ole.js')).createOleReader('ppt')],

  ['mp3', async () => (await import('./media/mp3.js')).readMp3],
  ['aac', async () => (await import('./media/aac.js')).readAac],
  ['wav', async () => (await import('./media/wav.js')).readWav],
  ['flac', async () => (await import('./media/flac.js')).readFlac],
  ['ogg ogg-audio ogg-opus ogg-video ogx', async () => (await import('./media/ogg.js')).readOgg],
  ['mp4 m4a mp4-audio mov mov-mp4 3gp iso-damaged', async () => (await import('./media/mp4.js')).readMp4],
  ['webm mkv', async () => (await import('./media/webm.js')).readWebm],

  ['json', async () => (await import('./text/json.js')).readJson],
  ['jsonl', async () => (await import('./text/json.js')).readJsonLines],
  ['xml', async () => (await import('./text/xml.js')).readXml],
  ['svg', async () => (await import('./text/xml.js')).readSvg],
  ['svgz', async () => (await import('./text/xml.js')).readSvgz],
  ['ics vcf vtt step dxf', async () => (await import('./text/marked-text.js')).readMarkedText],
  ['stl', async () => (await import('./text/marked-text.js')).readStl],
  ['csv', async () => (await import('./text/text.js')).readCsv],
  ['txt html', async () => (await import('./text/text.js')).readText],
]

const readers = new Map(
  readerTable.flatMap(([types, load]) =>
    types.split(' ').map((type, _, [name]) => [type, { name: name as string, load }] as const),
  ),
)

// Types that are too generic to determine the reader. The extension decides instead.
const genericTypes = new Set(['zip', 'zip-damaged', 'ooxml', 'odf', 'ole', 'ogx', 'iso-damaged'])

export function getReaderName(extension: string, recognition: Recognition): string | undefined {
  if (extension === 'svgz') return 'svgz'
  const byName = getTextType(extension) ?? getBinaryType(extension)
  if (recognition.kind !== 'binary') return getReaderNameByType(byName)
  if (byName === undefined) return getReaderNameByType(recognition.type)
  // Extensions such as .key belong to both a text type and a binary type, so the detected type determines the reader.
  if (getTextType(extension)) return getReaderNameByType(recognition.type)
  // Some extensions of the zip type, such as .fla (Flash project), are also used for compound files, which no reader checks.
  if (byName === 'zip' && recognition.type === 'ole') return undefined
  const asCalled = getReaderNameByType(byName)
  // The extension .zip takes precedence over the detected type, so a document with this extension is checked as a plain archive.
  return asCalled === undefined || byName === 'zip' || genericTypes.has(recognition.type)
    ? asCalled
    : getReaderNameByType(recognition.type)
}

export const getReaderNameByType = (type: string | undefined): string | undefined => readers.get(type ?? '')?.name

const loadedReaders = new Map<string, Promise<FormatReader> | undefined>()

/** Loads a reader and caches it, because `import()` would resolve the module again on every call. */
export function loadReader(name: string): Promise<FormatReader> | undefined {
  if (!loadedReaders.has(name)) loadedReaders.set(name, readers.get(name)?.load())
  return loadedReaders.get(name)
}
