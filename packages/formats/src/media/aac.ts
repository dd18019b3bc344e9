import { createValidVerdict, type FormatReader } from '../format.js'
import { type Frame, readFrames } from './frames.js'
import { findEndOfId3Tags } from './tags.js'

/** Parses the ADTS frame header at `offset` (ISO 13818-7). Returns undefined if it is invalid. */
export function parseAdtsFrame(bytes: Buffer, offset: number): Frame | undefined {
  if (offset + 6 > bytes.length || bytes[offset] !== 0xff || (bytes[offset + 1]! & 0xf6) !== 0xf0) return undefined
  // Sampling rate codes above 12 are reserved, so a header with such a code is invalid.
  const kind = (bytes[offset + 2]! >> 2) & 15
  const length = ((bytes[offset + 3]! & 3) << 11) | (bytes[offset + 4]! << 3) | (bytes[offset + 5]! >> 5)
  return kind > 12 || length < 7 ? undefined : { kind, length }
}

/** Checks an AAC stream (ADTS). For the older ADIF format, only the signature is checked. */
export const readAac: FormatReader = (source, limits) => {
  const start = findEndOfId3Tags(source)
  if (source.read(start, 4).toString('latin1') === 'ADIF') return createValidVerdict(['ADIF: only its signature was checked'])
  const parseFrameAt = (offset: number, previous: Frame | undefined) => {
    const frame = parseAdtsFrame(source.read(offset, 8), 0)
    // A truncated frame is reliable evidence of AAC only if another frame precedes it.
    return frame && !previous && offset + frame.length > source.size ? undefined : frame
  }
  return readFrames(source, limits, { formatName: 'AAC', start, end: source.size, parseFrameAt, minRun: 8 })
}
