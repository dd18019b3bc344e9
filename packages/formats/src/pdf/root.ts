import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'

/** Maximum distance from the end at which common readers search for `startxref`. */
const tailWindow = 32 * 1024
const windowBytes = 16 * 1024

/**
 * True if a cross-reference stream or a trailer names the document root. If the cross-reference table is damaged, common readers
 * search for the root only in these two places.
 */
export const canFindRoot = (source: RandomAccessSource, headerOffset: number, limits: ReaderLimits): boolean =>
  findXrefOffsets(source, headerOffset).some((start) => hasRootInStream(source, start)) || hasRootInTrailer(source, limits)

/** Returns the offset after the last `startxref`, and the offset of the first cross-reference section in a linearized file. */
function findXrefOffsets(source: RandomAccessSource, headerOffset: number): number[] {
  const tail = source.read(Math.max(0, source.size - tailWindow), tailWindow).toString('latin1')
  const last = [...tail.matchAll(/startxref\s*(\d{1,15})/g)].at(-1)
  const starts = last ? [Number(last[1]), Number(last[1]) + headerOffset] : []
  const first = /\/Linearized\b.*?endobj/s.exec(source.read(headerOffset, 1024).toString('latin1'))
  return first ? [...starts, headerOffset + first.index + first[0].length] : starts
}

function hasRootInStream(source: RandomAccessSource, start: number): boolean {
  const text = source.read(start, windowBytes).toString('latin1')
  const end = text.search(/>>[\s\0]*stream\s|endobj/)
  return text.startsWith('>>', end) && /^[\s\0]*\d+\s+\d+\s+obj\b.*\/Root\b/s.test(text.slice(0, end))
}

function hasRootInTrailer(source: RandomAccessSource, limits: ReaderLimits): boolean {
  let carried = ''
  for (const chunk of source.chunks()) {
    checkDeadline(limits)
    const text = carried + chunk.toString('latin1')
    let root = -1
    for (const { index } of text.matchAll(/trailer[\s\0]*(?:<<|%)/g)) {
      if (root < index) root = text.indexOf('/Root', index)
      if (root >= 0 && root - index < windowBytes) return true
      if (root < 0) break
    }
    carried = text.slice(-windowBytes)
  }
  return false
}
