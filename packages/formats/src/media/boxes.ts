import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'

export interface Box {
  type: string
  start: number
  end: number
  /** True if the box extends past the end of its parent. */
  cut: boolean
  /** True if the box declares no length and therefore extends to the end of the file. */
  open: boolean
}

/**
 * Iterates over the boxes between `start` and `end`. If the next bytes are not a box, yields a truncated box of type '' and
 * stops.
 */
export function* readBoxes(source: RandomAccessSource, limits: ReaderLimits, start: number, end: number): Generator<Box> {
  // Fewer than 8 bytes at the end are padding. For example, QuickTime ends lists with 4 zero bytes.
  for (let at = start; at + 8 <= end; ) {
    checkDeadline(limits)
    const head = source.read(at, 16)
    const type = head.toString('latin1', 4, 8)
    let size = head.readUInt32BE(0)
    let headSize = 8
    if (size === 1) {
      if (head.length < 16) return
      size = Number(head.readBigUInt64BE(8))
      headSize = 16
    }
    // Size 0 means that the box extends to the end of the file.
    const open = size === 0
    if (open) size = end - at
    if (size < headSize) {
      yield { type: '', start: at, end, cut: true, open: false }
      return
    }
    yield { type, start: at + headSize, end: Math.min(at + size, end), cut: at + size > end, open }
    at += size
  }
}

/**
 * True if the box declares no length. Only the last box of a file may omit it. The zeros at the end of some QuickTime lists look
 * like such a box, but are padding.
 */
export const hasUndeclaredLength = (box: Box): boolean => box.open && box.type !== '\0\0\0\0'

export function findBox(
  source: RandomAccessSource,
  limits: ReaderLimits,
  start: number,
  end: number,
  path: string[],
): Box | undefined {
  const [wanted, ...rest] = path
  for (const box of readBoxes(source, limits, start, end)) {
    if (box.type === wanted) return rest.length === 0 ? box : findBox(source, limits, box.start, box.end, rest)
  }
  return undefined
}
