import type { Recognition } from './detect/detect.js'
import { binaryTypeFor, textTypeFor } from './extensions.js'
import type { FormatReader } from './format.js'

type Load = () => Promise<FormatReader>

const pdf = () => import('./pdf/pdf.js')
const image = () => import('./image/image.js')
const media = () => import('./media/media.js')
const archive = () => import('./archive/archive.js')
const office = () => import('./office/office.js')

const ooxml =
  (kind: 'docx' | 'xlsx' | 'pptx'): Load =>
  async () =>
    (await office()).readOoxml(kind)
const openDocument =
  (kind: 'odt' | 'ods' | 'odp'): Load =>
  async () =>
    (await office()).readOpenDocument(kind)
const ole =
  (kind: 'doc' | 'xls' | 'ppt'): Load =>
  async () =>
    (await office()).readOle(kind)

// Loaded when first wanted: a worker that sees only pictures never holds PDFium in memory.
const readers: Record<string, Load> = {
  pdf: async () => (await pdf()).readPdf,
  png: async () => (await image()).readPng,
  jpg: async () => (await image()).readJpeg,
  gif: async () => (await image()).readGif,
  webp: async () => (await image()).readWebp,
  tif: async () => (await image()).readTiff,
  bmp: async () => (await image()).readBmp,
  heic: async () => (await image()).readHeic,
  avif: async () => (await image()).readAvif,
  zip: async () => (await archive()).readZip,
  gz: async () => (await archive()).readGzip,
  tar: async () => (await archive()).readTar,
  '7z': async () => (await archive()).readSevenZip,
  docx: ooxml('docx'),
  xlsx: ooxml('xlsx'),
  pptx: ooxml('pptx'),
  odt: openDocument('odt'),
  ods: openDocument('ods'),
  odp: openDocument('odp'),
  epub: async () => (await office()).readEpub,
  jar: async () => (await office()).readJar,
  'encrypted-ooxml': async () => (await office()).readEncryptedOoxml,
  doc: ole('doc'),
  xls: ole('xls'),
  ppt: ole('ppt'),
  mp3: async () => (await media()).readMp3,
  aac: async () => (await media()).readAac,
  wav: async () => (await media()).readWav,
  flac: async () => (await media()).readFlac,
  ogg: async () => (await media()).readOgg,
  mp4: async () => (await media()).readMp4,
  webm: async () => (await media()).readWebm,
  json: async () => (await import('./text/json.js')).readJson,
  jsonl: async () => (await import('./text/json.js')).readJsonLines,
  xml: async () => (await import('./text/xml.js')).readXml,
  svg: async () => (await import('./text/xml.js')).readSvg,
  csv: async () => (await import('./text/csv.js')).readCsv,
  txt: async () => (await import('./text/text.js')).readText,
}

// Types that the reader of another opens.
const readAs: Record<string, string> = {
  html: 'txt',
  apk: 'zip',
  odg: 'zip',
  odf: 'zip',
  ooxml: 'zip',
  xlsb: 'zip',
  vsdx: 'zip',
  'zip-damaged': 'zip',
  m4a: 'mp4',
  'mp4-audio': 'mp4',
  'mov-mp4': 'mp4',
  'iso-damaged': 'mp4',
  mov: 'mp4',
  '3gp': 'mp4',
  mkv: 'webm',
  'ogg-audio': 'ogg',
  'ogg-opus': 'ogg',
  'ogg-video': 'ogg',
  ogx: 'ogg',
}

// What may be any of several types: there the extension says which reader is asked.
const generic = new Set(['zip', 'zip-damaged', 'ooxml', 'odf', 'ole', 'ogx', 'iso-damaged'])

/** The name of the reader that judges a file; undefined where only its signature can be looked at. */
export function readerName(extension: string, recognised: Recognition): string | undefined {
  const byName = textTypeFor(extension) ?? binaryTypeFor(extension)
  if (recognised.kind !== 'binary') return known(byName)
  if (byName === undefined) return known(recognised.type)
  const asCalled = known(byName)
  // A document that is called .zip is judged as the archive that it is, too.
  return asCalled === undefined || byName === 'zip' || generic.has(recognised.type) ? asCalled : known(recognised.type)
}

function known(type: string | undefined): string | undefined {
  const name = type && (readAs[type] ?? type)
  return name && readers[name] ? name : undefined
}

export const loadReader = (name: string): Promise<FormatReader> | undefined => readers[name]?.()
