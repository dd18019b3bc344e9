import { type FormatReader, sound } from '../format.js'
import { type Frame, readFrames } from './frames.js'
import { skipId3 } from './tags.js'

/** Parses the ADTS frame header at `at`. ISO 13818-7, adts_frame. */
export function adtsFrame(bytes: Buffer, at: number): Frame | undefined {
  if (at + 6 > bytes.length || bytes[at] !== 0xff || (bytes[at + 1]! & 0xf6) !== 0xf0) return undefined
  // Sampling rate codes from 13 on are reserved.
  const kind = (bytes[at + 2]! >> 2) & 15
  const length = ((bytes[at + 3]! & 3) << 11) | (bytes[at + 4]! << 3) | (bytes[at + 5]! >> 5)
  return kind > 12 || length < 7 ? undefined : { kind, length }
}

/** Checks AAC as a stream (ADTS). For ADIF, the older format, only the signature is checked. */
export const readAac: FormatReader = (source, limits) => {
  const start = skipId3(source)
  if (source.read(start, 4).toString('latin1') === 'ADIF') return sound(['ADIF: only its signature was checked'])
  const frameAt = (at: number, previous: Frame | undefined) => {
    const frame = adtsFrame(source.read(at, 8), 0)
    // A truncated frame that follows no other frame may be any bytes.
    return frame && !previous && at + frame.length > source.size ? undefined : frame
  }
  return readFrames(source, limits, { called: 'AAC', start, end: source.size, frameAt, enough: 8 })
}
