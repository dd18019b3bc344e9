import {
  broken,
  checkDeadline,
  type FormatReader,
  type FormatVerdict,
  type ReaderLimits,
  type Source,
  sound,
  trapped,
} from '../format.js'
import { pixelFlood } from './pixels.js'
import { type TiffFields, TiffReader } from './tiff-directory.js'
import { decode, nothingSaid } from './vips.js'

/** Pages that are decoded; of the others the directories and the places of their data are looked at. */
const decodedPages = 32

const tag = {
  width: 256,
  height: 257,
  bits: 258,
  compression: 259,
  photometric: 262,
  samples: 277,
  rows: 278,
  stripOffsets: 273,
  stripCounts: 279,
  planar: 284,
  tileWidth: 322,
  tileHeight: 323,
  tileOffsets: 324,
  tileCounts: 325,
  oldJpeg: 513,
}

// What libtiff knows, and what scanners and medical programs have registered. Another number is damage, but in raw photos.
const compressions = new Set([
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 262, 32766, 32767, 32769, 32770, 32771, 32773, 32809, 32867, 32895, 32896, 32897, 32898, 32908,
  32909, 32946, 32947, 33003, 33004, 33005, 33007, 34661, 34676, 34677, 34712, 34713, 34715, 34718, 34887, 34892, 34925, 34926,
  34927, 34933, 34934, 50000, 50001, 50002, 52546,
])

// What the bundled libtiff and libvips leave out, though the file is in order: rare compressions and sample layouts.
const unsupported =
  /unsupported|not configured|not implemented|can not handle|cannot handle|sorry|not supported|compression support|unknown compression|not a known|not a whole number|samples out of range|no known route|bad colou?r|subsampl|differs from page|must have|LogL|Lab/i

// Where libvips speaks of something unsupported and means damage: an impossible predictor, CCITT codes that lead astray, a
// directory that libtiff cannot make sense of at all.
const damage = /Predictor|Uncompressed data|tile size out of range|contains unsupported image format/

/** Types that a size may have: readers take no other, not even the numbers of directories. */
const wholeNumbers = new Set([1, 3, 4, 6, 8, 9, 16, 17])

interface Page {
  width: number
  height: number
  compression: number
  tiled: boolean
  /** What is missing of it by its own figures, which readers may know to mend. */
  short?: string
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
  const options = { page: index, pages: 1, maxPixels: limits.maxPixels }
  // Of a tile that cannot be decoded libvips only warns. It warns without a word where something else is odd that does not matter.
  let decoding = await decode(source, limits, { ...options, failOn: page.tiled ? 'warning' : 'error' })
  if (decoding.outcome === 'refused' && decoding.message === nothingSaid)
    decoding = await decode(source, limits, { ...options, failOn: 'error' })
  if (decoding.outcome === 'decoded') return undefined
  if (decoding.outcome === 'refused' && (!unsupported.test(decoding.message) || damage.test(decoding.message)))
    return decoding.message
  if (page.outside) return 'its data runs beyond the end of the file'
  if (page.short) return page.short
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
    if (seen.has(offset)) {
      notes.push('the list of pages goes in circles; readers stop where it does')
      break
    }
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
  const [width, height] = [tag.width, tag.height].map((number) => {
    const field = fields.get(number)
    return field && wholeNumbers.has(field.type) ? reader.value(field) : undefined
  })
  if (!width || !height) return 'it has no width or no height'
  const compression = reader.value(fields.get(tag.compression)) ?? 1
  if (!compressions.has(compression) && /^tiff?$/.test(source.extension))
    return `it names compression ${compression}, which does not exist`
  const offsets = fields.get(tag.tileOffsets) ?? fields.get(tag.stripOffsets)
  const page: Page = { width, height, compression, tiled: fields.has(tag.tileOffsets) }
  if (!offsets) return fields.has(tag.oldJpeg) ? page : 'it does not say where its data is'
  return withPlaces(page, reader, fields, source, limits) ?? page
}

/** Looks at where each strip or tile lies. Gives what is wrong. */
function withPlaces(
  page: Page,
  reader: TiffReader,
  fields: TiffFields,
  source: Source,
  limits: ReaderLimits,
): string | undefined {
  const tiled = fields.get(tag.tileOffsets)
  const counts = fields.get(tiled ? tag.tileCounts : tag.stripCounts)
  const lengths = counts ? reader.values(counts) : undefined
  const wanted = chunksOf(page, reader, fields)
  let found = 0
  let empty = 0
  let bytes = 0
  for (const offset of reader.values(tiled ?? fields.get(tag.stripOffsets)!)) {
    // Readers do not mind more entries than the picture has chunks.
    if (found === wanted) break
    if ((++found & 1023) === 0) checkDeadline(limits)
    const length = lengths?.next().value
    if (length !== undefined) bytes += length
    // Nothing at 0 is how sparse files leave out a tile.
    if (!length && (offset === 0 || length === 0)) empty++
    else if (offset >= source.size) page.outside = 'starts'
    else if (length !== undefined && offset + length > source.size) page.outside ??= 'ends'
    if (page.outside === 'starts') break
  }
  if (found === 0) return 'the list of its data is missing'
  if (empty === found) return 'it has no data'
  return impossibleSamples(page, reader, fields, counts && empty === 0 ? bytes : undefined)
}

// Widest: double-precision numbers; cameras on satellites have a few hundred bands.
const [maxBits, maxSamples] = [64, 4096]

/** What is wrong with the layout of the samples: libvips does not tell a rare one from an impossible one. */
function impossibleSamples(page: Page, reader: TiffReader, fields: TiffFields, bytes?: number): string | undefined {
  const samples = reader.value(fields.get(tag.samples)) ?? 1
  const bits = reader.value(fields.get(tag.bits)) ?? 1
  if (bits < 1 || bits > maxBits || samples < 1 || samples > maxSamples) return `it claims ${samples} samples of ${bits} bits`
  const needed = Math.ceil((page.width * page.height * samples * bits) / 8)
  const subsampled = reader.value(fields.get(tag.photometric)) === 6
  if (page.compression === 1 && bytes !== undefined && !subsampled && bytes < needed)
    page.short = `it holds ${bytes} of ${needed} bytes`
  return undefined
}

/** Strips or tiles that the picture must have. */
function chunksOf({ width, height, tiled }: Page, reader: TiffReader, fields: TiffFields): number {
  const value = (number: number) => reader.value(fields.get(number))
  const planes = value(tag.planar) === 2 ? (value(tag.samples) ?? 1) : 1
  const across = tiled ? Math.ceil(width / (value(tag.tileWidth) || width)) : 1
  const down = Math.ceil(height / (value(tiled ? tag.tileHeight : tag.rows) || height))
  return across * down * planes
}
