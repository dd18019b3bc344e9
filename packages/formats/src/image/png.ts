import { crc32 } from 'node:zlib'
import { checkDeadline, createInvalidVerdict, createValidVerdict, type FormatReader, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { checkImageSize } from './image-size.js'
import { type DataPart, findPixelProblem, type PngPicture } from './png-data.js'

const signature = Buffer.from('89504e470d0a1a0a', 'hex')

const depths: Record<number, number[]> = { 0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16] }

const criticalChunks = new Set(['IHDR', 'PLTE', 'IDAT', 'IEND'])

const channels: Record<number, number> = { 2: 3, 4: 2, 6: 4 }

interface Header extends PngPicture {
  colorType: number
}

interface CollectedChunks {
  notes: string[]
  data: DataPart[]
}

/** Checks the chunk order, all CRCs and all rows of a PNG or APNG. Accepts bytes after IEND. */
export const readPng: FormatReader = async (source, limits) => {
  if (!source.read(0, 8).equals(signature)) return createInvalidVerdict('the file does not start with the PNG signature')
  const header = readHeader(source.read(8, 25))
  if (typeof header === 'string') return createInvalidVerdict(header)
  const evidence = { width: header.width, height: header.height }
  const flood = checkImageSize('PNG', header, limits)
  if (flood) return flood
  const walk: CollectedChunks = { notes: [], data: [] }
  const end = checkChunksAndFindEnd(source, limits, header, walk)
  if (typeof end === 'string') return createInvalidVerdict(end, evidence)
  const problem = await findPixelProblem(source, walk.data, header, limits)
  if (problem) return createInvalidVerdict(`the pixels cannot be decoded: ${problem}`, evidence)
  const after = source.size - end
  if (after === 0) return createValidVerdict(walk.notes, evidence)
  return createValidVerdict([...walk.notes, `${after} bytes follow the end of the image`], {
    ...evidence,
    bytes_after_end: after,
  })
}

function readHeader(chunk: Buffer): Header | string {
  if (chunk.length < 25 || chunk.readUInt32BE(0) !== 13 || chunk.toString('latin1', 4, 8) !== 'IHDR')
    return 'the PNG does not start with its header (IHDR)'
  if (crc32(chunk.subarray(4, 21)) !== chunk.readUInt32BE(21)) return 'the checksum of the PNG header (IHDR) is incorrect'
  const width = chunk.readUInt32BE(8)
  const height = chunk.readUInt32BE(12)
  const [depth, colorType, compression, filter, interlace] = chunk.subarray(16, 21) as unknown as [
    number,
    number,
    number,
    number,
    number,
  ]
  if (width === 0 || height === 0 || width > 0x7fffffff || height > 0x7fffffff)
    return `the PNG header declares invalid dimensions (${width}x${height})`
  if (!depths[colorType]?.includes(depth))
    return `the PNG header declares color type ${colorType} with ${depth} bits, which is invalid`
  if (compression !== 0 || filter !== 0 || interlace > 1)
    return 'the PNG header declares an unknown compression, filter or interlace method'
  return { width, height, colorType, bits: depth * (channels[colorType] ?? 1), interlaced: interlace === 1 }
}

/** Checks all chunks. Returns the end of the image, or an error message. */
function checkChunksAndFindEnd(
  source: RandomAccessSource,
  limits: ReaderLimits,
  header: Header,
  { notes, data }: CollectedChunks,
): number | string {
  const seen = new Set<string>()
  let at = 8
  let afterData = false
  while (at < source.size) {
    checkDeadline(limits)
    const head = source.read(at, 8)
    if (head.length < 8) return 'the PNG is truncated within a chunk header'
    const length = head.readUInt32BE(0)
    const type = head.toString('latin1', 4, 8)
    if (!/^[A-Za-z]{2}[A-Z][A-Za-z]$/.test(type)) return `the PNG has no valid chunk at byte ${at}`
    if (length > 0x7fffffff || at + 12 + length > source.size) return `the PNG is truncated within its ${type} chunk`
    if (!hasMatchingCrc(source, limits, at + 4, length + 4)) {
      // Critical chunks start with an upper-case letter. Readers skip damaged optional chunks, but some reject the image if its
      // tRNS chunk is damaged.
      if (/^[A-Z]/.test(type) || type === 'tRNS') return `the checksum of the PNG's ${type} chunk is incorrect`
      notes.push(`the checksum of the ${type} chunk is incorrect, so viewers skip that chunk`)
    }
    if (/^[A-Z]/.test(type) && !criticalChunks.has(type)) return `the PNG has the unknown critical chunk ${type}`
    if (type === 'IHDR' && at !== 8) return 'the PNG has two headers'
    if (type === 'PLTE' && (length === 0 || length % 3 !== 0 || length > 768) && header.colorType === 3)
      return 'the PNG palette has an invalid length'
    if (type === 'IDAT') data.push({ start: at + 8, end: at + 8 + length })
    if (type === 'IDAT' && afterData) return 'another chunk interrupts the PNG image data'
    if (type !== 'IDAT' && seen.has('IDAT')) afterData = true
    if (type === 'IDAT' && header.colorType === 3 && !seen.has('PLTE'))
      return 'the PNG has no palette, which its color type requires'
    seen.add(type)
    at += 12 + length
    if (type === 'IEND') {
      if (!seen.has('IDAT')) return 'the PNG has no image data'
      return at
    }
  }
  return 'the PNG is truncated: its end chunk (IEND) is missing'
}

function hasMatchingCrc(source: RandomAccessSource, limits: ReaderLimits, start: number, length: number): boolean {
  let crc = 0
  for (const chunk of source.chunks(start, start + length)) {
    checkDeadline(limits)
    crc = crc32(chunk, crc)
  }
  return source.read(start + length, 4).readUInt32BE(0) === crc
}
