import { fileTypeFromBlob, fileTypeFromBuffer } from 'file-type'
import { hasValidTarChecksum } from '../archive/tar/header.js'
import type { ReaderLimits } from '../format.js'
import { findEndOfId3Tags } from '../media/tags.js'
import { isPreOleExcelFile, isPreOleWordFile } from '../office/ole/pre-ole-formats.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { type DetectedText, detectText } from '../text/text.js'
import { types } from '../types.js'
import { detectIsoMediaType, hasId3Tag, isAdtsStream, isMpegAudio } from './media.js'
import { detectOleType } from './ole.js'
import { detectBinarySignature } from './signatures.js'
import { detectZipType, endsWithZip } from './zip.js'

export type Recognition =
  | { kind: 'empty' }
  /** `type` is a key of `types`, or an extension from file-type. Only the latter has a `mime`. */
  | { kind: 'binary'; type: string; mime?: string }
  | { kind: 'text'; sign: DetectedText }
  | { kind: 'unknown' }

/**
 * Detects the type of the content. Dedicated checks handle formats that file-type cannot distinguish (zip, compound files, MP4,
 * text) or identifies by only two bytes. If such a check does not confirm the result of file-type, the result is ignored.
 */
export async function recognizeType(source: RandomAccessSource, limits: ReaderLimits): Promise<Recognition> {
  if (source.size === 0) return { kind: 'empty' }
  const family = detectTypeByHeader(source, limits) ?? detectTextLikeBinaryType(source)
  if (family) return createBinaryRecognition(family)
  const sign = detectText(source)
  if (sign && !startsWithBinaryData(source)) {
    const found = mayBeTextFormat(source) ? await detectFileType(source) : undefined
    return found && textualTypes.has(found.ext) && !isPlainText(found.ext, source)
      ? createBinaryRecognition(found.ext)
      : createTextRecognition(source, sign)
  }
  const found = await detectFileType(source)
  if (found && !textOnlyTypes.has(found.ext)) {
    const type = found.ext === 'mp3' && hasId3Tag(source) && isAdtsStream(source) ? 'aac' : (typeAliases[found.ext] ?? found.ext)
    if (isTypeConfirmed(type, found.ext, source)) return createBinaryRecognition(type, found.mime)
  }
  if (sign) {
    const own = detectBinarySignature(source)
    return own ? createBinaryRecognition(own) : createTextRecognition(source, sign)
  }
  const deeper = detectTypeByStructure(source, limits)
  return deeper ? createBinaryRecognition(deeper) : { kind: 'unknown' }
}

/**
 * True if the file starts with binary data. Some audio and image files look like text except for their header. UTF-16 text with a
 * byte-order mark is exempt, because it also contains zero bytes.
 */
function startsWithBinaryData(source: RandomAccessSource): boolean {
  const start = source.read(0, 48)
  return start.some((byte) => byte < 7) && (start[0]! < 0xfe || start[1]! < 0xfe)
}

const createBinaryRecognition = (type: string, mime?: string): Recognition =>
  types[type] || !mime ? { kind: 'binary', type } : { kind: 'binary', type, mime }

// Detects types for which file-type is unsuitable, because it would inflate zip and gzip files and returns one type for all
// compound files.
function detectTypeByHeader(source: RandomAccessSource, limits: ReaderLimits): string | undefined {
  const head = source.read(0, 8)
  if (head.length < 4) return undefined
  if (/^PK(\x03\x04|\x05\x06|\x07\x08|00)/.test(head.toString('latin1', 0, 4))) return detectZipType(source, limits)
  if (head.equals(compoundFile)) return detectOleType(source)
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gz'
  if (isDicomWithTiffPreamble(source, head)) return 'dcm'
  return firstBoxPattern.test(head.toString('latin1', 4, 8)) ? detectIsoMediaType(source, limits) : undefined
}
// Possible first boxes of an ISO base media file. Old QuickTime files have no `ftyp` box.
const firstBoxPattern = /^(ftyp|styp|moov|mdat|wide|free|skip|pnot|moof|sidx)$/

