import {
  broken,
  checkDeadline,
  type FormatReader,
  type FormatVerdict,
  type ReaderLimits,
  type Source,
  sound,
  trapped,
} from './format.js'
import { pixelFlood } from './image-pixels.js'
import { type TiffFields, TiffReader } from './image-tiff-directory.js'
import { decode } from './image-vips.js'

/** Pages that are decoded; of the others the directories and the places of their data are looked at. */
const decodedPages = 32

const tag = {
  width: 256,
  height: 257,
  compression: 259,
  stripOffsets: 273,
  stripCounts: 279,
  tileOffsets: 324,
  tileCounts: 325,
  oldJpeg: 513,
}

// What the bundled libtiff and libvips leave out, though the file is in order: rare compressions and sample layouts.
const unsupported =
  /unsupported|not configured|not implemented|can not handle|cannot handle|sorry|not supported|compression support|unknown compression|not a known|bad colou?r|subsampl|out of range|differs from page|must have|LogL|Lab/i

// What libvips says of a TIFF whose directory libtiff cannot make sense of at all.
const unreadable = /Input buffer contains unsupported image format/

interface Page {
  width: number
  height: number
  compression: number
  /** Data that lies outside the file: 'starts' where not even its first byte is there. */
  outside?: 'starts' | 'ends'
}

/** TIFF and BigTIFF: every directory, the place of every strip and tile, and the first pages' pixels by libvips. */
export const readTiff: FormatReader = async (source, limits) => {
  const reader = TiffReader.open(source)
  if (!reader) return broken('does not start with a TIFF header')
  const notes: string[] = []
  const pages = readPages(reader, source, limits, notes)
  if (!Array.isArray(pages)) return pages
  const evidence = { pages: pages.length, width: pages[0]?.width, height: pages[0]?.height }
  for (const [index, page] of pages.entries()) {
    checkDeadline(limits)
    if (page.outside === 'starts')
      return broken(`the data of page ${index + 1} lies beyond the end of the TIFF: it is truncated`, evidence)
    if (index >= decodedPages) continue
    const fault = await decodePage(source, limits, index, page, notes)
    if (fault) return broken(`page ${index + 1} cannot be decoded: ${fault}`, evidence)
  }
  if (pages.length > decodedPages) notes.push(`the first ${decodedPages} of ${pages.length} pages were decoded`)
  return sound([...new Set(notes)], evidence)
}

async function decodePage(
  source: Source,
  limits: ReaderLimits,
  index: number,
  page: Page,
  notes: string[],
): Promise<string | undefined> {
  const decoding = await decode(source, limits, { failOn: 'error', page: index, pages: 1, maxPixels: limits.maxPixels })
  if (decoding.outcome === 'decoded') return undefined
  if (decoding.outcome === 'refused' && (!unsupported.test(decoding.message) || unreadable.test(decoding.message)))
    return decoding.message
  if (page.outside) return 'its data runs beyond the end of the file'
  const why =
    decoding.outcome === 'too_large' ? 'too large to be decoded' : `compression ${page.compression}: ${decoding.message}`
  notes.push(`looked at its structure only: ${why}`)
  return undefined
}

function readPages(reader: TiffReader, source: Source, limits: ReaderLimits, notes: string[]): Page[] | FormatVerdict {
  const pages: Page[] = []
  const seen = new Set<number>()
  for (let offset = reader.first; offset !== 0; ) {
    checkDeadline(limits)
    if (seen.has(offset)) return trapped('directory_cycle', 'the directories of the TIFF go in circles')
    seen.add(offset)
    if (seen.size > limits.maxEntries) return trapped('page_flood', `the TIFF has more than ${limits.maxEntries} pages`)
    const directory = reader.directory(offset)
    if (!directory) return broken(`directory ${pages.length + 1} of the TIFF is missing or cut off`)
    const page = readPage(reader, directory.fields, source, limits)
    if (typeof page === 'string') return broken(`page ${pages.length + 1} of the TIFF cannot be opened: ${page}`)
    const flood = pixelFlood('TIFF', page.width, page.height, limits)
    if (flood) return flood
    pages.push(page)
    // A file that ends just before the pointer to a next page has none.
    if (directory.next === undefined) notes.push('the list of pages has no end mark')
    offset = directory.next ?? 0
  }
  return pages.length > 0 ? pages : broken('the TIFF has no pages')
}

function readPage(reader: TiffReader, fields: TiffFields, source: Source, limits: ReaderLimits): Page | string {
  const width = reader.value(fields.get(tag.width))
  const height = reader.value(fields.get(tag.height))
  if (!width || !height) return 'it has no width or no height'
  const compression = reader.value(fields.get(tag.compression)) ?? 1
  const offsets = fields.get(tag.tileOffsets) ?? fields.get(tag.stripOffsets)
  const counts = fields.get(tag.tileOffsets) ? fields.get(tag.tileCounts) : fields.get(tag.stripCounts)
  const page: Page = { width, height, compression }
  if (!offsets) return fields.has(tag.oldJpeg) ? page : 'it does not say where its data is'
  const lengths = counts ? reader.values(counts) : undefined
  let found = 0
  for (const offset of reader.values(offsets)) {
    if ((++found & 1023) === 0) checkDeadline(limits)
    const length = lengths?.next().value
    // Nothing at 0 is how sparse files leave out a tile.
    if (offset === 0 || length === 0) continue
    if (offset >= source.size) return { ...page, outside: 'starts' }
    if (length !== undefined && offset + length > source.size) page.outside = 'ends'
  }
  return found === 0 ? 'the list of its data is missing' : page
}
