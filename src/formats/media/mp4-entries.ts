import type { ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { type Box, boxesOf } from './boxes.js'
import { number32 } from './window.js'

/** How the samples of a track are coded: what the first entry of its sample description (stsd) says. */
export interface Coding {
  /** The four characters of the codec. */
  codec: string
  /** Bytes of the length before each unit of H.264 and H.265; 0 for other codecs. */
  lengthSize: number
  /** H.264 or H.265 without parameter sets: only start codes in the samples can make up for that. */
  bare: boolean
}

// Bytes of an entry before the boxes in it: 8 of any, then what pictures and sound have.
const fixed: Record<string, number> = { vide: 78, soun: 28 }
const configurations: Record<string, string> = { avc1: 'avcC', avc3: 'avcC', hvc1: 'hvcC', hev1: 'hvcC' }

/** Reads the sample description of a track whose handler is `kind`; a text says what is wrong with it. */
export function codingOf(source: RandomAccessSource, limits: ReaderLimits, description: Box, kind: string): Coding | string {
  const head = fixed[kind]
  if (head === undefined) return { codec: '', lengthSize: 0, bare: false }
  const promised = number32(source, description.start + 4)
  const entries: Box[] = []
  for (const box of boxesOf(source, limits, description.start + 8, description.end)) {
    if (entries.length === promised) break
    if (box.cut || box.open || box.end - box.start < head)
      return `the '${shown(box.type)}' entry of its sample description is damaged`
    entries.push(box)
    if (entries.length > 1000) return 'its sample description has more than 1000 entries'
  }
  const [entry] = entries
  if (!entry) return 'its sample description (stsd) is empty'
  const more = moreSound(source, entry, kind)
  if (more === undefined) return `the '${shown(entry.type)}' entry of its sample description is damaged`
  return configuration(source, limits, entry, entry.start + head + more)
}

/** QuickTime's sound descriptions of version 1 and 2 are longer; others are not known. */
function moreSound(source: RandomAccessSource, entry: Box, kind: string): number | undefined {
  if (kind !== 'soun') return 0
  return [0, 16, 36][number32(source, entry.start + 8) >>> 16]
}

function configuration(source: RandomAccessSource, limits: ReaderLimits, entry: Box, start: number): Coding | string {
  const codec = entry.type
  const wanted = configurations[codec]
  for (const box of boxesOf(source, limits, start, entry.end)) {
    // What follows the boxes of an entry is often padding.
    if (box.cut) break
    if (box.type === 'esds' && !descriptorFits(source, box)) return 'the description of its codec (esds) is damaged'
    if (box.type !== wanted) continue
    const lengthSize = wanted === 'avcC' ? avcLength(source, box) : hevcLength(source, box)
    return lengthSize === 0 ? `the description of its codec (${wanted}) is damaged` : { codec, lengthSize, bare: false }
  }
  return { codec, lengthSize: 0, bare: wanted !== undefined }
}

/** ISO 14496-15: parameter sets behind their lengths. 0 where they do not fit. */
function avcLength(source: RandomAccessSource, box: Box): number {
  const bytes = source.read(box.start, Math.min(box.end - box.start, 65_536))
  if (bytes.length < 7 || bytes[0] !== 1) return 0
  let at = 5
  for (const mask of [0x1f, 0xff]) {
    if (at >= bytes.length) break
    const count = (bytes[at++] as number) & mask
    for (let index = 0; index < count; index++) {
      if (at + 2 > bytes.length) return 0
      at += 2 + bytes.readUInt16BE(at)
    }
    if (at > bytes.length) return 0
  }
  return ((bytes[4] as number) & 3) + 1
}

function hevcLength(source: RandomAccessSource, box: Box): number {
  const bytes = source.read(box.start, Math.min(box.end - box.start, 65_536))
  if (bytes.length < 23) return 0
  let at = 23
  for (let arrays = bytes[22] as number; arrays > 0; arrays--) {
    if (at + 3 > bytes.length) return 0
    const count = bytes.readUInt16BE(at + 1)
    at += 3
    for (let index = 0; index < count; index++) {
      if (at + 2 > bytes.length) return 0
      at += 2 + bytes.readUInt16BE(at)
    }
    if (at > bytes.length) return 0
  }
  return ((bytes[21] as number) & 3) + 1
}

/** An elementary stream descriptor: a tag, and a length that fits into the box. */
function descriptorFits(source: RandomAccessSource, box: Box): boolean {
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

const shown = (type: string) => type.replace(/[^ -~]/g, '?')
