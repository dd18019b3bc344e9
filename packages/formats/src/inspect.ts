import { findActiveContent } from './active-content.js'
import { isSignatureOptional } from './content-rule.js'
import { findPdfHeader, type Recognition, recognizeType } from './detect/detect.js'
import {
  checkDeadline,
  createInvalidVerdict,
  createMaliciousVerdict,
  createValidVerdict,
  DeadlineExceeded,
  type FormatReader,
  type FormatVerdict,
  type ReaderLimits,
} from './format.js'
import { decodeImagesWith, hasImageDecoder } from './image/image-decoder.js'
import type { MemberObserver } from './member-observer.js'
import { detectPolyglot } from './polyglot.js'
import { type RandomAccessSource, TooLarge, WindowSource } from './random-access-source.js'
import {
  getMimeType,
  getMimeTypeByExtension,
  getReaderName,
  getTextType,
  isExtensionOfType,
  isWebPageExtension,
  loadReader,
} from './readers.js'

const megabyte = 1024 * 1024

/**
 * Returns limits that are suitable for untrusted files. A file that exceeds a limit is rejected. The deadline is `deadlineMs`
 * from now.
 */
export function defaultLimits(deadlineMs = 30_000): ReaderLimits {
  return {
    maxUnpackedBytes: 4096 * megabyte,
    maxRatio: 200,
    maxEntries: 200_000,
    maxNesting: 5,
    // 256 MiB, which is 89,478,485 24-bit pixels. Pillow warns about decompression bombs above this size.
    maxPictureBits: 2 ** 31,
    maxDepth: 1000,
    deadline: Date.now() + deadlineMs,
  }
}

export interface Detection {
  recognized: Recognition
  /** Key of `types` or `textTypes`. Null if the type is unknown. */
  type: string | null
  mime: string | null
  /** True if the source's extension is valid for the detected type. */
  fits: boolean
}

/** Result of reading a file with the format reader for its type. */
export interface Inspection {
  verdict: FormatVerdict
  /** Name of the format reader. Null if only the signature was checked. */
  reader: string | null
}

/** Detects the type of the content. The extension is considered only if the signature is ambiguous. */
export async function detect(source: RandomAccessSource, limits: ReaderLimits = defaultLimits()): Promise<Detection> {
  const recognized = await recognizeType(source, limits)
  const { extension } = source
  if (recognized.kind === 'binary') {
    const { type } = recognized
    return { recognized, type, mime: recognized.mime ?? getMimeType(type, extension), fits: isExtensionOfType(extension, type) }
  }
  if (recognized.kind !== 'text') return { recognized, type: null, mime: null, fits: true }
  const type = (await detectOtherTextType(source, limits)) ?? 'text'
  const mime =
    type !== 'text' ? getMimeType(type, type) : getTextType(extension) ? getMimeTypeByExtension(extension) : 'text/plain'
  return { recognized, type, mime, fits: type === 'text' }
}

/**
 * Detects the type of a file and checks that common programs can open it. Returns a verdict for damaged files instead of
 * throwing. Decodes images in this process unless `decodeImagesWith` has set another decoder. If `type` is set, it overrides the
 * source's extension.
 */
export async function inspect(
  source: RandomAccessSource,
  { type, limits = defaultLimits() }: { type?: string; limits?: ReaderLimits } = {},
): Promise<Detection & Inspection> {
  const file = type === undefined || type === source.extension ? source : new WindowSource(source, 0, source.size, type)
  if (!hasImageDecoder()) {
    const { decodeImage } = await import('./image/libvips.js')
    decodeImagesWith((image, task) => decodeImage(image.readAll(image.size), task))
  }
  const detection = await detect(file, limits)
  return { ...detection, ...(await openDetected(file, detection.recognized, limits)) }
}

type Timed<T> = T & { durationMs: number }

/** Results of examining a file. The examination stops at the first failure, and the remaining results are null. */
export interface Examination {
  recognition: Timed<Detection>
  blankness: Timed<{ blank: boolean }> | null
  soundness: Timed<Inspection> | null
}

/** Detects the type of a file, optionally checks whether it is blank, and opens it. See `openDetected` for the options. */
export async function examine(
  source: RandomAccessSource,
  { blank, limits = defaultLimits(), readers, observer }: ExamineOptions,
): Promise<Examination> {
  const recognition = await measureDuration(() => detect(source, limits))
  if (!recognition.fits) return { recognition, blankness: null, soundness: null }
  const blankness = blank ? await measureDuration(() => ({ blank: isBlank(source, limits) })) : null
  if (blankness?.blank) return { recognition, blankness, soundness: null }
  const soundness = await measureDuration(() => openDetected(source, recognition.recognized, limits, readers, observer))
  return { recognition, blankness, soundness }
}

