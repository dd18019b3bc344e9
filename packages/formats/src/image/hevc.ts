import { checkDeadline, type ReaderLimits } from '../format.js'
import type { Box } from '../media/boxes.js'
import type { RandomAccessSource } from '../random-access-source.js'
import type { Extent, HeifItem } from './heif-items.js'

const maxConfiguration = 1024 * 1024

/**
 * Checks an HEVC image without decoding it and returns the problem, if any. The configuration and the unit lengths must be
 * valid, and units must not contain start codes.
 */
export function findHevcProblem(source: RandomAccessSource, limits: ReaderLimits, item: HeifItem): string | undefined {
  const box = item.properties.find(({ type }) => type === 'hvcC')
  if (!box) return 'the decoder configuration (hvcC) is missing'
  const lengthSize = readLengthSize(source, box)
  if (typeof lengthSize === 'string') return lengthSize
  if (!item.extents) return undefined
  return findUnitProblem(new ExtentReader(source, item.extents), limits, lengthSize)
}

function readLengthSize(source: RandomAccessSource, box: Box): number | string {
  const bytes = source.read(box.start, Math.min(box.end - box.start, maxConfiguration))
  if (bytes.length < 23) return 'the decoder configuration (hvcC) is truncated'
  if (bytes[0]! > 1) return `the decoder configuration (hvcC) has an unknown version (${bytes[0]})`
  const lengthSize = (bytes[21]! & 3) + 1
  if (lengthSize === 3) return 'the decoder configuration (hvcC) declares an invalid length size'
  let at = 23
  for (let arrays = bytes[22]!; arrays > 0; arrays--) {
    if (at + 3 > bytes.length) return 'the lists in its decoder configuration (hvcC) are truncated'
    const kind = bytes[at]! & 0x3f
    let units = bytes.readUInt16BE(at + 1)
    at += 3
    for (; units > 0; units--) {
      const length = at + 2 <= bytes.length ? bytes.readUInt16BE(at) : 0
      if (length < 3 || at + 2 + length > bytes.length) return 'the lists in its decoder configuration (hvcC) are truncated'
      const unit = bytes.subarray(at + 2, at + 2 + length)
      if (unit[0]! >> 1 !== kind) return 'the decoder configuration (hvcC) contains NAL units of an undeclared type'
      if (hasForbiddenZeros(unit)) return 'the decoder configuration (hvcC) is damaged'
      at += 2 + length
    }
  }
  return lengthSize
}

function findUnitProblem(data: ExtentReader, limits: ReaderLimits, lengthSize: number): string | undefined {
  let at = 0
  while (at < data.size) {
    checkDeadline(limits)
    const head = data.read(at, lengthSize + 2)
    if (head.length < lengthSize + 2) return 'the data ends within a NAL unit header'
    const length = head.readUIntBE(0, lengthSize)
    if (length < 2 || at + lengthSize + length > data.size)
      return 'the lengths of its NAL units do not match its data, which is damaged or truncated'
    const zeros = findDataProblem(data, limits, at + lengthSize, length)
    if (zeros) return zeros
    at += lengthSize + length
  }
  return at === 0 ? 'the image data is missing' : undefined
}

const chunkBytes = 64 * 1024

function findDataProblem(data: ExtentReader, limits: ReaderLimits, start: number, length: number): string | undefined {
  for (let at = 0; at < length; at += chunkBytes) {
    checkDeadline(limits)
    // Reads two more bytes to find a sequence that crosses the chunk boundary.
    if (hasForbiddenZeros(data.read(start + at, Math.min(chunkBytes + 2, length - at)))) return 'the image data is damaged'
  }
  return undefined
}

/**
 * True if the bytes contain a forbidden sequence: 0 0 0, 0 0 1 (a start code) or 0 0 2. Encoders insert a 3 after two zeros to
 * prevent such sequences.
 */
function hasForbiddenZeros(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(zeroPair); at >= 0 && at + 2 < bytes.length; at = bytes.indexOf(zeroPair, at + 1))
    if (bytes[at + 2]! < 3) return true
  return false
}
const zeroPair = Buffer.from([0, 0])

class ExtentReader {
  readonly size: number

  constructor(
    private readonly source: RandomAccessSource,
    private readonly extents: Extent[],
  ) {
    this.size = extents.reduce((sum, { length }) => sum + length, 0)
  }

  read(offset: number, length: number): Buffer {
    const parts: Buffer[] = []
    let skip = offset
    let wanted = length
    for (const extent of this.extents) {
      if (wanted <= 0) break
      if (skip < extent.length) {
        const part = this.source.read(extent.start + skip, Math.min(wanted, extent.length - skip))
        parts.push(part)
        wanted -= part.length
      }
      skip = Math.max(0, skip - extent.length)
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  }
}
