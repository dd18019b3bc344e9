import {
  checkDeadline,
  createInvalidVerdict,
  createMaliciousVerdict,
  createValidVerdict,
  type FormatReader,
  type FormatVerdict,
  type ReaderLimits,
} from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { type BytePatch, decodeImageWithinLimits, noReasonMessage } from './image-decoder.js'
import { checkImageSize } from './image-size.js'
import { type TiffFields, TiffReader } from './tiff-directory.js'
import { tryToDecodeJpegTiles } from './tiff-jpeg-tiles.js'
import { fillSparseBlocks } from './tiff-sparse.js'

// Factor that raises the pixel limit for maps and scans, which are decoded in strips and tiles. It allows 268 million 24-bit
// pixels.
const stripLimitFactor = 3
/** Maximum number of pages to decode. Only the directories and offsets of further pages are checked. */
const maxDecodedPages = 32

const tag = {
  width: 256,
  height: 257,
  bits: 258,
  compression: 259,
  photometric: 262,
  stripOffsets: 273,
  samples: 277,
  stripCounts: 279,
  tileOffsets: 324,
  tileCounts: 325,
  oldJpeg: 513,
}

// Errors that the bundled libtiff and libvips report for valid files with rare compressions or sample layouts.
const unsupported =
  /required field 262 missing|unsupported|not configured|not implemented|can not handle|cannot handle|sorry|not supported|compression support|unknown compression|not a known|not a whole number|samples out of range|no known route|bad colou?r|subsampl|differs from page|exceeds channel limit|must have|LogL|Lab/i

// Errors that mention missing support but indicate damage, such as a wrong predictor, a wrong CCITT code or an unreadable
// directory.
const damage = /Predictor|Uncompressed data|tile size out of range|contains unsupported image format|unsupported marker type/i

interface Page {
  width: number
  height: number
  compression: number
  tiled: boolean
  bits: number
  bytes: number
  fields: TiffFields
}

/** Checks all directories of a TIFF or BigTIFF, then decodes the first pages with libvips. */
export const readTiff: FormatReader = async (source, limits) => {
  const reader = TiffReader.open(source)
  if (!reader) return createInvalidVerdict('the file does not start with a TIFF header')
  const notes: string[] = []
  const pages = readPages(reader, limits, notes)
  if (!Array.isArray(pages)) return pages
  const evidence = { pages: pages.length, width: pages[0]?.width, height: pages[0]?.height }
  for (const [index, page] of pages.entries()) {
    checkDeadline(limits)
    if (index >= maxDecodedPages) break
    const problem = await decodePage(reader, source, limits, index, page, notes)
    if (problem) return createInvalidVerdict(`page ${index + 1} cannot be decoded: ${problem}`, evidence)
  }
  if (pages.length > maxDecodedPages) notes.push(`the first ${maxDecodedPages} of ${pages.length} pages were decoded`)
  return createValidVerdict([...new Set(notes)], evidence)
}

async function decodePage(
  reader: TiffReader,
  source: RandomAccessSource,
  limits: ReaderLimits,
  index: number,
  page: Page,
  notes: string[],
): Promise<string | undefined> {
  const options = { page: index, pages: 1, maxPixels: page.width * page.height }
  // libvips reports a damaged tile only as a warning, so warnings count as errors for tiled images. Warnings without a message
  // are about harmless details and are ignored.
  let decoding = await decodeImageWithinLimits(source, limits, { ...options, failOn: page.tiled ? 'warning' : 'error' })
  if (decoding.outcome === 'refused' && decoding.message === noReasonMessage)
    decoding = await decodeImageWithinLimits(source, limits, { ...options, failOn: 'error' })
  if (decoding.outcome === 'refused' && missingPhotometricPattern.test(decoding.message)) {
    notes.push('the PhotometricInterpretation tag is missing, so viewers assume its usual value')
    const changes = getPhotometricPatches(reader, page)
    decoding = changes ? await decodeImageWithinLimits(source, limits, { ...options, failOn: 'error', changes }) : decoding
  }
  if (decoding.outcome === 'refused' && unknownFieldTypePattern.test(decoding.message))
    decoding = await decodeImageWithinLimits(source, limits, {
      ...options,
      failOn: 'error',
      changes: getUnknownTypePatches(reader, page),
    })
  if (decoding.outcome === 'refused' && /Invalid (tile|strip) byte count/.test(decoding.message)) {
    const changes = fillSparseBlocks(reader, ...getBlockFields(page))
    decoding = changes
      ? await decodeImageWithinLimits(source, limits, { ...options, failOn: page.tiled ? 'warning' : 'error', changes })
      : decoding
    if (changes) notes.push('some tiles or strips are empty, as in sparse GDAL files')
  }
  if (decoding.outcome === 'decoded') return undefined
  if (decoding.outcome === 'refused' && /decompress error tile/.test(decoding.message) && hasManyJpegComponents(reader, page))
    return (await tryToDecodeJpegTiles(reader, page.fields, source, limits)) ? undefined : decoding.message
  if (decoding.outcome === 'refused' && (!unsupported.test(decoding.message) || damage.test(decoding.message)))
    return decoding.message
  const missing = findMissingDataProblem(reader, page, source, limits)
  if (missing) return missing
  const why = decoding.outcome === 'too_large' ? 'too large to decode' : `compression ${page.compression}: ${decoding.message}`
  notes.push(`only its structure was checked: ${why}`)
  return undefined
}

