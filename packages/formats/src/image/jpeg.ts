import {
  checkDeadline,
  createCountedDeadline,
  createInvalidVerdict,
  createValidVerdict,
  DeadlineExceeded,
  type FormatReader,
  type ReaderLimits,
} from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { decodeImageWithinLimits } from './image-decoder.js'
import { checkImageSize } from './image-size.js'
import { checkScans, findNextMarker, isDisplacedData } from './jpeg-scan.js'

interface Frame {
  width: number
  height: number
  precision: number
  /** Coding process, the low four bits of the marker: 0 baseline, 1 extended, 2 progressive, 3 lossless, 9 and 10 arithmetic. */
  process: number
}

// Warnings that files from cameras and old encoders cause, and that every viewer ignores.
const harmlessWarning =
  /extraneous bytes before marker|Invalid SOS parameters|Inconsistent progression|Adobe|JFIF|Ancient|out of order|APP\d|thumbnail/i
const extraneous = /(\d+) extraneous bytes before marker 0x(\w\w)/
// Errors about coding processes that browsers do not support, but medical and technical programs do.
const unsupported =
  /Unsupported JPEG (data precision|process)|Unsupported marker type 0xf7|arithmetic|SOF type|Sampling factors too large|CCIR601|fractional sampling/i

// Factor that raises the pixel limit to about 200 megapixels, the resolution of some phone cameras.
const cameraLimitFactor = 2.25

/**
 * Checks a JPEG. Checks each Huffman code of common sequential scans, and decodes all other images with libvips. Accepts bytes
 * after the image.
 */
export const readJpeg: FormatReader = async (source, limits) => {
  const start = source.read(0, 3)
  if (start.length < 3 || start[0] !== 0xff || start[1] !== 0xd8 || start[2] !== 0xff)
    return createInvalidVerdict('the file does not start with the JPEG signature')
  const frame = findFrameHeader(source, limits)
  if (typeof frame === 'string') return createInvalidVerdict(frame)
  const evidence = { width: frame.width, height: frame.height }
  const flood = checkImageSize('JPEG', { ...frame, bits: 24, times: cameraLimitFactor }, limits)
  if (flood) return flood
  const walk = checkScans(source, limits)
  if (walk.problem) return createInvalidVerdict(`the JPEG is damaged: ${walk.problem}`, evidence)
  if (walk.plain) return createValidVerdict([], evidence)
  const maxPixels = frame.width * frame.height
  let decoding = await decodeImageWithinLimits(source, limits, { failOn: 'warning', maxPixels })
  const notes: string[] = []
  if (decoding.outcome === 'refused' && harmlessWarning.test(decoding.message)) {
    const [, count, code] = extraneous.exec(decoding.message) ?? []
    if (count && isDisplacedData(source, limits, Number(count), Number.parseInt(code!, 16)))
      return createInvalidVerdict(`the JPEG is damaged: ${decoding.message}`, evidence)
    notes.push(`viewers can repair this damage: ${decoding.message}`)
    decoding = await decodeImageWithinLimits(source, limits, { failOn: 'error', maxPixels })
  }
  if (decoding.outcome === 'decoded') return createValidVerdict(notes, evidence)
  if (decoding.outcome === 'refused' && !unsupported.test(decoding.message))
    return createInvalidVerdict(`the JPEG is damaged or truncated: ${decoding.message}`, evidence)
  return createValidVerdict(
    [
      ...notes,
      `only the file's structure was checked: ${decoding.outcome === 'too_large' ? 'too large to decode' : decoding.message}`,
    ],
    evidence,
  )
}

// Maximum number of segments before the frame header. Photos have about ten.
const maxSegments = 500

/** True if the image is not sequential, so only libvips can check it. This function is fast enough for the event loop. */
export function isProgressive(source: RandomAccessSource): boolean {
  try {
    const frame = findFrameHeader(source, createCountedDeadline(maxSegments))
    return typeof frame !== 'string' && frame.process > 1
  } catch (error) {
    if (error instanceof DeadlineExceeded) return false
    throw error
  }
}

function findFrameHeader(source: RandomAccessSource, limits: Pick<ReaderLimits, 'deadline'>): Frame | string {
  let at = 2
  for (;;) {
    checkDeadline(limits)
    const marker = findNextMarker(source, limits, at)
    if (!marker) return 'the JPEG contains no image (the frame header is missing)'
    const { code, after } = marker
    if (code === 0xd9) return 'the JPEG is truncated before its image'
    if (code === 0xda) return 'the JPEG has image data without a frame header'
    if (code === 0xd8 || code === 0x01 || (code >= 0xd0 && code <= 0xd7)) {
      at = after
      continue
    }
    const head = source.read(after, 8)
    const length = head.length >= 2 ? head.readUInt16BE(0) : 0
    if (length < 2 || after + length > source.size) return 'the JPEG is truncated within a header segment'
    if (isFrameHeader(code)) return parseFrameHeader(code, head, length)
    at = after + length
  }
}

const isFrameHeader = (code: number) => code >= 0xc0 && code <= 0xcf && code !== 0xc4 && code !== 0xc8 && code !== 0xcc

function parseFrameHeader(code: number, head: Buffer, length: number): Frame | string {
  if (length < 8 || head.length < 8) return 'the frame header of the JPEG is truncated'
  const frame = { precision: head[2] as number, height: head.readUInt16BE(3), width: head.readUInt16BE(5), process: code & 0x0f }
  // A height of 0 is valid if a DNL marker follows, but no known program opens such files.
  if (frame.width === 0 || frame.height === 0) return `the JPEG has invalid dimensions (${frame.width}x${frame.height})`
  const lossless = frame.process === 3 || frame.process === 11
  if (lossless ? frame.precision < 2 || frame.precision > 16 : frame.precision !== 8 && frame.precision !== 12)
    return `the JPEG has ${frame.precision} bits per sample, which is invalid`
  return frame
}
