import { crc32, inflateRawSync } from 'node:zlib'
import { createDamageError, quoteName } from '../../format-error.js'
import type { PartSink } from '../../member-observer.js'
import { MemorySource, type RandomAccessSource } from '../../random-access-source.js'
import { detectArchiveKind } from '../archive-kind.js'
import type { ArchiveLevel } from '../archive-level.js'
import { IteratorStream, SourceStream } from '../byte-stream.js'
import { getInflateErrorMessage, getOutputBufferSize, inflateChunks, singleCallLimits } from '../inflate.js'
import { tarBlock } from '../tar/header.js'
import type { ZipEntry } from './directory.js'
import type { ZipMember } from './member-locations.js'

export const combineSinks = (first: PartSink | undefined, second: PartSink | undefined): PartSink | undefined =>
  first && second
    ? {
        write: (chunk) => {
          first.write(chunk)
          second.write(chunk)
        },
        end: () => {
          first.end()
          second.end()
        },
      }
    : (first ?? second)

/** Unpacks a member and verifies its size and checksum. Checks nested archives unless a `sink` receives the content. */
export async function verifyMember(
  source: RandomAccessSource,
  member: ZipMember,
  level: ArchiveLevel,
  sink?: PartSink,
): Promise<void> {
  const { entry, dataStart } = member
  const { method, compressedSize, uncompressedSize, name } = entry
  if (method === 0 && compressedSize !== uncompressedSize)
    throw createDamageError(
      `the member ${quoteName(name)} is stored uncompressed, but its compressed and uncompressed sizes differ`,
    )
  const small = compressedSize <= singleCallLimits.input && uncompressedSize <= singleCallLimits.output
  if (!small && method !== 0) return verifyDeflatedMember(source, member, level, sink)
  const end = dataStart + compressedSize
  const sum = new MemberChecksum(entry, level)
  // Inflates small members synchronously, because a stream for each of them would take longer.
  const held = small ? readMemberContent(source, member, singleCallLimits.output) : undefined
  for (const chunk of held ? [held] : source.chunks(dataStart, end)) {
    sum.addChunk(chunk)
    sink?.write(chunk)
  }
  sum.verifyTotals()
  sink?.end()
  const { localHeaderOffset } = entry
  if (!sink)
    await level.checkNestedArchive(
      held ? new SourceStream(new MemorySource(held)) : new SourceStream(source, dataStart, end),
      name,
      localHeaderOffset,
    )
  if (held && method !== 0) await level.observer?.visitMember(localHeaderOffset, new MemorySource(held))
}

async function verifyDeflatedMember(
  source: RandomAccessSource,
  member: ZipMember,
  level: ArchiveLevel,
  sink?: PartSink,
): Promise<void> {
  const content = new DeflatedContent(source, member, level)
  const { name, localHeaderOffset } = member.entry
  const stream = new IteratorStream(content.readChunks())
  const chunks = copyToSink(sink, stream.readChunks(Number.POSITIVE_INFINITY))
  let passing: IteratorStream | undefined
  try {
    const kind = sink ? undefined : detectArchiveKind(await stream.peek(tarBlock))
    // The readers of nested zip and 7z archives pass the unpacked members to the observer themselves.
    const isObservedInside = kind === 'zip' || kind === '7z'
    passing = new IteratorStream((!isObservedInside && level.observer?.visitStream('zip', localHeaderOffset, chunks)) || chunks)
    if (!sink) await level.checkNestedArchive(passing, name, localHeaderOffset)
    await passing.skip(Number.POSITIVE_INFINITY)
  } finally {
    await passing?.close()
    await stream.close()
  }
  // So far, damage to this member may have been recorded only as a note about the nested archive, so the error is thrown here.
  if (content.error) throw content.error
  sink?.end()
}

async function* copyToSink(sink: PartSink | undefined, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    sink?.write(chunk)
    yield chunk
  }
}

function readMemberContent(source: RandomAccessSource, { entry, dataStart }: ZipMember, maxBytes: number): Buffer {
  const packed = source.read(dataStart, entry.compressedSize)
  if (entry.method === 0) return packed
  try {
    return inflateRawSync(packed, { maxOutputLength: maxBytes + 1, chunkSize: getOutputBufferSize(entry.uncompressedSize) })
  } catch (error) {
    throw toUnpackingError(error, entry)
  }
}

function toUnpackingError(error: unknown, entry: ZipEntry): unknown {
  const problem = getInflateErrorMessage(error)
  return problem ? createDamageError(`the member ${quoteName(entry.name)} cannot be unpacked: ${problem}`) : error
}

/** Returns the content of a small stored or deflated member, and undefined for any other member. */
export function readSmallMember(source: RandomAccessSource, member: ZipMember, limit: number): Buffer | undefined {
  const { encrypted, uncompressedSize, compressedSize, method } = member.entry
  if (encrypted || uncompressedSize > limit || compressedSize > limit + 1024) return undefined
  return method === 0 || method === 8 ? readMemberContent(source, member, uncompressedSize) : undefined
}

class MemberChecksum {
  private size = 0
  private sum = 0

  constructor(
    private readonly entry: ZipEntry,
    private readonly level: ArchiveLevel,
  ) {}

  addChunk(chunk: Buffer): void {
    this.size += chunk.length
    this.level.budget.addUnpackedBytes(chunk.length)
    if (this.size > this.entry.uncompressedSize)
      throw createDamageError(`the member ${quoteName(this.entry.name)} expands to more bytes than its header declares`)
    this.sum = crc32(chunk, this.sum)
  }

  verifyTotals(): void {
    if (this.size !== this.entry.uncompressedSize) {
      throw createDamageError(
        `the member ${quoteName(this.entry.name)} expands to ${this.size} bytes instead of ${this.entry.uncompressedSize}`,
      )
    }
    if (this.sum !== this.entry.crc32)
      throw createDamageError(`the member ${quoteName(this.entry.name)} has an incorrect checksum`)
  }
}

class DeflatedContent {
  error?: unknown

  constructor(
    private readonly source: RandomAccessSource,
    private readonly member: ZipMember,
    private readonly level: ArchiveLevel,
  ) {}

  async *readChunks(): AsyncGenerator<Buffer> {
    const { entry } = this.member
    const sum = new MemberChecksum(entry, this.level)
    try {
      for await (const chunk of this.inflate()) {
        sum.addChunk(chunk)
        yield chunk
      }
      sum.verifyTotals()
    } catch (error) {
      this.error = toUnpackingError(error, entry)
      throw this.error
    }
  }

  private inflate(): AsyncIterable<Buffer> {
    const { entry, dataStart } = this.member
    return inflateChunks('raw', this.source.chunks(dataStart, dataStart + entry.compressedSize))
  }
}
