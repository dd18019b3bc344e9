import { createInvalidVerdict, createValidVerdict, type FormatReader } from '../format.js'
import { catchFormatError } from '../format-error.js'
import { readRiffChunks } from '../media/riff.js'
import { decodeImageWithinLimits } from './image-decoder.js'
import { checkImageSize } from './image-size.js'

/** Checks the size and frames of a WebP, then decodes all frames with libvips, which detects any damage. */
export const readWebp: FormatReader = (source, limits) =>
  catchFormatError(async () => {
    const head = source.read(0, 30)
    if (!/^RIFF....WEBP/s.test(head.toString('latin1')))
      return createInvalidVerdict('the file does not start with the WebP signature')
    const end = head.readUInt32LE(4) + 8
    if (end > source.size) return createInvalidVerdict(`the WebP is truncated: ${source.size} of ${end} bytes`)
    const canvas = readCanvasSize(head)
    if (!canvas) return createInvalidVerdict('the WebP contains no image')
    let frames = 0
    for (const { type } of readRiffChunks(source, limits, { end })) if (type === 'ANMF') frames++
    frames = Math.max(frames, 1)
    const after = source.size - end
    const evidence = { ...canvas, frames, ...(after > 0 && { bytes_after_end: after }) }
    const flood = checkImageSize('WebP', { ...canvas, bits: 24 }, limits)
    if (flood) return flood
    const notes = after > 0 ? [`${after} bytes follow the end of the image`] : []
    const maxPixels = canvas.width * canvas.height * frames
    const decoding = await decodeImageWithinLimits(source, limits, { failOn: 'error', pages: -1, maxPixels })
    if (decoding.outcome === 'refused') return createInvalidVerdict(`the pixels cannot be decoded: ${decoding.message}`, evidence)
    if (decoding.outcome === 'too_large') notes.push('only its structure was checked: too large to decode')
    return createValidVerdict(notes, evidence)
  })

/** Returns the image size from the first chunk, which always follows the file header. */
function readCanvasSize(head: Buffer): { width: number; height: number } | undefined {
  const type = head.toString('latin1', 12, 16)
  if (head.length < (type === 'VP8L' ? 25 : 30)) return undefined
  if (type === 'VP8X') return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 }
  if (type === 'VP8 ') return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff }
  if (type !== 'VP8L') return undefined
  const bits = head.readUInt32LE(21)
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
}
