import type { ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { type Box, readBoxes } from './boxes.js'
import { readUint32 } from './table-window.js'

// Number of bytes in a sample entry before its child boxes: an 8-byte header and the fixed fields of video or audio.
const entryHeaderBytes: Record<string, number> = { vide: 78, soun: 28 }
const configurations: Record<string, string> = { avc1: 'avcC', avc3: 'avcC', hvc1: 'hvcC', hev1: 'hvcC' }

interface SampleDescription {
  description: Box
  kind: string
  firstSample: number | undefined
}

export function findCodecProblem(
  source: RandomAccessSource,
  limits: ReaderLimits,
  { description, kind, firstSample }: SampleDescription,
): string | undefined {
  const head = entryHeaderBytes[kind]
  if (head === undefined) return undefined
  const [entry] = readBoxes(source, limits, description.start + 8, description.end)
  if (!entry) return 'the sample description (stsd) is empty'
  // Sample entries of QuickTime audio have 16 more bytes in version 1 and 36 in version 2.
  const more = kind === 'soun' ? [0, 16, 36][readUint32(source, entry.start + 8) >>> 16] : 0
  if (entry.cut || entry.open || entry.end - entry.start < head || more === undefined)
    return `the '${entry.type.replace(/[^ -~]/g, '?')}' entry of its sample description is damaged`
  const wanted = configurations[entry.type]
  for (const box of readBoxes(source, limits, entry.start + head + more, entry.end)) {
    // Padding often follows the child boxes of a sample entry, so a box that does not fit is treated as padding.
    if (box.cut) break
    const fits =
      box.type === 'esds' ? isDescriptorValid(source, box) : box.type === wanted ? areParameterSetsValid(source, box) : undefined
    if (fits === false) return `the codec description (${box.type}) is damaged`
    if (box.type === wanted) return undefined
  }
  // If the samples have start codes, as in broadcast streams, they contain the parameter sets, so the sample entry may omit them.
  const described = !wanted || (firstSample !== undefined && readUint32(source, firstSample) === 1)
  return described ? undefined : 'the codec description (avcC or hvcC) is missing'
}

/**
 * Checks the lengths of the parameter sets (ISO 14496-15). An avcC box has two lists of them. An hvcC box declares the number of
 * lists.
 */
function areParameterSetsValid(source: RandomAccessSource, box: Box): boolean {
  const bytes = source.read(box.start, Math.min(box.end - box.start, 65_536))
  const avc = box.type === 'avcC'
  if (bytes.length < (avc ? 7 : 23) || (avc && bytes[0] !== 1)) return false
  let at = avc ? 5 : 23
  for (let lists = avc ? 2 : bytes[22]!; lists > 0 && at < bytes.length; lists--) {
    at += avc ? 1 : 3
    for (let left = avc ? bytes[at - 1]! & (lists === 2 ? 0x1f : 0xff) : bytes.readUInt16BE(at - 2); left > 0; left--) {
      if (at + 2 > bytes.length) return false
      at += 2 + bytes.readUInt16BE(at)
    }
  }
  return at <= bytes.length
}

/** Checks that an elementary stream descriptor has the correct tag and fits into the box. */
function isDescriptorValid(source: RandomAccessSource, box: Box): boolean {
  const bytes = source.read(box.start + 4, Math.min(16, box.end - box.start - 4))
  if (bytes[0] !== 3) return bytes[0] === 4
  let length = 0
  for (let index = 1; index <= 4 && index < bytes.length; index++) {
    const byte = bytes[index] as number
    length = length * 128 + (byte & 0x7f)
    if ((byte & 0x80) === 0) return box.start + 4 + index + 1 + length <= box.end + 3
  }
  return false
}
