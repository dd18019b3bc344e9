import { broken, checkDeadline, type FormatReader, type ReaderLimits, sound } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { afterId3 } from './tags.js'

function frameLength(bytes: Buffer, at: number): number {
  if (at + 6 > bytes.length || bytes[at] !== 0xff || ((bytes[at + 1] as number) & 0xf6) !== 0xf0) return 0
  // Codes of sampling rates from 13 on are not used.
  if ((((bytes[at + 2] as number) >> 2) & 15) > 12) return 0
  const length = (((bytes[at + 3] as number) & 3) << 11) | ((bytes[at + 4] as number) << 3) | ((bytes[at + 5] as number) >> 5)
  return length < 7 ? 0 : length
}

function nextSync(source: RandomAccessSource, limits: ReaderLimits, from: number): number {
  const window = 4096
  for (let offset = from + 1; offset < source.size; offset += window) {
    checkDeadline(limits)
    const found = source.read(offset, window).indexOf(0xff)
    if (found >= 0) return offset + found
  }
  return source.size
}

/** AAC as a stream (ADTS): frames that follow each other. Players skip what stands between them; ADIF, the older kind, is looked at its signature only. */
export const readAac: FormatReader = (source, limits) => {
  const start = afterId3(source)
  if (source.read(start, 4).toString('latin1') === 'ADIF') return sound(['is ADIF: looked at its signature only'])
  let frames = 0
  let run = 0
  let longestRun = 0
  let skipped = 0
  let framed = 0
  for (let at = start, steps = 0; at < source.size; steps++) {
    if ((steps & 255) === 0) checkDeadline(limits)
    const length = frameLength(source.read(at, 8), 0)
    const cut = length > 0 && at + length > source.size
    if (length === 0 || (cut && run === 0)) {
      run = 0
      const next = nextSync(source, limits, at)
      skipped += next - at
      at = next
      continue
    }
    if (!cut) frames++
    framed += length
    longestRun = Math.max(longestRun, ++run)
    at += length
  }
  const evidence = { frames, skipped_bytes: skipped }
  // Eight that fit together are no accident; three may be, among more junk than frames.
  if (frames === 0 || (longestRun < 3 && skipped > 0) || (longestRun < 8 && skipped > framed))
    return broken('no frames of AAC follow each other in it', evidence)
  return sound(skipped > 0 ? [`${skipped} bytes between its frames; players skip them`] : [], evidence)
}
