import type { BytePatch } from './image-decoder.js'
import type { TiffField, TiffReader } from './tiff-directory.js'

/** Maximum array size in bytes. Images with larger arrays are rejected, because libvips cannot decode them. */
const maxArrayBytes = 256 * 1024

/**
 * Replaces the entries of empty blocks with those of another block, so that libvips decodes the rest. GDAL writes 0 as the
 * offset and length of empty tiles and strips. Returns undefined if no block or every block is empty.
 */
export function fillSparseBlocks(
  reader: TiffReader,
  offsets: TiffField | undefined,
  counts: TiffField | undefined,
): BytePatch[] | undefined {
  const [from, lengths] = [offsets && reader.readArray(offsets, maxArrayBytes), counts && reader.readArray(counts, maxArrayBytes)]
  if (!offsets || !counts || !from || !lengths || from.length !== lengths.length) return undefined
  const isEmpty = from.map((entry, index) => isAllZeros(entry) && isAllZeros(lengths[index]!))
  const donor = isEmpty.indexOf(false)
  if (donor < 0 || !isEmpty.includes(true)) return undefined
  const fillEmptyEntries = (entries: Buffer[]) =>
    Buffer.concat(entries.map((entry, index) => (isEmpty[index] ? entries[donor]! : entry)))
  return [
    { at: offsets.offset, bytes: fillEmptyEntries(from) },
    { at: counts.offset, bytes: fillEmptyEntries(lengths) },
  ]
}

const isAllZeros = (bytes: Buffer) => bytes.every((byte) => byte === 0)