/** True for a DICOM file that TIFF readers also open, because its preamble contains a TIFF header (DICOM PS3.10, 7.1). */
const isDicomWithTiffPreamble = (source: RandomAccessSource, head: Buffer): boolean =>
  /^(II\*\0|MM\0\*|II\+\0|MM\0\+)/.test(head.toString('latin1')) &&
  !/^(geo)?tiff?$/.test(source.extension) &&
  source.read(128, 4).toString('latin1') === 'DICM'

/** Detects binary types whose files may look like text. Disk images (dmg) have their signature near the end. */
function detectTextLikeBinaryType(source: RandomAccessSource): string | undefined {
  if (/^SIMPLE {2}= {18,20} *[TF]/.test(source.read(0, 64).toString('latin1'))) return 'fits'
  // Matches thin archives (GNU ar) and big archives (AIX ar).
  if (/^!<thin>\n|^<bigaf>\n/.test(source.read(0, 8).toString('latin1'))) return 'ar'
  const isDmg = source.extension === 'dmg' && source.read(source.size - 512, 8).toString('latin1') === 'koly\0\0\0\x04'
  return isDmg ? 'dmg' : undefined
}

const compoundFile = Buffer.from('d0cf11e0a1b11ae1', 'hex')

async function detectFileType(source: RandomAccessSource): Promise<{ ext: string; mime: string } | undefined> {
  if (source.size < 2) return undefined
  try {
    return await (source.size <= maxBufferedBytes
      ? fileTypeFromBuffer(source.readAll(maxBufferedBytes))
      : fileTypeFromBlob(toBlob(source)))
  } catch {
    // file-type can throw an error for a damaged file, in which case the type is unknown.
    return undefined
  }
}
const maxBufferedBytes = 64 * 1024

function toBlob(source: RandomAccessSource): Blob {
  const slice = (start: number, end: number) => ({
    arrayBuffer: async () => new Uint8Array(source.read(start, end - start)).buffer,
  })
  return { size: source.size, type: '', slice } as unknown as Blob
}

const typeAliases: Record<string, string> = {
  apng: 'png',
  'tar.gz': 'gz',
  opus: 'ogg-opus',
  ogg: 'ogg-audio',
  oga: 'ogg-audio',
  spx: 'ogg-audio',
  ogv: 'ogg-video',
  ogm: 'ogg-video',
  ...Object.fromEntries(['cr2', 'dng', 'nef', 'arw', 'rw2', 'orf', 'raf'].map((name) => [name, 'raw-photo'])),
  ...Object.fromEntries(['j2c', 'jpx', 'jpm', 'mj2'].map((name) => [name, 'jp2'])),
  cur: 'ico',
  mp1: 'mp3',
  mp2: 'mp3',
  cfb: 'ole',
}

