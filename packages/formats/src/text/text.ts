import { isUtf8 } from 'node:buffer'
import { checkDeadline, createInvalidVerdict, createValidVerdict, type FormatReader, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'

/** `legacy` means any encoding older than Unicode, because such encodings cannot be distinguished reliably. */
export type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'utf-32le' | 'utf-32be' | 'legacy'

export interface DetectedText {
  encoding: TextEncoding
  bom: number
}

const sampleSize = 16 * 1024

// Control characters that occur in text: BEL, BS, TAB, LF, VT, FF, CR, SO, SI, ESC (terminal colors, ISO-2022) and SUB (end of
// DOS files).
const textControls = new Set([7, 8, 9, 10, 11, 12, 13, 14, 15, 26, 27])
const nonTextControls = new Uint8Array(256)
for (let code = 0; code < 32; code++) if (!textControls.has(code)) nonTextControls[code] = 1
nonTextControls[127] = 1

const isNonTextControlCharacter = (code: number): boolean => nonTextControls[code] === 1

/** Detects the text encoding from the first bytes. Returns null if the content is binary. */
export function detectText(source: RandomAccessSource): DetectedText | null {
  const sample = source.read(0, sampleSize)
  const marked = detectByByteOrderMark(sample)
  if (marked) return isPlausibleText(sample.subarray(marked.bom), marked.encoding) ? marked : null
  const trimmed = sample.length === source.size ? trimPadding(sample) : sample
  const encoding = detectWithoutByteOrderMark(trimmed)
  return encoding ? { encoding, bom: 0 } : null
}

function detectByByteOrderMark(bytes: Buffer): DetectedText | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return { encoding: 'utf-8', bom: 3 }
  if (bytes[0] === 0xff && bytes[1] === 0xfe)
    return bytes.length >= 4 && !bytes[2] && !bytes[3] ? { encoding: 'utf-32le', bom: 4 } : { encoding: 'utf-16le', bom: 2 }
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { encoding: 'utf-16be', bom: 2 }
  if (!bytes[0] && !bytes[1] && bytes[2] === 0xfe && bytes[3] === 0xff) return { encoding: 'utf-32be', bom: 4 }
  return null
}

function detectWithoutByteOrderMark(sample: Buffer): TextEncoding | null {
  const controls = countNonTextControlCharacters(sample)
  if (isUtf8(trimPartialCharacter(sample)) && controls <= sample.length / 50) return 'utf-8'
  if (controls <= sample.length / 200) return 'legacy'
  return (
    (['utf-16le', 'utf-16be', 'utf-32le', 'utf-32be'] as const).find(
      (encoding) => matchesZeroPattern(encoding, sample) && isPlausibleText(sample, encoding),
    ) ?? null
  )
}

/**
 * True if the positions of zero bytes match the encoding. In Latin text, nearly every UTF-16 or UTF-32 code unit contains one.
 */
function matchesZeroPattern(encoding: TextEncoding, sample: Buffer): boolean {
  const width = encoding.startsWith('utf-32') ? 4 : 2
  const little = encoding.endsWith('le')
  const units = Math.floor(sample.length / width)
  let missing = 0
  for (let unit = 0; unit < units; unit++) {
    const at = unit * width
    const fits =
      width === 2 ? !sample[little ? at + 1 : at] : little ? !sample[at + 2] && !sample[at + 3] : !sample[at] && !sample[at + 1]
    if (!fits && units - ++missing <= units * 0.7) return false
  }
  return units > 1
}

function isPlausibleText(bytes: Buffer, encoding: TextEncoding): boolean {
  if (encoding === 'utf-8') return countNonTextControlCharacters(bytes) <= bytes.length / 50
  let text: string
  try {
    text = [...decodeText([bytes.subarray(0, bytes.length - (bytes.length % 4))], encoding, false)].join('')
  } catch {
    return false
  }
  if (text.length === 0) return true
  let controls = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 128 ? isNonTextControlCharacter(code) : code === 0xfffd || code === 0xfffe || code === 0xffff) controls++
  }
  return controls <= text.length / 50
}

const trimPadding = (bytes: Buffer): Buffer => {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return bytes.subarray(0, end)
}

function trimPartialCharacter(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if ((byte & 0xc0) === 0x80) continue
    const width = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return width > back ? bytes.subarray(0, bytes.length - back) : bytes
  }
  return bytes
}

/**
 * Decodes chunks to text. If `fatal` is true, invalid bytes cause a TypeError. `label` is a TextDecoder label, `legacy`,
 * `utf-32le` or `utf-32be`.
 */
export function* decodeText(chunks: Iterable<Buffer>, label: string, fatal: boolean): Iterable<string> {
  if (label === 'utf-32le' || label === 'utf-32be') return yield* decodeUtf32(chunks, label === 'utf-32le', fatal)
  const decoder = new TextDecoder(label === 'legacy' ? 'windows-1252' : label, { fatal, ignoreBOM: false })
  for (const chunk of chunks) yield decoder.decode(chunk, { stream: true })
  yield decoder.decode()
}

function* decodeUtf32(chunks: Iterable<Buffer>, isLittleEndian: boolean, fatal: boolean): Iterable<string> {
  for (const chunk of chunks) {
    const points: string[] = []
    for (let at = 0; at + 4 <= chunk.length; at += 4) {
      const code = isLittleEndian ? chunk.readUInt32LE(at) : chunk.readUInt32BE(at)
      if (code > 0x10ffff && fatal) throw new TypeError('not UTF-32')
      points.push(code > 0x10ffff ? '\ufffd' : String.fromCodePoint(code))
    }
    yield points.join('')
  }
}

