import { type FormatVerdict, type ReaderLimits, trapped } from '../format.js'

export interface PictureSize {
  width: number
  height: number
  bits: number
  /** How many times the usual bound holds, where decoders never have all of it at once. */
  times?: number
}

/** Refuses by the header an image that takes too much memory to show. The file's size does not count: padding costs nothing. */
export function pixelFlood(format: string, size: PictureSize, limits: ReaderLimits): FormatVerdict | undefined {
  const { width, height, bits, times = 1 } = size
  if (width * height * shownBits(bits) <= limits.maxPictureBits * times) return undefined
  const most = Math.floor((limits.maxPictureBits * times) / shownBits(bits))
  const problem = `the ${format} claims ${width}x${height} pixels; at most ${most} of ${bits} bits are opened (pixel flood)`
  return trapped('pixel_flood', problem, { width, height })
}

// Viewers hold scans in black and white and small palettes as they are, everything else in three colours of eight bits or more.
const shownBits = (bits: number): number => (bits < 8 || bits > 32 ? bits : 24)
