import { createInvalidVerdict, createValidVerdict, type FormatReader } from '../format.js'
import { textTypes } from '../types.js'
import { readText } from './text.js'

interface TextMarks {
  formatName: string
  begins: RegExp
  ends?: RegExp
}

/** Fixed marks at the start and end of text formats, by extension. Some extensions are used by several formats. */
const marks: Record<string, TextMarks[]> = {
  ics: [{ formatName: 'calendar', begins: /^BEGIN:VCALENDAR/i, ends: /END:VCALENDAR/i }],
  vcf: [
    { formatName: 'vCard', begins: /^BEGIN:VCARD/i, ends: /END:VCARD\s*$/i },
    { formatName: 'table of genes', begins: /^##fileformat=VCF/ },
  ],
  vtt: [{ formatName: 'WebVTT', begins: /^WEBVTT(?=[\s]|$)/ }],
  step: [{ formatName: 'STEP exchange file', begins: /^ISO-10303-21;/, ends: /END-ISO-10303-21;/ }],
  dxf: [{ formatName: 'DXF drawing', begins: /^(?:0|999)\s*[\r\n]/, ends: /[\r\n]\s*EOF[\s\x1a]*$/ }],
  // The extension .stl is also used for text subtitles.
  stl: [
    { formatName: 'STL', begins: /^solid\b/i, ends: /endsolid/i },
    { formatName: 'subtitle file', begins: /^(?:\$|\/\/)/ },
  ],
}

const markWindowBytes = 4096

export const readMarkedText: FormatReader = async (source, limits) => {
  const start = toPlainText(source.read(0, markWindowBytes)).trimStart()
  if (start.startsWith('AutoCAD Binary DXF')) return createValidVerdict(["only the file's signature was checked"])
  const verdict = await readText(source, limits)
  const type = Object.keys(marks).find((type) => textTypes[type]?.extensions.includes(source.extension))
  const known = marks[type ?? source.extension] ?? []
  const mark = known.find(({ begins }) => begins.test(start))
  if (!verdict.sound || known.length === 0) return verdict
  if (!mark) return createInvalidVerdict(`the file does not start as a ${known[0]!.formatName} should`)
  const end = toPlainText(source.read(Math.max(0, source.size - markWindowBytes), markWindowBytes))
  return mark.ends && !mark.ends.test(end)
    ? createInvalidVerdict(`the ${mark.formatName} is truncated: its end is missing`)
    : verdict
}

// Removes byte-order marks and zero bytes, because the marks are ASCII characters in every encoding.
const toPlainText = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .replace(/^(\xef\xbb\xbf|\xff\xfe|\xfe\xff)/, '')
    .replaceAll('\0', '')

const facetBytes = 50
const headBytes = 84

/**
 * Checks STL: text from `solid` to `endsolid`, or the declared number of binary triangles. Accepts EBU subtitles, which have the
 * same extension.
 */
export const readStl: FormatReader = (source, limits) => {
  if (/^\d{3}STL\d\d\.\d\d/.test(source.read(0, 16).toString('latin1')))
    return createValidVerdict(['subtitles: only the signature was checked'])
  const facets = source.size >= headBytes ? source.read(80, 4).readUInt32LE(0) : 0
  const announced = headBytes + facets * facetBytes
  if (facets > 0 && announced <= source.size && source.size - announced < markWindowBytes)
    return createValidVerdict([], { facets })
  return readMarkedText(source, limits)
}
