import { type FormatVerdict, maliciousVerdict, type ReaderLimits } from '../format.js'

export interface PictureSize {
  width: number
  height: number
  bits: number
  /** Factor for the usual limit, for decoders that never hold the whole image in memory. */
  times?: number
}

/** Rejects an image that needs too much memory according to its header. The file size is irrelevant, because padding compresses well. */
export function checkImageSize(format: string, size: PictureSize, limits: ReaderLimits): FormatVerdict | undefined {
  const { width, height, bits, times = 1 } = size
  if (width * height * shownBits(bits) <= limits.maxPictureBits * times) return undefined
  const maxPixels = Math.floor((limits.maxPictureBits * times) / shownBits(bits))
  const problem = `the ${format} has ${width}x${height} pixels. The maximum is ${maxPixels} with ${bits} bits (pixel flood)`
  return maliciousVerdict('pixel_flood', problem, { width, height })
}

// Viewers keep bilevel scans and small palettes, and expand all others to three channels of at least eight bits.
const shownBits = (bits: number): number => (bits < 8 || bits > 32 ? bits : 24)
