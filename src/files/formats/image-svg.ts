import { broken, type FormatReader, sound } from './format.js'
import { loadSharp, wholeOf } from './image-vips.js'

/** Larger drawings are not handed to the renderer: what they refer to is looked at by the XML reader. */
const renderedLimit = 8 * 1024 * 1024

/**
 * SVG: whether a renderer (librsvg) takes it for a drawing at all. That it is well-formed, without entities that explode,
 * is the XML reader's business and must have been looked at before. Nothing is drawn, so nothing it refers to is followed.
 */
export const readSvg: FormatReader = async (source) => {
  if (source.size > renderedLimit) return sound(['too large to be handed to a renderer'])
  const bytes = wholeOf(source)
  if (!bytes) return sound(['too large to be handed to a renderer'])
  if (!/<(?:[\w.-]+:)?svg[\s>/]/.test(rootOf(bytes))) return broken('the XML has no <svg> element: it is not a drawing')
  const sharp = await loadSharp()
  try {
    const { width, height } = await sharp(bytes, { limitInputPixels: false }).metadata()
    return sound([], { width, height })
  } catch (error) {
    const message = (error instanceof Error ? error.message : String(error)).replace(/[^\x20-\x7e]+/g, ' ').slice(0, 200)
    // Sizes of nothing, or in units that need a page, are the viewer's to settle; so is a drawing that needs more than the start of the file to be recognised.
    if (!/XML parse error|parse error|Data does not start|not an SVG|does not have/i.test(message))
      return sound([`the bundled renderer does not show it: ${message}`])
    return broken(`cannot be opened as a drawing: ${message}`)
  }
}

// UTF-16 drawings are rare but real: the mark at the start tells.
function rootOf(bytes: Buffer): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return bytes.toString('utf16le', 2)
  if (first === 0xfe && second === 0xff)
    return Buffer.from(bytes.subarray(2, bytes.length - (bytes.length % 2)))
      .swap16()
      .toString('utf16le')
  return bytes.toString('latin1')
}
