import { crc32, inflateRawSync } from 'node:zlib'
import { MemorySource, type RandomAccessSource } from '../../random-access-source.js'
import { damaged, named } from '../../refusal.js'
import { atOnce, inflated, inflateFault } from '../inflate.js'
import type { ArchiveNest } from '../nest.js'
import { PulledStream, SourceStream } from '../stream.js'
import type { ZipEntry } from './directory.js'
import type { ZipMember } from './local.js'

export interface PartSink {
  write(chunk: Buffer): void
  end(): void
}

/** Unpacks a stored or deflated member and compares size and checksum; `sink` gets its content, else it is looked into. */
export async function verifyMember(
  source: RandomAccessSource,
  member: ZipMember,
  nest: ArchiveNest,
  sink?: PartSink,
): Promise<void> {
  const { method, compressedSize, uncompressedSize } = member.entry
  if (method === 0) return verifyStored(source, member, nest, sink)
  if (compressedSize <= atOnce.input && uncompressedSize <= atOnce.output) return verifySmall(source, member, nest, sink)
  const content = new DeflatedContent(source, member, nest)
  const stream = new PulledStream(content.chunks())
  try {
    if (sink) for await (const chunk of stream.take(Number.POSITIVE_INFINITY)) sink.write(chunk)
    else await nest.look(stream, member.entry.name)
    await stream.skip(Number.POSITIVE_INFINITY)
  } finally {
    await stream.close()
  }
  // A reader of the archive inside may have taken this member's damage for its own.
  if (content.fault) throw content.fault
  sink?.end()
}

/** Most members are small, and a stream for each would cost more than the inflating. */
async function verifySmall(
  source: RandomAccessSource,
  { entry, dataStart }: ZipMember,
  nest: ArchiveNest,
  sink?: PartSink,
): Promise<void> {
  const bytes = inflateSmall(source.read(dataStart, entry.compressedSize), entry)
  const sum = new MemberSum(entry, nest)
  sum.add(bytes)
  sum.compare()
  sink?.write(bytes)
  sink?.end()
  if (!sink) await nest.look(new SourceStream(new MemorySource(bytes)), entry.name)
}

function inflateSmall(packed: Buffer, entry: ZipEntry): Buffer {
  try {
    return inflateRawSync(packed, { maxOutputLength: atOnce.output + 1, chunkSize: roomFor(entry.uncompressedSize) })
  } catch (error) {
    throw unpackingFault(error, entry)
  }
}

/** One buffer for all of it and a byte more: zlib's own chunks of 16 KiB would be put together again. */
export const roomFor = (bytes: number): number => Math.min(Math.max(bytes + 1, 64), atOnce.output + 1)

function unpackingFault(error: unknown, entry: ZipEntry): unknown {
  const fault = inflateFault(error)
  return fault ? damaged(`the member ${named(entry.name)} does not unpack: ${fault}`) : error
}

async function verifyStored(
  source: RandomAccessSource,
  { entry, dataStart }: ZipMember,
  nest: ArchiveNest,
  sink?: PartSink,
): Promise<void> {
  if (entry.compressedSize !== entry.uncompressedSize) throw damaged(`the stored member ${named(entry.name)} has two sizes`)
  const end = dataStart + entry.compressedSize
  const sum = new MemberSum(entry, nest)
  // A small member is one read: chunks bring a buffer of their own, which sixty thousand tiny members would feel.
  const chunks =
    entry.compressedSize <= atOnce.input ? [source.read(dataStart, entry.compressedSize)] : source.chunks(dataStart, end)
  for (const chunk of chunks) {
    sum.add(chunk)
    sink?.write(chunk)
  }
  sum.compare()
  sink?.end()
  if (!sink) await nest.look(new SourceStream(source, dataStart, end), entry.name)
}

/** The small content of a member (a link's target, a `mimetype`); undefined where it is larger or does not unpack. */
export function readSmallMember(source: RandomAccessSource, { entry, dataStart }: ZipMember, limit: number): Buffer | undefined {
  if (entry.encrypted || entry.uncompressedSize > limit || entry.compressedSize > limit + 1024) return undefined
  const raw = source.read(dataStart, entry.compressedSize)
  if (entry.method === 0) return raw
  if (entry.method !== 8) return undefined
  try {
    return inflateRawSync(raw, { maxOutputLength: Math.max(1, entry.uncompressedSize) })
  } catch {
    return undefined
  }
}

class MemberSum {
  private size = 0
  private sum = 0

  constructor(
    private readonly entry: ZipEntry,
    private readonly nest: ArchiveNest,
  ) {}

  add(chunk: Buffer): void {
    this.size += chunk.length
    this.nest.budget.addUnpacked(chunk.length)
    if (this.size > this.entry.uncompressedSize)
      throw damaged(`the member ${named(this.entry.name)} unpacks to more than its header says`)
    this.sum = crc32(chunk, this.sum)
  }

  compare(): void {
    if (this.size !== this.entry.uncompressedSize) {
      throw damaged(`the member ${named(this.entry.name)} unpacks to ${this.size} bytes, not ${this.entry.uncompressedSize}`)
    }
    if (this.sum !== this.entry.crc32) throw damaged(`the member ${named(this.entry.name)} has a wrong checksum`)
  }
}

class DeflatedContent {
  fault?: unknown

  constructor(
    private readonly source: RandomAccessSource,
    private readonly member: ZipMember,
    private readonly nest: ArchiveNest,
  ) {}

  async *chunks(): AsyncGenerator<Buffer> {
    const { entry } = this.member
    const sum = new MemberSum(entry, this.nest)
    try {
      for await (const chunk of this.raw()) {
        sum.add(chunk)
        yield chunk
      }
      sum.compare()
    } catch (error) {
      this.fault = unpackingFault(error, entry)
      throw this.fault
    }
  }

  private raw(): AsyncIterable<Buffer> {
    const { entry, dataStart } = this.member
    return inflated('raw', this.source.chunks(dataStart, dataStart + entry.compressedSize))
  }
}
