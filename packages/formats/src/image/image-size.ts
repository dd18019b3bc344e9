import { createMaliciousVerdict, type FormatVerdict, type ReaderLimits } from '../format.js'

export interface ImageSize {
  width: number
  height: number
  bits: number
  /** Factor that raises the limit for decoders that never store the whole image in memory. */
  times?: number
}

/**
 * Rejects an image whose header declares too many pixels. Even a small file can contain an enormous image, because uniform pixels
 * compress well.
 */
export function checkImageSize(format: string, size: ImageSize, limits: ReaderLimits): FormatVerdict | undefined {
  const { width, height, bits, times = 1 } = size
  if (width * height * toDisplayBitsPerPixel(bits) <= limits.maxPictureBits * times) return undefined
  const maxPixels = Math.floor((limits.maxPictureBits * times) / toDisplayBitsPerPixel(bits))
  const problem = `the ${format} is ${width}x${height} pixels. The maximum at ${bits} bits per pixel is ${maxPixels} pixels (pixel flood)`
  return createMaliciousVerdict('pixel_flood', problem, { width, height })
}

// Returns the bits per pixel that a viewer needs. Viewers expand images to 24 bits or more, except black-and-white scans and
// images with small palettes.
const toDisplayBitsPerPixel = (storedBitsPerPixel: number): number =>
  storedBitsPerPixel < 8 || storedBitsPerPixel > 32 ? storedBitsPerPixel : 24