export const readText: FormatReader = (source, limits) => {
  if (source.size === 0) return createValidVerdict(['the file is empty'], { encoding: 'none' })
  const detected = detectText(source)
  if (!detected) return createInvalidVerdict('the content is binary, not text in a common encoding')
  if (detected.encoding === 'utf-8' || detected.encoding === 'legacy') return readEightBitText(source, limits, detected)
  return readWideText(source, limits, detected)
}

function readEightBitText(source: RandomAccessSource, limits: ReaderLimits, detected: DetectedText) {
  const seen = analyzeBytes(source, limits)
  if (seen.utf8 && seen.controls <= source.size / 50) return createValidVerdict(getEncodingNotes(detected), { encoding: 'utf-8' })
  // Editors open text in an older encoding even if it starts with a UTF-8 byte-order mark, so such text is valid, although some
  // characters are displayed incorrectly.
  if (seen.controls <= source.size / 200)
    return createValidVerdict(
      [`the text is not UTF-8${detected.bom ? ', although it has a byte-order mark' : ''}, but in an older encoding`],
      {
        encoding: 'legacy',
      },
    )
  return createInvalidVerdict(
    `the text ends in binary data: ${seen.controls} control characters, the first at byte ${seen.firstControl}`,
    {
      control_characters: seen.controls,
    },
  )
}

function analyzeBytes(
  source: RandomAccessSource,
  limits: ReaderLimits,
): { utf8: boolean; controls: number; firstControl: number } {
  let utf8 = true
  let controls = 0
  let firstControl = -1
  let at = 0
  let carry: Buffer = Buffer.alloc(0)
  for (const chunk of source.chunks(at, findTextEnd(source))) {
    checkDeadline(limits)
    const here = countNonTextControlCharacters(chunk)
    if (here > 0 && firstControl < 0) firstControl = at + chunk.findIndex(isNonTextControlCharacter)
    controls += here
    at += chunk.length
    if (!utf8) continue
    const bytes = carry.length > 0 ? Buffer.concat([carry, chunk]) : chunk
    const whole = trimPartialCharacter(bytes)
    utf8 = isUtf8(whole)
    carry = Buffer.from(bytes.subarray(whole.length))
  }
  return { utf8: utf8 && carry.length === 0, controls, firstControl }
}

function findTextEnd(source: RandomAccessSource): number {
  const from = Math.max(0, source.size - 4096)
  return from + trimPadding(source.read(from, 4096)).length
}

function readWideText(source: RandomAccessSource, limits: ReaderLimits, detected: DetectedText) {
  const width = detected.encoding.startsWith('utf-32') ? 4 : 2
  const notes = getEncodingNotes(detected)
  if (source.size % width !== 0) notes.push('the last character is truncated')
  let controls = 0
  let length = 0
  for (const text of decodeText(source.chunks(detected.bom), detected.encoding, false)) {
    checkDeadline(limits)
    length += text.length
    for (let at = 0; at < text.length; at++)
      if (text.charCodeAt(at) === 0xfffd || isNonTextControlCharacter(text.charCodeAt(at))) controls++
  }
  if (controls > Math.max(1, length / 50))
    return createInvalidVerdict(
      `the text is not ${detected.encoding.toUpperCase()}: ${controls} of ${length} characters are control characters`,
      {
        encoding: detected.encoding,
      },
    )
  return createValidVerdict(notes, { encoding: detected.encoding })
}

const getEncodingNotes = (detected: DetectedText): string[] =>
  detected.bom > 0 ? [`the text starts with a byte-order mark (${detected.encoding.toUpperCase()})`] : []

/** Counts control characters that do not occur in text. Tests four bytes together, because most groups contain none. */
export function countNonTextControlCharacters(bytes: Buffer): number {
  if (bytes.length < 4) return countControlCharactersInRange(bytes, 0, bytes.length)
  const start = -bytes.byteOffset & 3
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + start, (bytes.length - start) >> 2)
  const end = start + 4 * words.length
  let count = countControlCharactersInRange(bytes, 0, start) + countControlCharactersInRange(bytes, end, bytes.length)
  for (let index = 0; index < words.length; index++) {
    if (!mayContainControlCharacter(words[index]!)) continue
    const at = start + 4 * index
    count += countControlCharactersInRange(bytes, at, at + 4)
  }
  return count
}

/** True if one of the four bytes is below 32 or equal to 127. May also be true for other bytes. */
const mayContainControlCharacter = (word: number): boolean =>
  (((word - 0x20202020) | (word + 0x01010101)) & ~word & 0x80808080) !== 0

function countControlCharactersInRange(bytes: Buffer, start: number, end: number): number {
  let count = 0
  for (let at = start; at < end; at++) count += nonTextControls[bytes[at]!]!
  return count
}

/** Checks CSV as plain text, because spreadsheets accept any cell content. */
export const readCsv: FormatReader = async (source, limits) => {
  const verdict = await readText(source, limits)
  const detected = detectText(source)
  if (!verdict.sound || !detected || !hasFormulas(source, detected, limits)) return verdict
  return { ...verdict, notes: [...(verdict.notes ?? []), 'some cells would be executed as formulas by a spreadsheet'] }
}

// Matches the start of a cell that contains a formula. A sign followed by a digit starts a number instead.
const formula = /[\r\n,;\t|][ ]*"?(?:=[^=,;\t|"\s]|@[A-Za-z]|[+-][A-Za-z(@=])/

function hasFormulas(source: RandomAccessSource, { bom, encoding }: DetectedText, limits: ReaderLimits): boolean {
  let last = '\n'
  for (const chunk of decodeText(source.chunks(bom), encoding, false)) {
    checkDeadline(limits)
    if (formula.test(last + chunk)) return true
    last = chunk.slice(-8) || last
  }
  return false
}
