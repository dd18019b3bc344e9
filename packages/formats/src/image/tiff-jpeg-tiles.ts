import { checkDeadline, type ReaderLimits } from '../format.js'
import { MemorySource, type RandomAccessSource } from '../random-access-source.js'
import { readJpeg } from './jpeg.js'
import type { TiffFields, TiffReader } from './tiff-directory.js'

const tag = { tileOffsets: 324, tileCounts: 325, jpegTables: 347 }

/**
 * Decodes each tile as a JPEG with the page's shared tables, because libvips decodes only tiles with one or three components.
 */
export async function tryToDecodeJpegTiles(
  reader: TiffReader,
  fields: TiffFields,
  source: RandomAccessSource,
  limits: ReaderLimits,
): Promise<boolean> {
  const [offsets, counts, shared] = [tag.tileOffsets, tag.tileCounts, tag.jpegTables].map((number) => fields.get(number))
  if (!offsets || !counts) return false
  // Removes the end marker of the tables and the start marker of each tile, so that the tables and a tile together form a
  // complete JPEG.
  const tables = shared && shared.count > 4 && shared.count < 65_536 ? source.read(shared.offset, shared.count - 2) : undefined
  const lengths = reader.readValues(counts)
  for (const offset of reader.readValues(offsets)) {
    checkDeadline(limits)
    const tile = source.read(offset, Math.min(lengths.next().value ?? 0, source.size))
    const jpeg = tables ? Buffer.concat([tables, tile.subarray(2)]) : tile
    if (!(await readJpeg(new MemorySource(jpeg), limits)).sound) return false
  }
  return true
}
