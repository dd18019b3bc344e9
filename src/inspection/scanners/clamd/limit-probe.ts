import { Readable } from 'node:stream'
import { constants, deflateRawSync } from 'node:zlib'
import type { Content } from '../../../platform/spool/content.js'
import { eicar } from '../eicar.js'
import { compress, createCentralDirectory, createLocalHeader, createZip, type ZipMember } from '../zip-writer.js'

interface ProbeMember extends ZipMember {
  content: Buffer[]
}

/**
 * Creates a small zip that unpacks to `total` bytes. Its last member unpacks to `largest` bytes and ends with a zip that contains
 * the EICAR string. A daemon finds the string only if it unpacks both levels completely, because both are compressed.
 */
export function createLimitProbe(largest: number, total: number): Content {
  const members: ProbeMember[] = []
  const compressZeros = createZeroCompressor()
  let offset = 0
  const addMember = (name: string, unpacked: number, first: Buffer, last: Buffer) => {
    const zeros = compressZeros(Math.max(0, unpacked - first.length - last.length))
    const content = [createStoredBlock(first), ...zeros, compress(last)]
    const packed = content.reduce((sum, { length }) => sum + length, 0)
    const member = { name, offset, packed, unpacked, content }
    members.push(member)
    offset += createLocalHeader(member).length + packed
  }
  // Start each filler with a unique number. Otherwise, clamd would recognize the content as already scanned and not count it
  // again.
  for (let rest = total - largest, index = 0; rest > 0; rest -= largest, index++) {
    const size = Math.min(rest, largest)
    addMember(`filler-${index}`, size, Buffer.from(`${index}/${size}/${largest}`), Buffer.from([10]))
  }
  addMember('last.zip', largest, Buffer.alloc(0), createInnerZip(largest))
  const directory = createCentralDirectory(members, offset)
  return {
    size: offset + directory.length,
    // The digest is empty, because hashing would cost more than the rest of the probe.
    sha256: '',
    stream: () => Readable.from(joinIntoChunks(generateZip(members, directory))),
  }
}

/**
 * Creates a zip that contains the EICAR string, to be placed at the end of a member of `size` bytes. A comment pads the zip to a
 * fixed length.
 */
function createInnerZip(size: number): Buffer {
  const length = 400
  const zip = createZip('eicar.com', eicar, size - length)
  const comment = length - zip.length
  zip.writeUInt16LE(comment, zip.length - 2)
  return Buffer.concat([zip, Buffer.alloc(comment, ' ')])
}

function* generateZip(members: ProbeMember[], directory: Buffer): Iterable<Buffer> {
  for (const member of members) {
    yield createLocalHeader(member)
    yield* member.content
  }
  yield directory
}

const chunkBytes = 32 * 1024

/** Joins small buffers, because the stream takes one cycle of the event loop per buffer. */
function* joinIntoChunks(buffers: Iterable<Buffer>): Iterable<Buffer> {
  let chunk: Buffer[] = []
  let size = 0
  for (const buffer of buffers) {
    chunk.push(buffer)
    size += buffer.length
    if (size < chunkBytes) continue
    yield Buffer.concat(chunk)
    chunk = []
    size = 0
  }
  yield Buffer.concat(chunk)
}

/** Creates a stored (uncompressed) deflate block that is not the last one. */
function createStoredBlock(bytes: Buffer): Buffer {
  const header = Buffer.alloc(5)
  header.writeUInt16LE(bytes.length, 1)
  header.writeUInt16LE(~bytes.length & 0xffff, 3)
  return Buffer.concat([header, bytes])
}

const blockBytes = 1024 * 1024

/**
 * Returns a function that compresses zeros to deflate blocks, which can be concatenated because they are byte-aligned and do not
 * refer to earlier blocks. Each length is compressed only once. Otherwise, 512 members would block the event loop for 2 s.
 */
function createZeroCompressor(): (length: number) => Buffer[] {
  const packed = new Map<number, Buffer>()
  const pack = (length: number) => {
    const block = packed.get(length) ?? deflateRawSync(Buffer.alloc(length), { finishFlush: constants.Z_FULL_FLUSH })
    packed.set(length, block)
    return block
  }
  return (length) => [
    ...Array.from({ length: Math.floor(length / blockBytes) }, () => pack(blockBytes)),
    pack(length % blockBytes),
  ]
}
