import { megabyte } from '../../platform/units.js'

const kilobyte = 1024

/** Upper bounds of the size classes of small parts. A part of at least the last bound is large and never rewritten. */
const classBounds = [4 * kilobyte, 64 * kilobyte, megabyte]
const largeClass = classBounds.length
const partsPerMerge = 16

export const largePartBytes = megabyte
/** One part of the first class, and at most 15 parts of every other class. */
export const maxSmallParts = 1 + (largeClass - 1) * (partsPerMerge - 1)

/**
 * Returns how many of the last parts are merged with the added bytes. Parts of smaller classes are always merged, those of the same class
 * if there are 16. Parts of the first class are always merged: they occupy one block of a disk in any case. In every other class, a
 * rewritten byte moves to a larger class. Therefore a byte is written at most once per class, apart from up to 4 KB per request, and an
 * upload has at most `maxSmallParts` small parts. A bucket cannot append to an object, so the same rule serves all stores.
 * `sizes`: the sizes of the small parts at the end of the upload, in order.
 */
export function countPartsToMerge(sizes: number[], added: number): number {
  let count = 0
  let total = added
  const merge = (more: number) => {
    for (const end = count + more; count < end; count++) total += sizes.at(-1 - count)!
  }
  for (;;) {
    while (count < sizes.length && getSizeClass(sizes.at(-1 - count)!) < getSizeClass(total)) merge(1)
    const own = getSizeClass(total)
    let same = 0
    while (count + same < sizes.length && getSizeClass(sizes.at(-1 - count - same)!) === own) same++
    const needed = own === 0 ? 1 : partsPerMerge - 1
    if (own === largeClass || same < needed) return count
    merge(same)
  }
}

function getSizeClass(size: number): number {
  const found = classBounds.findIndex((bound) => size < bound)
  return found === -1 ? largeClass : found
}
