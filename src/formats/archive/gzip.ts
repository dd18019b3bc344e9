import { crc32, inflateRawSync } from 'node:zlib'
import { checkDeadline, type Source } from '../format.js'
import { inflated, inflateFault } from './inflate.js'
import type { ArchiveNest } from './nest.js'
import { damaged } from './refusal.js'

const smallMember = 64 * 1024

/** What a gzip file that is sound was found to hold. */
export interface GzipFacts {
  members: number
  unpackedBytes: number
}

/** The content of a gzip file, every member's checksum and length compared on the way. Throws a `Refusal`. */
export async function* gunzipped(source: Source, nest: ArchiveNest, facts: GzipFacts): AsyncGenerator<Buffer> {
  for (let at = 0; at < source.size || at === 0; ) {
    if (facts.members > 0 && !startsMember(source, at)) {
      checkRest(source, at, nest)
      return
    }
    nest.budget.addEntries(1)
    at = yield* member(source, at, nest, facts)
    facts.members++
  }
}

const startsMember = (source: Source, at: number) => source.read(at, 2).equals(Buffer.from([0x1f, 0x8b]))

/** Tapes and some writers pad with zeros; gzip and 7-Zip complain of anything else, a damaged second member for one. */
function checkRest(source: Source, at: number, nest: ArchiveNest): void {
  for (const chunk of source.chunks(at)) {
    checkDeadline(nest.limits)
    if (chunk.some((byte) => byte !== 0))
      throw damaged(`the ${source.size - at} bytes after the gzip data are neither gzip nor padding`)
  }
}

async function* member(source: Source, start: number, nest: ArchiveNest, facts: GzipFacts): AsyncGenerator<Buffer, number> {
  const dataStart = headerEnd(source, start)
  const small = inflateSmall(source, dataStart)
  if (small) {
    facts.unpackedBytes += small.bytes.length
    nest.budget.addUnpacked(small.bytes.length)
    if (small.bytes.length > 0) yield small.bytes
    return checkTrailer(source, dataStart + small.consumed, crc32(small.bytes), small.bytes.length)
  }
  let sum = 0
  let size = 0
  let consumed = 0
  try {
    for await (const chunk of inflated('raw', source.chunks(dataStart), (bytes) => (consumed = bytes))) {
      sum = crc32(chunk, sum)
      size += chunk.length
      facts.unpackedBytes += chunk.length
      nest.budget.addUnpacked(chunk.length)
      yield chunk
    }
  } catch (error) {
    const fault = inflateFault(error)
    throw fault ? damaged(`the gzip data does not unpack: ${fault}`) : error
  }
  return checkTrailer(source, dataStart + consumed, sum, size)
}

/** A member that is small, at one go: files of a hundred thousand members exist, and an inflater for each takes too long. */
function inflateSmall(source: Source, dataStart: number): { bytes: Buffer; consumed: number } | undefined {
  try {
    const packed = source.read(dataStart, smallMember)
    const done = inflateRawSync(packed, { info: true, maxOutputLength: smallMember * 4 }) as unknown as {
      buffer: Buffer
      engine: { bytesWritten: number }
    }
    return { bytes: done.buffer, consumed: done.engine.bytesWritten }
  } catch {
    // Larger, or damaged: the inflater that streams tells.
    return undefined
  }
}

/** Checksum and length; gives back where the member ends. */
function checkTrailer(source: Source, at: number, sum: number, size: number): number {
  const trailer = source.read(at, 8)
  if (trailer.length < 8) throw damaged('the gzip file is cut off before its checksum')
  if (trailer.readUInt32LE(0) !== sum) throw damaged('the gzip data has a wrong checksum')
  if (trailer.readUInt32LE(4) !== size % 0x1_0000_0000) throw damaged('the gzip data has another length than announced')
  return at + 8
}

/** Where the deflate data starts (RFC 1952, 2.3). */
function headerEnd(source: Source, start: number): number {
  const fixed = source.read(start, 12)
  if (fixed.length < 10 || fixed[0] !== 0x1f || fixed[1] !== 0x8b) throw damaged('the file does not start as gzip does')
  const flags = fixed[3]!
  if (fixed[2] !== 8) throw damaged(`the gzip file is compressed by method ${fixed[2]}, which is unknown`)
  if (flags & 0xe0) throw damaged('the gzip header has flags that are reserved')
  let at = start + 10
  if (flags & 4) {
    if (fixed.length < 12) throw damaged('the gzip header is cut off')
    at += 2 + fixed.readUInt16LE(10)
  }
  if (flags & 8) at = afterText(source, at)
  if (flags & 16) at = afterText(source, at)
  if (flags & 2) at = afterChecksum(source, start, at)
  return at
}

function afterText(source: Source, start: number): number {
  let at = start
  for (const chunk of source.chunks(start, undefined, 4096)) {
    const zero = chunk.indexOf(0)
    if (zero >= 0) return at + zero + 1
    at += chunk.length
  }
  throw damaged('the gzip header is cut off')
}

function afterChecksum(source: Source, start: number, at: number): number {
  let sum = 0
  for (const chunk of source.chunks(start, at)) sum = crc32(chunk, sum)
  const written = source.read(at, 2)
  if (written.length < 2 || written.readUInt16LE(0) !== (sum & 0xffff)) throw damaged('the gzip header has a wrong checksum')
  return at + 2
}