const textualTypes = new Set(['pdf', 'rtf', 'ps', 'eps'])
// True if the text may have a format that file-type detects. For any other text, file-type's 150 signature checks would be a
// waste of time.
const mayBeTextFormat = (source: RandomAccessSource): boolean =>
  /^(\xef\xbb\xbf)?(%|\{\\rtf|\xc5\xd0\xd3\xc6|ID3|\xef\xbb\xbf)/.test(source.read(0, 8).toString('latin1'))
const textOnlyTypes = new Set(['xml', 'vtt', 'vcf', 'ics', 'reg', 'pgp', 'stl', 'cpio'])
// `%!` is not specific enough for PostScript, because any text may start with it.
const isPlainText = (ext: string, source: RandomAccessSource): boolean =>
  ext === 'ps' && source.read(0, 4).toString('latin1') !== '%!PS'

function isTypeConfirmed(type: string, ext: string, source: RandomAccessSource): boolean {
  if (type === 'mp3' && ext !== 'mp3') return isMpegAudio(source)
  const confirm = confirmations[type]
  return confirm ? confirm(source) : !unreliableTypes.has(ext)
}
const unreliableTypes = new Set('dmg Z ac3 arj icc shp nes it s3m asar avro lzh eot jmp fits'.split(' '))
const dibSizes = new Set([12, 16, 40, 52, 56, 64, 108, 124])
const confirmations: Record<string, (source: RandomAccessSource) => boolean> = {
  mp3: (source) => hasId3Tag(source) || isMpegAudio(source),
  aac: isAdtsStream,
  cab: (source) => source.read(0, 4).toString('latin1') === 'MSCF',
  bmp: (source) => source.size >= 26 && dibSizes.has(source.read(14, 4).readUInt32LE(0)),
  gif: (source) => /^GIF8[79]a$/.test(source.read(0, 6).toString('latin1')),
  exe: (source) => source.size >= 64,
  sqlite: (source) => source.read(0, 16).toString('latin1') === 'SQLite format 3\0',
  // The signature of a bare JPEG XL codestream is only two bytes long, so the extension must confirm it.
  jxl: (source) => source.read(0, 1)[0] === 0 || source.extension === 'jxl',
  mpg: (source) => /^\0\0\x01(\xb3|\xba[\x21-\x2f\x44-\x7f])/.test(source.read(0, 5).toString('latin1')),
  dwg: (source) => /^AC10\d\d\0/.test(source.read(0, 7).toString('latin1')),
  ico: (source) =>
    source.size > 22 &&
    source.read(4, 2).readUInt16LE(0) > 0 &&
    source.read(4, 2).readUInt16LE(0) < 1000 &&
    (source.read(9, 1)[0] ?? 1) === 0,
  ttf: (source) => source.size > 28 && /^[\x20-\x7e]{4}$/.test(source.read(12, 4).toString('latin1')),
  mts: (source) =>
    [0, 1, 2, 3, 4].every((packet) => source.read(packet * 188, 1)[0] === 0x47) ||
    [0, 1, 2, 3, 4].every((packet) => source.read(packet * 192 + 4, 1)[0] === 0x47),
  aif: (source) => /^FORM....AIF[FC]$/s.test(source.read(0, 12).toString('latin1')),
}

// file-type ignores these signatures if unusual bytes follow. The type's reader then decides whether the file is valid.
const signatures: Record<string, string> = { '89504e47': 'png', '49492a00': 'tif', '4d4d002a': 'tif' }

/** Detects types that file-type misses, by a trailer, a signature at another offset or a recognizable structure. */
function detectTypeByStructure(source: RandomAccessSource, limits: ReaderLimits): string | undefined {
  if (containsPdf(source)) return 'pdf'
  const signature = signatures[source.read(0, 4).toString('hex')]
  if (signature) return signature
  if (hasId3Tag(source)) return source.read(findEndOfId3Tags(source), 3).toString('latin1') === 'TTA' ? 'tta' : 'mp3'
  if (isTarWithoutSignature(source)) return 'tar'
  const ours = detectBinarySignature(source)
  if (ours) return ours
  if (isPreOleExcelFile(source)) return 'xls'
  if (isPreOleWordFile(source)) return 'doc'
  if (endsWithZip(source, limits)) return detectZipType(source, limits)
  return isMpegAudio(source) ? 'mp3' : undefined
}

/** PDF readers accept a header anywhere in the first 1024 bytes. */
export const findPdfHeader = (source: RandomAccessSource): number => source.read(0, 1024).indexOf('%PDF-', 0, 'latin1')

function containsPdf(source: RandomAccessSource): boolean {
  return (
    findPdfHeader(source) >= 0 && /%%EOF|startxref/.test(source.read(Math.max(0, source.size - 2048), 2048).toString('latin1'))
  )
}

function isTarWithoutSignature(source: RandomAccessSource): boolean {
  const block = source.read(0, 512)
  return block.length === 512 && block[0] !== 0 && hasValidTarChecksum(block)
}

/** Classifies text as PDF if a PDF reader could also open it. */
function createTextRecognition(source: RandomAccessSource, detected: DetectedText): Recognition {
  const at = findPdfHeader(source)
  return at >= 0 && at < 16 && containsPdf(source) ? { kind: 'binary', type: 'pdf' } : { kind: 'text', sign: detected }
}
