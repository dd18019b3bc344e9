import { broken, checkDeadline, type FormatReader, type FormatVerdict, type ReaderLimits, sound, trapped } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { pixelFlood } from './pixels.js'
import { decode } from './vips.js'

interface Canvas {
  width: number
  height: number
}

export const readWebp: FormatReader = async (source, limits) => {
  const head = source.read(0, 12)
  if (head.length < 12 || head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 12) !== 'WEBP')
    return broken('does not start with the WebP signature')
  const end = head.readUInt32LE(4) + 8
  if (end > source.size) return broken(`the WebP is truncated: ${source.size} of ${end} bytes`)
  const chunks = walkChunks(source, limits, end)
  if (!('canvas' in chunks)) return chunks
  const { canvas, frames } = chunks
  const after = source.size - end
  const evidence = { ...canvas, frames: Math.max(frames, 1), ...(after > 0 && { bytes_after_end: after }) }
  const flood = pixelFlood('WebP', { ...canvas, bits: 24 }, limits)
  if (flood) return flood
  const notes = after > 0 ? [`${after} bytes after the end of the image`] : []
  const decoding = await decode(source, limits, {
    failOn: 'error',
    pages: -1,
    maxPixels: canvas.width * canvas.height * Math.max(frames, 1),
  })
  if (decoding.outcome === 'refused') return broken(`the pixels cannot be decoded: ${decoding.message}`, evidence)
  if (decoding.outcome === 'too_large') notes.push('looked at its structure only: too large to be decoded')
  return sound(notes, evidence)
}

function walkChunks(
  source: RandomAccessSource,
  limits: ReaderLimits,
  end: number,
): { canvas: Canvas; frames: number } | FormatVerdict {
  let canvas: Canvas | undefined
  let picture = false
  let frames = 0
  for (let at = 12, count = 0; at + 8 <= end; count++) {
    checkDeadline(limits)
    if (count > limits.maxEntries) return trapped('chunk_flood', `the WebP has more than ${limits.maxEntries} chunks`)
    const head = source.read(at, 24)
    const type = head.toString('latin1', 0, 4)
    const size = head.readUInt32LE(4)
    if (at + 8 + size > end) return broken(`the WebP is cut off in its ${/^[ -~]{4}$/.test(type) ? type : 'next'} chunk`)
    if (type === 'ANMF') frames++
    if (type === 'VP8 ' || type === 'VP8L' || type === 'ANMF') picture = true
    canvas ??= canvasOf(type, head)
    at += 8 + size + (size & 1)
  }
  if (!picture || !canvas) return broken('the WebP has no picture in it')
  return { canvas, frames }
}

function canvasOf(type: string, head: Buffer): Canvas | undefined {
  if (type === 'VP8X' && head.length >= 18) return { width: head.readUIntLE(12, 3) + 1, height: head.readUIntLE(15, 3) + 1 }
  if (type === 'VP8 ' && head.length >= 18)
    return { width: head.readUInt16LE(14) & 0x3fff, height: head.readUInt16LE(16) & 0x3fff }
  if (type === 'VP8L' && head.length >= 13) {
    const bits = head.readUInt32LE(9)
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
  }
  return undefined
}
