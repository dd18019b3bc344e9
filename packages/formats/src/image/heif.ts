import {
  checkDeadline,
  createInvalidVerdict,
  createValidVerdict,
  type FormatReader,
  type FormatVerdict,
  type ReaderLimits,
} from '../format.js'
import { type Box, findBox, readBoxes } from '../media/boxes.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { type HeifItem, type HeifItems, readItems } from './heif-items.js'
import { findTileProblem } from './heif-tiles.js'
import { findHevcProblem } from './hevc.js'
import { type BytePatch, decodeImageWithinLimits } from './image-decoder.js'
import { checkImageSize } from './image-size.js'

// Errors that the bundled decoder reports even for valid images. For patent reasons, it lacks HEVC. It also lacks some AV1
// layouts.
const unsupported = /unsupported|not supported|no decoding plugin|compression format/i
// libaom supports all AV1 streams, so this error indicates damage.
const damage = /Bitstream not supported by this decoder/

/** Checks the boxes and the size of an AVIF image, then decodes the image with libvips. */
export const readAvif: FormatReader = (source, limits) => readHeif(source, limits, 'AVIF', /^(avif|avis|mif1|miaf|MA1A|MA1B)$/)

export const readHeic: FormatReader = (source, limits) =>
  readHeif(source, limits, 'HEIC', /^(heic|heix|hevc|hevx|heim|heis|mif1|msf1)$/)

async function readHeif(
  source: RandomAccessSource,
  limits: ReaderLimits,
  name: 'AVIF' | 'HEIC',
  brands: RegExp,
): Promise<FormatVerdict> {
  const boxes = [...readBoxes(source, limits, 0, source.size)]
  const boxProblem = findBoxProblem(source, boxes, name, brands)
  if (boxProblem) return createInvalidVerdict(boxProblem)
  const meta = boxes.find((box) => box.type === 'meta')
  // An image sequence may contain only a track and no still image.
  if (!meta)
    return boxes.some((box) => box.type === 'moov')
      ? createValidVerdict(['the file is an image sequence, so only its structure was checked'])
      : createInvalidVerdict(`the ${name} contains no image`)
  const size = getLargestImageSize(source, limits, meta)
  const evidence = size ? { width: size.width, height: size.height } : {}
  const flood = size && checkImageSize(name, { ...size, bits: 24 }, limits)
  if (flood) return flood
  const changes = name === 'AVIF' ? getBrandPatches(source) : []
  const unread = name === 'HEIC' ? 'the bundled decoder does not support HEVC' : await tryToDecodeImage(source, limits, changes)
  if (unread && typeof unread !== 'string') return { ...unread, evidence }
  const items = readItems(source, limits, meta)
  const problem = unread
    ? findProblemWithoutDecoding(source, limits, items)
    : await findTileProblem(source, limits, items, changes)
  if (problem) return createInvalidVerdict(`the ${name} cannot be opened: ${problem}`, evidence)
  return createValidVerdict(unread ? [`only its structure was checked: ${unread}`] : [], evidence)
}

type ItemsOrProblem = HeifItems | string

const findProblemWithoutDecoding = (
  source: RandomAccessSource,
  limits: ReaderLimits,
  items: ItemsOrProblem,
): string | undefined => (typeof items === 'string' ? items : findImageProblem(source, limits, items))

/**
 * Replaces the major brand of an image sequence, so that libvips, which does not support sequences, decodes the still image in
 * the file.
 */
function getBrandPatches(source: RandomAccessSource): BytePatch[] {
  const brand = source.read(8, 4).toString('latin1')
  return brand === 'avif' || brand === 'mif1' ? [] : [{ at: 8, bytes: Buffer.from('avif', 'latin1') }]
}

/** Decodes the image. Returns a reason if it is unsupported or too large, and a verdict if it is damaged. */
async function tryToDecodeImage(
  source: RandomAccessSource,
  limits: ReaderLimits,
  patches: BytePatch[],
): Promise<string | FormatVerdict | undefined> {
  const options = { failOn: 'error' } as const
  const decoding = await decodeImageWithinLimits(source, limits, patches.length > 0 ? { ...options, changes: patches } : options)
  if (decoding.outcome === 'decoded') return undefined
  if (decoding.outcome === 'too_large') return 'too large to decode'
  if (unsupported.test(decoding.message) && !damage.test(decoding.message)) return decoding.message
  return createInvalidVerdict(`the image cannot be decoded: ${decoding.message}`)
}

