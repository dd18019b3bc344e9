import { DeadlineExceeded, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'

/** Maximum file size in bytes for decoding. Only the structure of larger images is checked, and the report states this. */
const maxDecodedFileBytes = 128 * 1024 * 1024

export interface DecodeOptions {
  failOn: 'truncated' | 'error' | 'warning'
  page?: number
  pages?: number
  /** Number of pixels according to the format reader. libvips rejects larger images. Small images are decoded in memory. */
  maxPixels?: number
  /** Patches that make libvips decode parts that it would otherwise skip. */
  changes?: BytePatch[]
}

export interface BytePatch {
  at: number
  bytes: Uint8Array
}

export interface DecodeTask extends DecodeOptions {
  seconds: number
}

export type Decoded = { outcome: 'decoded' } | { outcome: 'refused'; message: string } | { outcome: 'too_slow' }

export type DecodeResult = Exclude<Decoded, { outcome: 'too_slow' }> | { outcome: 'too_large' }

export const noReasonMessage = 'no reason given'

export type ImageDecoder = (source: RandomAccessSource, task: DecodeTask) => Promise<Decoded>

let decoder: ImageDecoder | undefined

/** Sets the function that decodes images. A service should decode in a child process, because a malicious image can crash it. */
export function decodeImagesWith(newDecoder: ImageDecoder): void {
  decoder = newDecoder
}

export const hasImageDecoder = (): boolean => decoder !== undefined

export async function decodeImageWithinLimits(
  source: RandomAccessSource,
  limits: ReaderLimits,
  options: DecodeOptions,
): Promise<DecodeResult> {
  if (source.size > maxDecodedFileBytes) return { outcome: 'too_large' }
  const seconds = Math.ceil((limits.deadline - Date.now()) / 1000)
  if (seconds <= 0) throw new DeadlineExceeded('reading the image took too long')
  if (!decoder) throw new Error('no image decoder is configured')
  const decoded = await decoder(source, { ...options, seconds })
  if (decoded.outcome === 'too_slow') throw new DeadlineExceeded('decoding the image took too long')
  return decoded
}
