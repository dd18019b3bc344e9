import { broken, checkDeadline, type FormatReader, type FormatVerdict, type ReaderLimits, type Source, sound } from './format.js'
import { pixelFlood } from './image-pixels.js'
import { decode } from './image-vips.js'
import { type Box, boxesOf, findBox } from './media-boxes.js'

// What the bundled decoder leaves out: HEVC (patents), and some layouts of AV1.
const unsupported = /unsupported|not supported|no decoding plugin|compression format|Unspecified|bad seek/i

/** AVIF: box structure and size, then the picture by libvips. */
export const readAvif: FormatReader = (source, limits) => readHeif(source, limits, 'AVIF', /^(avif|avis|mif1|miaf|MA1A|MA1B)$/)

/** HEIC: box structure and size; no decoder for its pictures is bundled, and the report says so. */
export const readHeic: FormatReader = (source, limits) =>
  readHeif(source, limits, 'HEIC', /^(heic|heix|hevc|hevx|heim|heis|mif1|msf1)$/)

async function readHeif(source: Source, limits: ReaderLimits, name: 'AVIF' | 'HEIC', brands: RegExp): Promise<FormatVerdict> {
  const boxes = [...boxesOf(source, limits, 0, source.size)]
  const fault = faultOf(source, boxes, name, brands)
  if (fault) return broken(fault)
  const meta = boxes.find((box) => box.type === 'meta')
  // An image sequence may come as a film only.
  if (!meta)
    return boxes.some((box) => box.type === 'moov')
      ? sound(['an image sequence: looked at its structure only'])
      : broken(`the ${name} has no picture in it`)
  const size = largestSize(source, limits, meta)
  const evidence = size ? { width: size.width, height: size.height } : {}
  const flood = size && pixelFlood(name, size.width, size.height, limits)
  if (flood) return flood
  if (!findBox(source, limits, meta.start + 4, meta.end, ['iloc']))
    return broken(`the ${name} does not say where its picture is`, evidence)
  if (name === 'HEIC') return sound(['looked at its structure only: no decoder for HEVC pictures is bundled'], evidence)
  const decoding = await decode(source, limits, { failOn: 'error', maxPixels: limits.maxPixels })
  if (decoding.outcome === 'decoded') return sound([], evidence)
  if (decoding.outcome === 'too_large') return sound(['looked at its structure only: too large to be decoded'], evidence)
  if (unsupported.test(decoding.message)) return sound([`looked at its structure only: ${decoding.message}`], evidence)
  return broken(`the picture cannot be decoded: ${decoding.message}`, evidence)
}

function faultOf(source: Source, boxes: Box[], name: string, brands: RegExp): string | undefined {
  const [first] = boxes
  if (first?.type !== 'ftyp') return `does not start with the ${name} signature`
  const list = source.read(first.start, Math.min(first.end - first.start, 256)).toString('latin1')
  const named = [list.slice(0, 4), ...(list.slice(8).match(/.{4}/gs) ?? [])]
  if (!named.some((brand) => brands.test(brand))) return `is not marked as ${name}, but as ${named[0]?.replace(/[^ -~]/g, '?')}`
  const cut = boxes.find((box) => box.cut)
  return cut ? `the ${name} is truncated in its '${cut.type}' box` : undefined
}

/** The largest size that any of its pictures claims (`ispe` properties). */
function largestSize(source: Source, limits: ReaderLimits, meta: Box): { width: number; height: number } | undefined {
  const properties = findBox(source, limits, meta.start + 4, meta.end, ['iprp', 'ipco'])
  if (!properties) return undefined
  let largest: { width: number; height: number } | undefined
  for (const box of boxesOf(source, limits, properties.start, properties.end)) {
    checkDeadline(limits)
    if (box.type !== 'ispe' || box.end - box.start < 12) continue
    const bytes = source.read(box.start + 4, 8)
    if (bytes.length < 8) continue
    const size = { width: bytes.readUInt32BE(0), height: bytes.readUInt32BE(4) }
    if (!largest || size.width * size.height > largest.width * largest.height) largest = size
  }
  return largest
}
