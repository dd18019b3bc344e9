import { constants, inflateRawSync } from 'node:zlib'
import type { Source } from '../format.js'
import { type PdfDictionary, type PdfValue, readObject } from './dictionary.js'

const dictionaryWindow = 16 * 1024
/** A larger cross-reference stream is believed, as far as its file could hold it. */
const unpackedLimit = 16 * 1024 * 1024
/** Of deflate. */
const mostRatio = 1032
const predictorKeys = ['Predictor', 'Columns', 'Colors', 'BitsPerComponent']
/** Bytes of an entry. */
const widest = 4096
const emptyWindow = Buffer.alloc(32 * 1024)
/** Allowed, but used by nobody: what is packed with them is believed. */
const otherFilters = new Set([
  'LZWDecode',
  'LZW',
  'ASCII85Decode',
  'A85',
  'ASCIIHexDecode',
  'AHx',
  'RunLengthDecode',
  'RL',
  'Crypt',
])

/** True where a cross-reference stream stands at `at` that names the root and holds the entries that it promises. */
export function xrefStreamNamesRoot(source: Source, at: number): boolean {
  const text = source.read(at, dictionaryWindow).toString('latin1')
  const found = readObject(text, 0)
  if (!found?.closed || !namesRoot(found.dictionary)) return false
  const stream = /^[\s\0]*stream(?:\r\n|\n|\r)/.exec(text.slice(found.end))
  const widths = counts(found.dictionary.get('W'))?.slice(0, 3)
  const entries = entryCount(found.dictionary)
  if (!stream || widths?.length !== 3 || entries === undefined) return false
  const width = widths.reduce((sum, each) => sum + each, 0)
  const promised = entries * width
  if (promised > unpackedLimit) return promised <= (source.size - at) * mostRatio
  // Deflate never adds more than a few bytes; rows have a byte each for their predictor.
  const table = unpacked(source.read(at + found.end + stream[0].length, 2 * promised + 64 * 1024), found.dictionary)
  return (
    table === undefined || (table.length >= promised && typesAreKnown(table.subarray(0, promised), width, widths[0] as number))
  )
}

/** Readers want a reference, or the root itself. */
export const namesRoot = (dictionary: PdfDictionary): boolean => {
  const root = dictionary.get('Root')
  return root instanceof Map || (typeof root === 'object' && 'reference' in root)
}

const isCount = (value: PdfValue): value is number => typeof value === 'number' && value >= 0 && value <= 0x7fffffff
const counts = (value: PdfValue): number[] | undefined => (Array.isArray(value) && value.every(isCount) ? value : undefined)

function entryCount(dictionary: PdfDictionary): number | undefined {
  const size = dictionary.get('Size')
  const index = dictionary.get('Index')
  if (typeof size !== 'number') return undefined
  const ranges = counts(Array.isArray(index) ? index : [0, size])
  return ranges?.reduce((sum, each, position) => (position % 2 ? sum + each : sum), 0)
}

/** Free, in place, or in an object stream. Readers give up at any other type. */
function typesAreKnown(table: Buffer, width: number, typeWidth: number): boolean {
  for (let at = 0; typeWidth > 0 && at < table.length; at += width) {
    for (let index = 0; index < typeWidth; index++)
      if ((table[at + index] as number) > (index === typeWidth - 1 ? 2 : 0)) return false
  }
  return true
}

/** The entries, up to where they are damaged; undefined where they are packed in a way that is allowed, but used by nobody. */
function unpacked(packed: Buffer, dictionary: PdfDictionary): Buffer | undefined {
  const filters = [dictionary.get('Filter')].flat().filter((each) => each !== undefined) as { name?: string }[]
  const parameters = [dictionary.get('DecodeParms')].flat()[0] ?? new Map<string, PdfValue>()
  if (filters.length === 0) return packed
  if (filters.length > 1 || otherFilters.has(filters[0]?.name ?? '') || !(parameters instanceof Map)) return undefined
  if (!/^Fl(?:ateDecode)?$/.test(filters[0]?.name ?? '')) return Buffer.alloc(0)
  const rows = inflatedBeginning(packed)
  const [predictor = 1, columns = 1, colors = 1, bits = 8] = predictorKeys.map((key) => parameters.get(key))
  if (predictor === 1) return rows
  const usual = isCount(predictor) && predictor >= 10 && isCount(columns) && columns >= 1 && columns <= widest
  return usual && colors === 1 && bits === 8 ? unpredicted(rows, columns) : undefined
}

/** As much as inflates: some readers use what stands before the damage. */
function inflatedBeginning(packed: Buffer): Buffer {
  let whole = 0
  let best = hasZlibHeader(packed) ? tryInflate(packed) : Buffer.alloc(0)
  if (best) return best
  for (let broken = packed.length; broken - whole > 1; ) {
    const middle = (whole + broken) >> 1
    const found = tryInflate(packed.subarray(0, middle))
    if (found) [whole, best] = [middle, found]
    else broken = middle
  }
  return best ?? Buffer.alloc(0)
}

const hasZlibHeader = (bytes: Buffer) =>
  bytes.length > 2 && ((bytes[0] as number) & 15) === 8 && ((bytes[1] as number) & 32) === 0 && bytes.readUInt16BE(0) % 31 === 0

/** Without its checksum, and with a window of zeros before it: not every reader minds a wrong distance. */
function tryInflate(bytes: Buffer): Buffer | undefined {
  const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 3 * unpackedLimit, dictionary: emptyWindow }
  try {
    return inflateRawSync(bytes.subarray(2), options)
  } catch {
    return undefined
  }
}

/** The predictors of PNG, for one byte a pixel: what stands left, above, and above that on the left. A last row that is cut is filled up. */
function unpredicted(rows: Buffer, columns: number): Buffer {
  const count = Math.ceil(rows.length / (columns + 1))
  const table = Buffer.alloc(count * columns)
  for (let row = 0; row < count; row++) {
    const from = row * (columns + 1)
    const to = row * columns
    for (let column = 0; column < columns; column++) {
      const left = column > 0 ? (table[to + column - 1] as number) : 0
      const above = row > 0 ? (table[to + column - columns] as number) : 0
      const corner = column > 0 && row > 0 ? (table[to + column - columns - 1] as number) : 0
      table[to + column] = (rows[from + 1 + column] ?? 0) + prediction(rows[from] as number, left, above, corner)
    }
  }
  return table
}

function prediction(kind: number, left: number, above: number, corner: number): number {
  if (kind === 1) return left
  if (kind === 2) return above
  if (kind === 3) return (left + above) >> 1
  if (kind !== 4) return 0
  const guess = left + above - corner
  const [toLeft, toAbove, toCorner] = [Math.abs(guess - left), Math.abs(guess - above), Math.abs(guess - corner)]
  if (toLeft <= toAbove && toLeft <= toCorner) return left
  return toAbove <= toCorner ? above : corner
}
