import type { ReaderLimits } from '../formats/format.js'

const MiB = 1024 * 1024

/** The bounds of one file's readers. */
export function limitsFor(size: number, deadlineMs: number): ReaderLimits {
  return {
    maxUnpackedBytes: 4096 * MiB,
    maxRatio: 200,
    maxEntries: 200_000,
    maxNesting: 5,
    maxPixels: pixelsFor(size),
    maxDepth: 1000,
    deadline: Date.now() + deadlineMs,
  }
}

// A camera's 200 megapixels come in tens of megabytes; the same number in a few kilobytes is a flood. 89 million is where
// Pillow starts to warn of a bomb, 268 million where libvips stops.
const pixelsFor = (size: number): number => Math.min(268_402_689, Math.max(89_478_485, size * 32))

/** Large files take longer, small elements of XML the longest: half a minute, and a second for every 4 MiB, on a machine that is busy. */
export const deadlineFor = (size: number, baseMs: number): number => baseMs + Math.floor(size / (4 * MiB)) * 1000
