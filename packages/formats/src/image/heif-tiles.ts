import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import type { HeifItem, HeifItems } from './heif-items.js'
import { type BytePatch, decodeImageWithinLimits } from './image-decoder.js'

// Errors from libheif that indicate damage. Other errors are ignored, because a tile may lack properties that libheif requires of
// a standalone image.
const dataErrorPattern = /corrupt|bitstream|no (compressed )?data|end of file/i

const maxDecodedTiles = 256

/** Decodes each tile of a grid image separately, because libheif leaves damaged tiles blank without an error. */
export async function findTileProblem(
  source: RandomAccessSource,
  limits: ReaderLimits,
  list: HeifItems | string,
  patches: BytePatch[],
): Promise<string | undefined> {
  if (typeof list === 'string') return undefined
  const { primary, primaryBox, items } = list
  const picture = primary === undefined ? undefined : items.get(primary)
  if (!picture || !primaryBox) return undefined
  const wide = source.read(primaryBox.start, 1)[0] !== 0
  let decoded = 0
  for (const id of new Set(picture.sources)) {
    checkDeadline(limits)
    const tile = items.get(id)
    if (!tile) return `a part of its image (item ${id}) is missing`
    if (tile.type !== 'av01') continue
    if (++decoded > maxDecodedTiles) return undefined
    const shown = [
      ...patches,
      { at: primaryBox.start + 4, bytes: encodeNumber(id, wide ? 4 : 2) },
      createVisibilityPatch(source, tile),
    ]
    const decoding = await decodeImageWithinLimits(source, limits, { failOn: 'error', changes: shown })
    if (decoding.outcome === 'refused' && dataErrorPattern.test(decoding.message))
      return `part of the image (item ${id}) cannot be decoded: ${decoding.message}`
  }
  return undefined
}

function encodeNumber(value: number, width: 2 | 4): Buffer {
  const bytes = Buffer.alloc(width)
  bytes.writeUIntBE(value, 0, width)
  return bytes
}

const createVisibilityPatch = (source: RandomAccessSource, { entry }: HeifItem): BytePatch => ({
  at: entry + 3,
  bytes: Buffer.from([source.read(entry + 3, 1)[0]! & 0xfe]),
})