const hasManyJpegComponents = (reader: TiffReader, { fields, compression, tiled }: Page): boolean =>
  compression === 7 && tiled && (reader.readValue(fields.get(tag.samples)) ?? 1) > 3

const unknownFieldTypePattern = /TIFF_SETGET_UNDEFINED/
const firstPrivateTag = 32_768

/** Creates patches that overwrite private fields of an undefined type. Readers ignore such fields (TIFF 6.0, section 2). */
const getUnknownTypePatches = (reader: TiffReader, { fields }: Page): BytePatch[] =>
  [...fields].flatMap(([number, { type, entryAt }]) =>
    number >= firstPrivateTag && (type < 1 || type > 18) ? [{ at: entryAt, bytes: reader.encodeEntry(number, 0) }] : [],
  )

const missingPhotometricPattern = /required field 262 missing/
/** Tags of optional fields, such as resolution, names and dates. The entry of such a field can be overwritten with a required one. */
const optionalTags = [254, 255, 269, 270, 271, 272, 282, 283, 285, 296, 297, 305, 306, 315, 316]
const faxCompressions = [2, 3, 4, 32771]

/**
 * Returns a patch that replaces an optional entry with the PhotometricInterpretation that readers assume: white is zero for
 * faxes, black is zero for gray images, and RGB for all others. Returns undefined if the image has no optional entry.
 */
function getPhotometricPatches(reader: TiffReader, { fields, compression }: Page): BytePatch[] | undefined {
  const place = optionalTags.map((number) => fields.get(number)?.entryAt).find((at) => at !== undefined)
  if (place === undefined) return undefined
  const samples = reader.readValue(fields.get(tag.samples)) ?? 1
  const usual = faxCompressions.includes(compression) ? 0 : samples < 3 ? 1 : 2
  return [{ at: place, bytes: reader.encodeEntry(tag.photometric, usual) }]
}

function readPages(reader: TiffReader, limits: ReaderLimits, notes: string[]): Page[] | FormatVerdict {
  const pages: Page[] = []
  const seen = new Set<number>()
  for (let offset = reader.first; offset !== 0; ) {
    checkDeadline(limits)
    if (seen.has(offset)) {
      notes.push('the list of pages is circular, so viewers stop at the first repeated page')
      break
    }
    seen.add(offset)
    if (seen.size > limits.maxEntries)
      return createMaliciousVerdict('page_flood', `the TIFF has more than ${limits.maxEntries} pages`)
    const directory = reader.readDirectory(offset)
    if (!directory) return createInvalidVerdict(`directory ${pages.length + 1} of the TIFF is missing or truncated`)
    const page = readPage(reader, directory.fields)
    if (typeof page === 'string') return createInvalidVerdict(`page ${pages.length + 1} of the TIFF cannot be opened: ${page}`)
    const flood = page.compression === 1 ? undefined : checkImageSize('TIFF', { ...page, times: stripLimitFactor }, limits)
    if (flood) return flood
    pages.push(page)
    // A file that ends before the pointer to the next page has no more pages.
    if (directory.next === undefined) notes.push('the list of pages has no end marker')
    offset = directory.next ?? 0
  }
  return pages.length > 0 ? pages : createInvalidVerdict('the TIFF has no pages')
}

function readPage(reader: TiffReader, fields: TiffFields): Page | string {
  const [width, height] = [tag.width, tag.height].map((number) => reader.readValue(fields.get(number)))
  if (!width || !height) return 'the width or height is missing'
  const compression = reader.readValue(fields.get(tag.compression)) ?? 1
  const placed = fields.has(tag.tileOffsets) || fields.has(tag.stripOffsets)
  if (!placed && !fields.has(tag.oldJpeg)) return 'the location of its data is missing'
  const samples = reader.readValue(fields.get(tag.samples)) ?? 1
  const bits = reader.readValue(fields.get(tag.bits)) ?? 1
  // Images with subsampled colors (YCbCr) need fewer bytes. The exact number is unknown, so no minimum applies to them.
  const bytes = reader.readValue(fields.get(tag.photometric)) === 6 ? 0 : Math.ceil((width * height * samples * bits) / 8)
  return { width, height, compression, tiled: fields.has(tag.tileOffsets), bits: samples * bits, bytes, fields }
}

const getBlockFields = ({ fields, tiled }: Page) =>
  [fields.get(tiled ? tag.tileOffsets : tag.stripOffsets), fields.get(tiled ? tag.tileCounts : tag.stripCounts)] as const

function findMissingDataProblem(
  reader: TiffReader,
  page: Page,
  source: RandomAccessSource,
  limits: ReaderLimits,
): string | undefined {
  const [offsets, counts] = getBlockFields(page)
  const lengths = counts && reader.readValues(counts)
  let [end, bytes, found] = [0, 0, 0]
  for (const offset of offsets ? reader.readValues(offsets) : []) {
    if ((++found & 1023) === 0) checkDeadline(limits)
    const length = lengths?.next().value ?? 0
    end = Math.max(end, offset + length)
    bytes += length
  }
  if (end > source.size) return 'the data extends beyond the end of the file'
  const whole = page.compression === 1 && counts && !page.tiled
  return whole && bytes < page.bytes ? `the file contains only ${bytes} of the page's ${page.bytes} bytes` : undefined
}
