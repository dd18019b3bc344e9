import { type FormatReader, sound } from '../format.js'
import { type Frame, readFrames } from './frames.js'
import { afterId3 } from './tags.js'

/** The ADTS frame whose head stands at `at`. ISO 13818-7, adts_frame. */
export function adtsFrame(bytes: Buffer, at: number): Frame | undefined {
  if (at + 6 > bytes.length || bytes[at] !== 0xff || (bytes[at + 1]! & 0xf6) !== 0xf0) return undefined
  // Codes of sampling rates from 13 on are not used.
  const kind = (bytes[at + 2]! >> 2) & 15
  const length = ((bytes[at + 3]! & 3) << 11) | (bytes[at + 4]! << 3) | (bytes[at + 5]! >> 5)
  return kind > 12 || length < 7 ? undefined : { kind, length }
}

/** AAC as a stream (ADTS); ADIF, the older kind, is looked at its signature only. */
export const readAac: FormatReader = (source, limits) => {
  const start = afterId3(source)
  if (source.read(start, 4).toString('latin1') === 'ADIF') return sound(['is ADIF: looked at its signature only'])
  const frameAt = (at: number, previous: Frame | undefined) => {
    const frame = adtsFrame(source.read(at, 8), 0)
    // One that is cut off and follows nothing is any few bytes.
    return frame && !previous && at + frame.length > source.size ? undefined : frame
  }
  return readFrames(source, limits, { called: 'AAC', start, end: source.size, frameAt, enough: 8 })
}