function findBoxProblem(source: RandomAccessSource, boxes: Box[], name: string, brands: RegExp): string | undefined {
  const [first] = boxes
  if (first?.type !== 'ftyp') return `the file does not start with the ${name} signature`
  const list = source.read(first.start, Math.min(first.end - first.start, 256)).toString('latin1')
  const quoted = [list.slice(0, 4), ...(list.slice(8).match(/.{4}/gs) ?? [])]
  if (!quoted.some((brand) => brands.test(brand)))
    return `the file is not marked as ${name}, but as ${quoted[0]?.replace(/[^ -~]/g, '?')}`
  const cut = boxes.find((box) => box.cut)
  return cut ? `the ${name} is truncated within its '${cut.type}' box` : undefined
}

/** Checks the primary image and its source images. Thumbnails and metadata are not checked, because they are optional. */
function findImageProblem(source: RandomAccessSource, limits: ReaderLimits, { primary, items }: HeifItems): string | undefined {
  const first = primary === undefined ? undefined : items.get(primary)
  if (!first) return 'the primary item is not declared'
  if (source.read(first.entry + 3, 1)[0]! & 1) return 'the image is marked as hidden'
  const wanted = new Set([first, ...getTransparencyMasks(source, first, items)])
  for (const item of wanted) {
    checkDeadline(limits)
    const problem = findItemProblem(source, limits, item)
    if (problem) return problem
    for (const id of item.sources) {
      const part = items.get(id)
      if (!part) return `a part of its image (item ${id}) is missing`
      wanted.add(part)
    }
  }
  return undefined
}

// Matches the auxiliary type of transparency masks. Other auxiliary images, such as depth and gain maps, are not checked, because
// readers may ignore them.
const transparency = /^urn:(mpeg:mpegB:cicp:systems:auxiliary:alpha|mpeg:(hevc|avc):2015:auxid:1)\0/

const getTransparencyMasks = (source: RandomAccessSource, { id }: HeifItem, items: HeifItems['items']): HeifItem[] =>
  [...items.values()].filter(
    ({ belongsTo, properties }) =>
      belongsTo.includes(id) &&
      properties.some(({ type, start }) => type === 'auxC' && transparency.test(source.read(start + 4, 64).toString('latin1'))),
  )

// Item types of derived and coded images (ISO/IEC 23008-12 and amendments).
const derivedTypes = new Set(['grid', 'iovl', 'iden', 'tmap'])
const codedTypes = new Set(['hvc1', 'hev1', 'lhv1', 'av01', 'avc1', 'jpeg', 'j2k1', 'vvc1', 'evc1', 'unci', 'mski'])

function findItemProblem(source: RandomAccessSource, limits: ReaderLimits, item: HeifItem): string | undefined {
  const { type, extents, sources } = item
  const derived = derivedTypes.has(type)
  if (!derived && !codedTypes.has(type)) return `the image has an unknown type ('${type.replace(/[^ -~]/g, '?')}')`
  if (derived && sources.length === 0) return 'the parts of its image are not declared'
  if (!extents) return derived ? undefined : 'the location of its image is missing'
  if (extents.some(({ start, length }) => start + length > source.size))
    return 'the file is truncated: its image extends beyond the end of the file'
  if (derived) return undefined
  return type === 'hvc1' || type === 'hev1' ? findHevcProblem(source, limits, item) : undefined
}

function getLargestImageSize(
  source: RandomAccessSource,
  limits: ReaderLimits,
  meta: Box,
): { width: number; height: number } | undefined {
  const properties = findBox(source, limits, meta.start + 4, meta.end, ['iprp', 'ipco'])
  if (!properties) return undefined
  let max: { width: number; height: number } | undefined
  for (const box of readBoxes(source, limits, properties.start, properties.end)) {
    checkDeadline(limits)
    if (box.type !== 'ispe' || box.end - box.start < 12) continue
    const bytes = source.read(box.start + 4, 8)
    if (bytes.length < 8) continue
    const size = { width: bytes.readUInt32BE(0), height: bytes.readUInt32BE(4) }
    if (!max || size.width * size.height > max.width * max.height) max = size
  }
  return max
}
