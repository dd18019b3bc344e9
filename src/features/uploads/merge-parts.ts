import { megabyte } from '../../platform/units.js'

const kilobyte = 1024

/** Exclusive upper bounds for the size classes of small parts. Larger parts are never rewritten. */
const classBounds = [4 * kilobyte, 64 * kilobyte, megabyte]
const largeClass = classBounds.length
const partsPerMerge = 16

export const largePartBytes = megabyte
/** The first class has at most one part, and each other class at most 15 parts. */
export const maxSmallParts = 1 + (largeClass - 1) * (partsPerMerge - 1)

/**
 * Returns the number of parts, counted from the end of the upload, that are merged with the added bytes. Buckets cannot append
 * to an object, so small parts are merged, in any kind of store. Parts in a smaller class than the result are always merged.
 * Parts in the same class are merged once there are 16. Parts in the first class are always merged, because each occupies a
 * disk block anyway. Every byte is therefore written at most once per class, plus up to 4 KB per request, and an upload has at
 * most `maxSmallParts` small parts. `sizes` lists the sizes of the small parts at the end of the upload, in order.
 */
export function countPartsToMerge(sizes: number[], addedBytes: number): number {
  let count = 0
  let total = addedBytes
  const addParts = (partCount: number) => {
    for (const end = count + partCount; count < end; count++) total += sizes.at(-1 - count)!
  }
  for (;;) {
    while (count < sizes.length && getPartSizeClass(sizes.at(-1 - count)!) < getPartSizeClass(total)) addParts(1)
    const own = getPartSizeClass(total)
    let same = 0
    while (count + same < sizes.length && getPartSizeClass(sizes.at(-1 - count - same)!) === own) same++
    const needed = own === 0 ? 1 : partsPerMerge - 1
    if (own === largeClass || same < needed) return count
    addParts(same)
  }
}

function getPartSizeClass(size: number): number {
  const found = classBounds.findIndex((bound) => size < bound)
  return found === -1 ? largeClass : found
}
