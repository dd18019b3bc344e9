import { crc32, inflateRawSync } from 'node:zlib'
import { createDamageError, type FormatError } from '../format-error.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { getInflateErrorMessage, inflateChunks } from './inflate.js'

const maxSmallMemberBytes = 64 * 1024

export interface GzipHandlers {
  onMember(): void
  onUnpacked(bytes: number): void
  /** Receives errors outside the compressed data, such as a wrong checksum. Unpacking continues unless this method throws. */
  onError(error: FormatError): void
}

/** Unpacks a gzip file and verifies checksums and lengths. Throws a `FormatError` if the data cannot be inflated. */
export async function* gunzip(source: RandomAccessSource, handlers: GzipHandlers): AsyncGenerator<Buffer> {
  for (let at = 0; at < source.size || at === 0; ) {
    if (at > 0 && !isMemberStart(source, at)) return checkTrailingBytes(source, at, handlers)
    handlers.onMember()
    at = yield* unpackMember(source, at, handlers)
  }
}

const isMemberStart = (source: RandomAccessSource, offset: number) => source.read(offset, 2).equals(Buffer.from([0x1f, 0x8b]))

/**
 * Accepts trailing zeros, which tape drives write as padding. Reports any other trailing bytes as damage, as gzip and 7-Zip do.
 */
function checkTrailingBytes(source: RandomAccessSource, offset: number, handlers: GzipHandlers): void {
  for (const chunk of source.chunks(offset)) {
    handlers.onUnpacked(0)
    if (chunk.every((byte) => byte === 0)) continue
    handlers.onError(createDamageError(`the ${source.size - offset} bytes after the gzip data are neither gzip data nor padding`))
    return
  }
}

async function* unpackMember(source: RandomAccessSource, start: number, handlers: GzipHandlers): AsyncGenerator<Buffer, number> {
  const dataStart = findHeaderEnd(source, start, handlers)
  const small = inflateSmallMember(source, dataStart)
  if (small) {
    handlers.onUnpacked(small.bytes.length)
    if (small.bytes.length > 0) yield small.bytes
    return verifyTrailerAndGetEnd(
      source,
      dataStart + small.consumed,
      { checksum: crc32(small.bytes), size: small.bytes.length },
      handlers,
    )
  }
  let sum = 0
  let size = 0
  let consumed = 0
  try {
    for await (const chunk of inflateChunks('raw', source.chunks(dataStart), (bytes) => (consumed = bytes))) {
      sum = crc32(chunk, sum)
      size += chunk.length
      handlers.onUnpacked(chunk.length)
      yield chunk
    }
  } catch (error) {
    const problem = getInflateErrorMessage(error)
    throw problem ? createDamageError(`the gzip data cannot be unpacked: ${problem}`) : error
  }
  return verifyTrailerAndGetEnd(source, dataStart + consumed, { checksum: sum, size }, handlers)
}

/**
 * Inflates a small member synchronously, because a file can have 100,000 members, and creating an inflater for each would be too
 * slow.
 */
function inflateSmallMember(source: RandomAccessSource, dataStart: number): { bytes: Buffer; consumed: number } | undefined {
  try {
    const packed = source.read(dataStart, maxSmallMemberBytes)
    const done = inflateRawSync(packed, { info: true, maxOutputLength: maxSmallMemberBytes * 4 }) as unknown as {
      buffer: Buffer
      engine: { bytesWritten: number }
    }
    return { bytes: done.buffer, consumed: done.engine.bytesWritten }
  } catch {
    return undefined
  }
}

function verifyTrailerAndGetEnd(
  source: RandomAccessSource,
  offset: number,
  { checksum, size }: { checksum: number; size: number },
  { onError }: GzipHandlers,
): number {
  const trailer = source.read(offset, 8)
  if (trailer.length < 8) onError(createDamageError('the gzip file is truncated before its checksum'))
  else if (trailer.readUInt32LE(0) !== checksum) onError(createDamageError('the checksum of the gzip data is incorrect'))
  else if (trailer.readUInt32LE(4) !== size % 0x1_0000_0000)
    onError(createDamageError('the gzip data does not have the declared length'))
  return offset + 8
}

function findHeaderEnd(source: RandomAccessSource, start: number, handlers: GzipHandlers): number {
  const fixed = source.read(start, 12)
  if (fixed.length < 10 || fixed[0] !== 0x1f || fixed[1] !== 0x8b)
    throw createDamageError('the file does not start with a gzip header')
  const flags = fixed[3]!
  if (fixed[2] !== 8) throw createDamageError(`the gzip file uses the unknown compression method ${fixed[2]}`)
  if (flags & 0xe0) handlers.onError(createDamageError('the gzip header uses reserved flags'))
  let at = start + 10
  if (flags & 4) {
    if (fixed.length < 12) throw createDamageError('the gzip header is truncated')
    at += 2 + fixed.readUInt16LE(10)
  }
  if (flags & 8) at = findStringEnd(source, at)
  if (flags & 16) at = findStringEnd(source, at)
  if (flags & 2) at = verifyHeaderChecksumAndGetEnd(source, start, at, handlers)
  return at
}

function findStringEnd(source: RandomAccessSource, start: number): number {
  let at = start
  for (const chunk of source.chunks(start, undefined, 4096)) {
    const zero = chunk.indexOf(0)
    if (zero >= 0) return at + zero + 1
    at += chunk.length
  }
  throw createDamageError('the gzip header is truncated')
}

function verifyHeaderChecksumAndGetEnd(
  source: RandomAccessSource,
  start: number,
  offset: number,
  handlers: GzipHandlers,
): number {
  let sum = 0
  for (const chunk of source.chunks(start, offset)) sum = crc32(chunk, sum)
  const written = source.read(offset, 2)
  if (written.length < 2 || written.readUInt16LE(0) !== (sum & 0xffff))
    handlers.onError(createDamageError('the checksum of the gzip header is incorrect'))
  return offset + 2
}
