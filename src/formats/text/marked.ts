import { textTypeFor } from '../extensions.js'
import { broken, type FormatReader, sound } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { readText } from './text.js'

interface Marks {
  begins: RegExp
  /** In the last bytes: what a file that is cut off lacks. */
  ends?: RegExp
  called: string
}

/** Texts that say at their beginning and at their end what they are. */
const marks: Record<string, Marks> = {
  ics: { begins: /^BEGIN:VCALENDAR/i, ends: /END:VCALENDAR/i, called: 'calendar' },
  vcf: { begins: /^BEGIN:VCARD/i, ends: /END:VCARD\s*$/i, called: 'vCard' },
  vtt: { begins: /^WEBVTT(?=[\s]|$)/, called: 'WebVTT' },
  step: { begins: /^ISO-10303-21;/, ends: /END-ISO-10303-21;/, called: 'STEP exchange file' },
  dxf: { begins: /^(?:0|999)\s*[\r\n]/, ends: /[\r\n]\s*EOF[\s\x1a]*$/, called: 'DXF drawing' },
}

const reach = 4096

/** Text, with the marks of its type. */
export const readMarked: FormatReader = async (source, limits) => {
  if (plainStart(source).startsWith('AutoCAD Binary DXF')) return sound(['checked for its signature only'])
  const verdict = await readText(source, limits)
  const type = marks[textTypeFor(source.extension) ?? '']
  if (!verdict.sound || !type) return verdict
  if (!type.begins.test(plainStart(source))) return broken(`it does not begin as a ${type.called} does`)
  const end = plain(source.read(Math.max(0, source.size - reach), reach))
  return type.ends && !type.ends.test(end) ? broken(`the ${type.called} is cut off: its end is missing`) : verdict
}

const plainStart = (source: RandomAccessSource) => plain(source.read(0, reach)).trimStart()

// Marks are ASCII in every encoding.
const plain = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .replace(/^(\xef\xbb\xbf|\xff\xfe|\xfe\xff)/, '')
    .replaceAll('\0', '')

const facetBytes = 50
const headBytes = 84

/** STL: as text from `solid` to `endsolid`, or as many triangles as are announced. */
export const readStl: FormatReader = async (source, limits) => {
  const facets = source.size >= headBytes ? source.read(80, 4).readUInt32LE(0) : 0
  const announced = headBytes + facets * facetBytes
  if (facets > 0 && announced <= source.size && source.size - announced < reach) return sound([], { facets })
  if (!/^solid\b/i.test(plainStart(source)))
    return broken(
      facets > 0 && announced > source.size
        ? `the STL is cut off: ${source.size} of ${announced} bytes`
        : 'it does not begin as an STL does',
    )
  const verdict = await readText(source, limits)
  const ended = /endsolid/i.test(plain(source.read(Math.max(0, source.size - reach), reach)))
  return verdict.sound && !ended ? broken('the STL is cut off: its end is missing') : verdict
}
