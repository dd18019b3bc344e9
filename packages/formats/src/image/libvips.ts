import { readFile } from 'node:fs/promises'
import { devNull } from 'node:os'
import sharp from 'sharp'
import { type BytePatch, type Decoded, type DecodeTask, noReasonMessage } from './image-decoder.js'

sharp.cache(false)
sharp.concurrency(1)

// Images up to this size are decoded into memory. Opening the null device would take as long as decoding a thumbnail (0.3 ms).
const maxBufferedPixels = 1_048_576

/** Decodes all rows of an image without storing them, by writing a PNG to the null device. */
export async function decodeImage(image: Buffer | string, task: DecodeTask): Promise<Decoded> {
  const { failOn, page, pages, maxPixels, seconds, changes } = task
  try {
    const channel = sharp(changes ? await applyPatches(image, changes) : image, {
      failOn,
      sequentialRead: true,
      ignoreIcc: true,
      // The image size in the header was already checked, so libvips must not apply its own default limit.
      limitInputPixels: maxPixels ?? false,
      ...(page === undefined ? {} : { page }),
      ...(pages === undefined ? {} : { pages }),
    })
      .timeout({ seconds: Math.min(seconds, 3600) })
      .extractChannel(0)
    if (maxPixels !== undefined && maxPixels <= maxBufferedPixels) await channel.raw().toBuffer()
    else await channel.png({ compressionLevel: 0, palette: false }).toFile(devNull)
    return { outcome: 'decoded' }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return /timeout: \d+%/.test(message) ? { outcome: 'too_slow' } : { outcome: 'refused', message: summarizeMessage(message) }
  }
}

async function applyPatches(image: Buffer | string, patches: BytePatch[]): Promise<Buffer> {
  const copy = typeof image === 'string' ? await readFile(image) : Buffer.from(image)
  for (const { at, bytes } of patches) copy.set(bytes, at)
  return copy
}

// Removes repeated and irrelevant lines from a libvips message, because libvips repeats a message for each row and also reports
// output errors.
function summarizeMessage(message: string): string {
  const lines = message
    .replace(/[^\x20-\x7e\n]/g, '?')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/unable to write to target|^source: bad seek/.test(line))
  return [...new Set(lines)].slice(0, 2).join('; ').slice(0, 240) || noReasonMessage
}
