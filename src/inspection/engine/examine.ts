import {
  checkDeadline,
  defaultLimits,
  detect,
  type FormatReader,
  type MemberObserver,
  openDetected,
  type RandomAccessSource,
  type ReaderLimits,
} from '@assay/formats'
import type { Findings, Job } from '../report.js'

/** Readers that replace built-in readers, by file extension. Used only by tests. */
export type ReaderOverrides = Record<string, FormatReader>

/** Examines a file in the same order as the checks, and stops at the first check that will fail. */
export async function examine(
  source: RandomAccessSource,
  job: Job,
  overrides: ReaderOverrides = {},
  limits = defaultLimits(job.deadlineMs),
  observer?: MemberObserver,
): Promise<Findings> {
  const recognition = await measureDuration(() => detect(source, limits))
  if (!recognition.fits) return { recognition, blankness: null, soundness: null }
  const blankness = job.blank ? await measureDuration(() => ({ blank: isBlank(source, limits) })) : null
  if (blankness?.blank) return { recognition, blankness, soundness: null }
  const soundness = await measureDuration(() => openDetected(source, recognition.recognized, limits, overrides, observer))
  return { recognition, blankness, soundness }
}

async function measureDuration<T>(work: () => T | Promise<T>): Promise<T & { durationMs: number }> {
  const start = performance.now()
  const result = await work()
  return { ...result, durationMs: Math.round((performance.now() - start) * 100) / 100 }
}

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

const startBytes = 4096

function* readChunks(source: RandomAccessSource): Generator<Buffer> {
  yield source.read(0, startBytes)
  yield* source.chunks(startBytes)
}

const zeros = Buffer.alloc(64 * 1024)

function isBlankChunk(chunk: Buffer): boolean {
  // Fast path for gigabytes of zeros, as in disk images and failed copies.
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
