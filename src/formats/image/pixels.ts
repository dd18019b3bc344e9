import { type FormatVerdict, type ReaderLimits, trapped } from '../format.js'

/** Refuses, from the header alone, an image that would take more memory to show than its file size suggests to anybody. */
export function pixelFlood(format: string, width: number, height: number, limits: ReaderLimits): FormatVerdict | undefined {
  if (width * height <= limits.maxPixels) return undefined
  const problem = `the ${format} claims ${width}x${height} pixels; at most ${limits.maxPixels} are opened (pixel flood)`
  return trapped('pixel_flood', problem, { width, height })
}
