import type { BytePatch } from './image-decoder.js'
import type { TiffField, TiffReader } from './tiff-directory.js'

/** Larger arrays are not changed. The image is then rejected like any other that cannot be decoded. */
const maxArrayBytes = 256 * 1024

/**
 * GDAL writes no data for a tile or strip without content: its offset and length are 0. libvips rejects such an image. Replaces these
 * entries with those of another tile or strip, so that the rest can be decoded. Undefined if all or none of them are empty.
 */
export function fillSparseBlocks(
  reader: TiffReader,
  offsets: TiffField | undefined,
  counts: TiffField | undefined,
): BytePatch[] | undefined {
  const [from, lengths] = [offsets && reader.array(offsets, maxArrayBytes), counts && reader.array(counts, maxArrayBytes)]
  if (!offsets || !counts || !from || !lengths || from.length !== lengths.length) return undefined
  const isEmpty = from.map((entry, index) => isZero(entry) && isZero(lengths[index]!))
  const donor = isEmpty.indexOf(false)
  if (donor < 0 || !isEmpty.includes(true)) return undefined
  const filled = (entries: Buffer[]) => Buffer.concat(entries.map((entry, index) => (isEmpty[index] ? entries[donor]! : entry)))
  return [
    { at: offsets.offset, bytes: filled(from) },
    { at: counts.offset, bytes: filled(lengths) },
  ]
}

const isZero = (bytes: Buffer) => bytes.every((byte) => byte === 0)