interface ExamineOptions {
  blank: boolean
  limits?: ReaderLimits
  readers?: Record<string, FormatReader>
  observer?: MemberObserver | undefined
}

async function measureDuration<T>(work: () => T | Promise<T>): Promise<Timed<T>> {
  const start = performance.now()
  const result = await work()
  return { ...result, durationMs: Math.round((performance.now() - start) * 100) / 100 }
}

/** Checks a file of a known type. `readers` overrides readers by extension. `observer` receives unpacked members. */
export async function openDetected(
  source: RandomAccessSource,
  recognition: Recognition,
  limits: ReaderLimits,
  readers: Record<string, FormatReader> = {},
  observer?: MemberObserver,
): Promise<Inspection> {
  const ambiguity = findPolyglot(source, recognition, limits)
  if (ambiguity) return { verdict: createMaliciousVerdict(ambiguity.maliciousConstruction, ambiguity.problem), reader: null }
  const name = getReaderName(source.extension, recognition)
  const reader = readers[source.extension] ?? (name && (await loadReader(name)))
  const textProblem = reader && findTextDocumentProblem(source, recognition)
  if (textProblem) return { verdict: createInvalidVerdict(textProblem), reader: name ?? null }
  const verdict = await runReader(async () => {
    const read = reader ? await reader(source, limits, observer) : checkSignature(source, recognition)
    return addActiveContent(read, { source, recognized: recognition, limits })
  })
  if (!verdict.sound && isArchiveVolume(source, recognition, verdict)) verdict.problem = volumeProblem
  const note = getUnusualNameNote(source.extension, recognition)
  if (note && reader && verdict.sound) verdict.notes = [...(verdict.notes ?? []), note]
  return { verdict, reader: reader ? (name ?? source.extension) : null }
}

const volumeProblem = 'the file is one part of a split archive. Join the parts, or upload an archive that is not split'

/** True if the extension (.7z.001, .z01) or the first bytes of an unreadable archive show that it is part of a split archive. */
function isArchiveVolume(
  source: RandomAccessSource,
  recognition: Recognition,
  verdict: { maliciousConstruction?: string },
): boolean {
  if (recognition.kind !== 'binary' || !volumeTypes.has(recognition.type) || verdict.maliciousConstruction) return false
  return /^(\d{3}|[rz]\d\d)$/.test(source.extension) || source.read(0, 8).toString('latin1') === 'PK\x07\x08PK\x03\x04'
}
const volumeTypes = new Set(['zip', 'zip-damaged', '7z', 'rar', 'gz', 'bz2', 'xz', 'zst', 'tar'])

/** Detects XML with a JSON extension, or JSON with an XML extension. Returns the type only if the text parses as that type. */
async function detectOtherTextType(source: RandomAccessSource, limits: ReaderLimits): Promise<'xml' | 'json' | undefined> {
  const named = getTextType(source.extension)
  const first = source
    .read(0, 256)
    .toString('latin1')
    .replace(/[^\x21-\x7e]/g, '')[0]
  const other =
    first === '<' && (named === 'json' || named === 'jsonl')
      ? 'xml'
      : (first === '{' || first === '[') && (named === 'xml' || named === 'svg')
        ? 'json'
        : undefined
  const reader = other && (await loadReader(other))
  return reader && (await runReader(() => reader(source, limits))).sound ? other : undefined
}

/** Checks whether the file is a polyglot. Text without a PDF header cannot be one, so it needs no further check. */
const findPolyglot = (source: RandomAccessSource, recognition: Recognition, limits: ReaderLimits) =>
  recognition.kind === 'text' && findPdfHeader(source) < 0 ? undefined : detectPolyglot(source, recognition, limits)

interface ReaderInput {
  source: RandomAccessSource
  recognized: Recognition
  limits: ReaderLimits
}

function addActiveContent(verdict: FormatVerdict, { source, recognized, limits }: ReaderInput): FormatVerdict {
  const found =
    recognized.kind === 'text' && !isWebPageExtension(source.extension)
      ? []
      : findActiveContent(source, recognized, limits, verdict)
  const active = new Set([...found, ...((verdict.evidence?.active_content as string[] | undefined) ?? [])])
  return active.size > 0 ? { ...verdict, evidence: { ...verdict.evidence, active_content: [...active] } } : verdict
}

