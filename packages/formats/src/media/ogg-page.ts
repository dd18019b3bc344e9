import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { crc32Table } from './crc.js'

export interface Page {
  length: number
  first: boolean
  last: boolean
  packets: number
  /** True if the granule position is greater than 0. Some programs do not write positions. */
  hasPosition: boolean
  serial: number
  start: string
}

export function readPage(source: RandomAccessSource, limits: ReaderLimits, offset: number): Page | string {
  const head = source.read(offset, 27 + 255)
  if (head.length < 4 || head.toString('latin1', 0, 4) !== 'OggS' || (head[4] ?? 0) !== 0) return 'no page'
  const segments = head[26]
  if (segments === undefined || head.length < 27 + segments) return 'truncated'
  let length = 27 + segments
  for (let index = 0; index < segments; index++) length += head[27 + index] as number
  const bytes = source.read(offset, length)
  if (bytes.length < length) return 'truncated'
  checkDeadline(limits)
  if (computePageCrc(bytes) !== bytes.readUInt32LE(22)) return 'the checksum of a page is incorrect'
  const flags = bytes[5] as number
  return {
    length,
    first: (flags & 2) !== 0,
    last: (flags & 4) !== 0,
    packets: bytes.subarray(27, 27 + segments).filter((length) => length < 255).length,
    hasPosition: bytes.readBigInt64LE(6) > 0n,
    serial: bytes.readUInt32LE(14),
    start: bytes.toString('latin1', 27 + segments, 27 + segments + 8),
  }
}

export function findNextPage(source: RandomAccessSource, limits: ReaderLimits, from: number): number {
  const window = 16_384
  for (let offset = from + 1; offset < source.size; offset += window) {
    checkDeadline(limits)
    const bytes = source.read(offset, Math.min(window + 4, source.size - offset))
    for (let at = bytes.indexOf('OggS', 0, 'latin1'); at >= 0 && at < window; at = bytes.indexOf('OggS', at + 1, 'latin1'))
      if (typeof readPage(source, limits, offset + at) !== 'string') return offset + at
  }
  return -1
}

function computePageCrc(bytes: Buffer): number {
  let crc = 0
  for (let index = 0; index < bytes.length; index++) {
    const byte = index >= 22 && index < 26 ? 0 : (bytes[index] as number)
    crc = ((crc << 8) ^ (crc32Table[(crc >>> 24) ^ byte] as number)) >>> 0
  }
  return crc
}
