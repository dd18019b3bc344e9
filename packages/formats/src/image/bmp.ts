import { createInvalidVerdict, createValidVerdict, type FormatReader, type FormatVerdict, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { findRunLengthProblem } from './bmp-rle.js'
import { checkImageSize } from './image-size.js'

interface Header {
  width: number
  height: number
  planes: number
  depth: number
  compression: number
  colors: number
}

// Sizes of BITMAPCOREHEADER (12), of OS/2 2.x and Windows 3 headers (16 to 64), and of versions 4 (108) and 5 (124).
const isKnownHeaderSize = (size: number) => size === 12 || (size >= 16 && size <= 64) || size === 108 || size === 124

/** Checks the header and the length of the pixel data, because the bundled libvips cannot decode BMP. */
export const readBmp: FormatReader = (source, limits) => {
  const start = source.read(0, 18)
  if (start.length < 18 || start.toString('latin1', 0, 2) !== 'BM')
    return createInvalidVerdict('the file does not start with a complete BMP header')
  const size = start.readUInt32LE(14)
  if (!isKnownHeaderSize(size)) return createInvalidVerdict(`the BMP header has an unknown size (${size} bytes)`)
  const bytes = source.read(14, size)
  if (bytes.length < size) return createInvalidVerdict('the BMP is truncated within its header')
  const header = size === 12 ? parseCoreHeader(bytes) : parseInfoHeader(bytes)
  const pixels = start.readUInt32LE(10)
  const evidence = { width: Math.abs(header.width), height: Math.abs(header.height), depth: header.depth }
  const problem = pixels < 14 + size ? 'the BMP pixel data starts inside the header' : findHeaderProblem(header)
  if (problem) return createInvalidVerdict(problem, evidence)
  const verdict = checkPixels(source, limits, header, pixels, evidence)
  // The file size already bounds the amount of uncompressed pixel data, so no further check is needed.
  if (verdict.sound && header.compression !== 1 && header.compression !== 2) return verdict
  return checkImageSize('BMP', { ...evidence, bits: header.depth }, limits) ?? verdict
}

const parseCoreHeader = (bytes: Buffer): Header => ({
  width: bytes.readUInt16LE(4),
  height: bytes.readUInt16LE(6),
  planes: bytes.readUInt16LE(8),
  depth: bytes.readUInt16LE(10),
  compression: 0,
  colors: 0,
})

const parseInfoHeader = (bytes: Buffer): Header => ({
  width: bytes.readInt32LE(4),
  height: bytes.readInt32LE(8),
  planes: bytes.readUInt16LE(12),
  depth: bytes.length >= 16 ? bytes.readUInt16LE(14) : 0,
  compression: bytes.length >= 20 ? bytes.readUInt32LE(16) : 0,
  colors: bytes.length >= 36 ? bytes.readUInt32LE(32) : 0,
})

/**
 * Bit depths that viewers support, per compression method. ImageMagick and ffmpeg also reject 2-bit pixels and embedded JPEG or
 * PNG (methods 4 and 5).
 */
const supportedDepths: Record<number, number[]> = { 0: [1, 4, 8, 16, 24, 32], 1: [8], 2: [4], 3: [16, 24, 32], 6: [16, 24, 32] }

function findHeaderProblem(header: Header): string | undefined {
  const { width, height, planes, depth, compression, colors } = header
  if (width <= 0 || height === 0 || height === -0x80000000) return `the BMP has invalid dimensions (${width}x${height})`
  if (planes !== 1) return `the BMP has ${planes} planes. The only valid number is 1`
  const depths = supportedDepths[compression]
  if (!depths) return `the BMP uses compression ${compression}, which viewers do not support`
  if (!depths.includes(depth))
    return `the BMP uses ${depth} bits per pixel with compression ${compression}, which viewers do not support`
  if (depth > 0 && depth <= 8 && colors > 65536)
    return `the BMP has a palette of ${colors} colors, which is too large for ${depth} bits per pixel`
  return undefined
}

function checkPixels(
  source: RandomAccessSource,
  limits: ReaderLimits,
  header: Header,
  offset: number,
  evidence: Record<string, unknown>,
): FormatVerdict {
  if (offset >= source.size) return createInvalidVerdict('the BMP is truncated before its pixel data', evidence)
  const rows = Math.abs(header.height)
  if (header.compression === 1 || header.compression === 2) {
    const problem = findRunLengthProblem(source, limits, { offset, width: header.width, rows, nibbles: header.compression === 2 })
    return problem ? createInvalidVerdict(problem, evidence) : createValidVerdict([], evidence)
  }
  // Rows are padded to four bytes. Some readers also accept files without any padding, or without padding after the last row, so
  // this check does too.
  const bare = Math.ceil((header.width * header.depth) / 8)
  const padding = -bare & 3
  const there = source.size - offset
  const unpadded = there >= bare * rows && there < bare * rows + 4
  const needed = unpadded ? bare * rows : (bare + padding) * rows - padding
  if (there < needed)
    return createInvalidVerdict(`the BMP is truncated: it has ${there} of ${needed} bytes of pixel data`, evidence)
  return createValidVerdict([], evidence)
}