const modernFormats: Record<string, string> = { doc: '.docx', dot: '.dotx', xls: '.xlsx', xlt: '.xltx', ppt: '.pptx' }

/** Detects web pages and XML that office programs save with the extension of a binary format, such as .doc. */
function findTextDocumentProblem(source: RandomAccessSource, recognition: Recognition): string | undefined {
  if (recognition.kind !== 'text' || !/^(doc|dot|xls|xlt|ppt)$/.test(source.extension)) return undefined
  const start = source.read(0, 2048).toString('latin1')
  const wayOut = `Rename it, or open it in an office program and save it as ${modernFormats[source.extension]}`
  const program = /progid="(Word|Excel|PowerPoint)\./.exec(start)?.[1]
  if (program) return `the file is ${program} 2003 XML, not a .${source.extension} file. The usual extension is .xml. ${wayOut}`
  if (/<(!doctype\s+html|html|head|body|table)[\s>]/i.test(start))
    return `the file is a web page, not a .${source.extension} file. The usual extension is .html. ${wayOut}`
  return undefined
}

function getUnusualNameNote(extension: string, recognition: Recognition): string | undefined {
  const type = recognition.kind === 'binary' ? recognition.type : undefined
  if (type === 'mov' && /^(mp4|m4v)$/.test(extension)) return 'the brand identifies the file as a QuickTime movie'
  return type === 'mkv' && /^web[ma]$/.test(extension) ? 'the document type identifies the file as Matroska' : undefined
}

function checkSignature(source: RandomAccessSource, recognition: Recognition): FormatVerdict {
  if (recognition.kind === 'binary') return createValidVerdict(["only the file's signature was checked"])
  if (!isSignatureOptional(source, recognition))
    return createInvalidVerdict(`the file does not start as a .${source.extension} file should`)
  return createValidVerdict([recognition.kind === 'text' ? 'the file is text' : 'the file type has no known signature'])
}

/** Runs a format reader. Unexpected errors count as damage to the file. */
async function runReader(work: () => FormatVerdict | Promise<FormatVerdict>): Promise<FormatVerdict> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof DeadlineExceeded) return createMaliciousVerdict('too_slow', error.message)
    if (error instanceof TooLarge) return createValidVerdict([`only the file's signature was checked: ${error.message}`])
    return createInvalidVerdict(
      `the file cannot be read: ${(error instanceof Error ? error.message : String(error)).slice(0, 300)}`,
    )
  }
}

const startBytes = 4096
const blankByte = new Uint8Array(256)
for (const code of [0, 9, 10, 11, 12, 13, 32]) blankByte[code] = 1

/**
 * Returns true if the content consists only of whitespace, NUL bytes and byte-order marks, in any Unicode encoding. The first
 * bytes are read separately, because they determine the result for nearly all files.
 */
export function isBlank(source: RandomAccessSource, limits: ReaderLimits): boolean {
  const start = source.read(0, startBytes)
  const encoding = detectEncoding(start)
  // A printable ASCII character is not blank, so no decoder is needed.
  if (encoding === 'utf-8' && start.some((byte) => byte > 0x20 && byte < 0x7f)) return false
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true })
  try {
    for (const chunk of readChunks(source)) {
      checkDeadline(limits)
      if (isBlankChunk(chunk)) continue
      if (!/^[\s\0\ufeff\ufffe]*$/u.test(decoder.decode(chunk, { stream: true }))) return false
    }
    // Throws if the content ends with an incomplete character.
    decoder.decode()
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return false
    throw error
  }
}

function* readChunks(source: RandomAccessSource): Generator<Buffer> {
  yield source.read(0, startBytes)
  yield* source.chunks(startBytes)
}

const zeros = Buffer.alloc(64 * 1024)

function isBlankChunk(chunk: Buffer): boolean {
  // Fast path for long runs of zeros, because disk images and failed copies can contain gigabytes of them.
  if (chunk.length === zeros.length && chunk.equals(zeros)) return true
  for (let at = 0; at < chunk.length; at++) if (blankByte[chunk[at]!] === 0) return false
  return true
}

const utf32be = Buffer.from([0, 0, 0xfe, 0xff])

const detectEncoding = (start: Buffer): string => {
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf-16le'
  const big = (start[0] === 0xfe && start[1] === 0xff) || start.subarray(0, 4).equals(utf32be)
  return big ? 'utf-16be' : 'utf-8'
}
