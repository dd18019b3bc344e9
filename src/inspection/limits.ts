import type { ReaderLimits } from '@assay/formats'
import { megabyte } from '../platform/units.js'

export function limitsFor(deadlineMs: number): ReaderLimits {
  return {
    maxUnpackedBytes: 4096 * megabyte,
    maxRatio: 200,
    maxEntries: 200_000,
    maxNesting: 5,
    // 256 MiB, or 89,478,485 pixels of 24 bits: where Pillow starts to warn of a bomb.
    maxPictureBits: 2 ** 31,
    maxDepth: 1000,
    deadline: Date.now() + deadlineMs,
  }
}

/** Large files take longer, small elements of XML the longest: half a minute, and a second for every 4 MiB, on a machine that is busy. */
export const deadlineFor = (size: number, baseMs: number): number => baseMs + Math.floor(size / (4 * megabyte)) * 1000
