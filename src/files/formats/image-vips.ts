import { devNull } from 'node:os'
import { DeadlineExceeded, type ReaderLimits, type Source, TooLarge } from './format.js'

/** Larger images are not handed to libvips, which wants them whole: their structure decides, and the report says so. */
export const wholeImageLimit = 128 * 1024 * 1024

export interface DecodeOptions {
  failOn: 'truncated' | 'error' | 'warning'
  /** First page to decode, and how many (-1: all of them). */
  page?: number
  pages?: number
  /** Pages times pixels that may pass through; never held at once, so this bounds time and not memory. */
  maxPixels: number
}

/** What libvips made of an image: decoded to the last row, refused (and why), or not looked at because it is too large to be held. */
export type Decoding = { outcome: 'decoded' } | { outcome: 'refused'; message: string } | { outcome: 'too_large' }

type Sharp = typeof import('sharp').default

let sharpModule: Promise<Sharp> | undefined

/** libvips, loaded at first use: one thread and no cache, because a worker looks at one file at a time and never twice. */
export function loadSharp(): Promise<Sharp> {
  sharpModule ??= import('sharp').then(({ default: sharp }) => {
    sharp.cache(false)
    sharp.concurrency(1)
    return sharp
  })
  return sharpModule
}

/**
 * Decodes every row of an image without keeping them: a PNG without compression, written to the null device, is the one sink
 * of libvips that asks for all pixels in order and forgets them. One channel is enough, since channels are decoded together.
 */
export async function decode(source: Source, limits: ReaderLimits, options: DecodeOptions): Promise<Decoding> {
  const bytes = wholeOf(source)
  if (!bytes) return { outcome: 'too_large' }
  const sharp = await loadSharp()
  const seconds = Math.ceil((limits.deadline - Date.now()) / 1000)
  if (seconds <= 0) throw new DeadlineExceeded('the image takes too long to read')
  const { failOn, page, pages, maxPixels } = options
  try {
    await sharp(bytes, {
      failOn,
      sequentialRead: true,
      ignoreIcc: true,
      limitInputPixels: Math.min(maxPixels, Number.MAX_SAFE_INTEGER),
      ...(page === undefined ? {} : { page }),
      ...(pages === undefined ? {} : { pages }),
    })
      .timeout({ seconds: Math.min(seconds, 3600) })
      .extractChannel(0)
      .png({ compressionLevel: 0, palette: false })
      .toFile(devNull)
    return { outcome: 'decoded' }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (/timeout: \d+%/.test(message)) throw new DeadlineExceeded('the image takes too long to decode')
    return { outcome: 'refused', message: firstWords(message) }
  }
}

/** The content where it may be held whole. */
export function wholeOf(source: Source): Buffer | undefined {
  if (source.size > wholeImageLimit) return undefined
  try {
    return source.whole(wholeImageLimit)
  } catch (error) {
    if (error instanceof TooLarge) return undefined
    throw error
  }
}

// libvips repeats itself, one line for each row it could not read, and ends with what its sink thinks of it.
function firstWords(message: string): string {
  const lines = message
    .replace(/[^\x20-\x7e\n]/g, '?')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/unable to write to target/.test(line))
  return [...new Set(lines)].slice(0, 2).join('; ').slice(0, 240) || 'no reason given'
}
