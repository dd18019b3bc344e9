import { listZipEntries } from './archive/zip/directory.js'
import type { Recognition } from './detect/detect.js'
import { findPdfHeader } from './detect/detect.js'
import { endsWithZip } from './detect/zip.js'
import type { ReaderLimits } from './format.js'
import type { RandomAccessSource } from './random-access-source.js'

const webPagePattern = /<(!doctype\s+html|html|head|body|script|iframe|svg)[\s>]/i

export interface Polyglot {
  maliciousConstruction: 'polyglot'
  problem: string
}

/** Detects a file that programs can also open as another type. PDF attachments and archive members are allowed. */
export function detectPolyglot(source: RandomAccessSource, recognition: Recognition, limits: ReaderLimits): Polyglot | undefined {
  if (recognition.kind === 'binary' && recognition.type === 'gif' && endsWithZip(source, limits))
    return createPolyglot('the GIF is also a ZIP archive')
  const header = findPdfHeader(source)
  if (header < 0) return undefined
  const isPdf = recognition.kind === 'binary' && recognition.type === 'pdf'
  if (isPdf) return detectPdfPolyglot(source, header, limits)
  if (recognition.kind === 'text') return detectPdfInWebPage(source, header)
  if (startsWithZip(source)) return detectPdfInZip(source, header)
  return recognition.kind === 'binary' && nonContainerTypes.has(recognition.type)
    ? detectPdfInMedia(source, recognition.type)
    : undefined
}

// Types whose files cannot accidentally end with a PDF. By contrast, an archive or a compound file may contain an uncompressed
// PDF at its end.
const nonContainerTypes = new Set(
  'jpg png gif bmp tif webp heic avif ico psd jp2 mp3 wav flac ogg-audio ogg-opus ogg-video mp4 mp4-audio m4a mov webm mkv avi exe elf'.split(
    ' ',
  ),
)

function detectPdfInMedia(source: RandomAccessSource, type: string): Polyglot | undefined {
  return endsWithPdf(source) ? createPolyglot(`the ${type.toUpperCase()} file is also a PDF`) : undefined
}

const endsWithPdf = (source: RandomAccessSource): boolean =>
  /startxref\s+\d+\s+%%EOF/.test(source.read(Math.max(0, source.size - 2048), 2048).toString('latin1'))

const createPolyglot = (problem: string): Polyglot => ({ maliciousConstruction: 'polyglot', problem })

function detectPdfPolyglot(source: RandomAccessSource, headerOffset: number, limits: ReaderLimits): Polyglot | undefined {
  if (endsWithZip(source, limits) || hasTrailingZip(source, limits)) return createPolyglot('the PDF is also a ZIP archive')
  const start = source.read(0, 4096).toString('latin1')
  const firstObject = /\d+\s+\d+\s+obj\b/.exec(start.slice(headerOffset))
  const preamble = start.slice(0, firstObject ? headerOffset + firstObject.index : start.length)
  if (webPagePattern.test(preamble)) return createPolyglot('the PDF is also an HTML page')
  const tail = source.read(Math.max(0, source.size - 4096), 4096).toString('latin1')
  const end = tail.lastIndexOf('%%EOF')
  return end >= 0 && webPagePattern.test(tail.slice(end)) ? createPolyglot('the PDF is also an HTML page') : undefined
}

/**
 * True if a zip archive follows the end of the PDF. A zip attachment does not count, because attachments are located before the
 * end.
 */
function hasTrailingZip(source: RandomAccessSource, limits: ReaderLimits): boolean {
  const tail = source.read(Math.max(0, source.size - 65_557), 65_557)
  const end = tail.lastIndexOf('PK\x05\x06', undefined, 'latin1')
  return end > tail.lastIndexOf('%%EOF', undefined, 'latin1') && (listZipEntries(source, limits)?.length ?? 0) > 0
}

const startsWithZip = (source: RandomAccessSource): boolean => source.read(0, 4).toString('latin1') === 'PK\x03\x04'

/**
 * Detects a zip archive that is also a PDF. A PDF header before the data of the first member makes the whole file a PDF. A later
 * header may belong to an uncompressed PDF member.
 */
function detectPdfInZip(source: RandomAccessSource, headerOffset: number): Polyglot | undefined {
  const local = source.read(0, 30)
  const dataStart = 30 + local.readUInt16LE(26) + local.readUInt16LE(28)
  return headerOffset < dataStart ? createPolyglot('the ZIP archive is also a PDF') : undefined
}

function detectPdfInWebPage(source: RandomAccessSource, headerOffset: number): Polyglot | undefined {
  if (!webPagePattern.test(source.read(0, headerOffset).toString('latin1'))) return undefined
  return endsWithPdf(source) ? createPolyglot('the HTML page is also a PDF') : undefined
}
