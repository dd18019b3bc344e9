import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { constants, crc32, deflateRaw, deflateRawSync } from 'node:zlib'
import type { Content } from '../../../platform/spool/content.js'
import { eicar } from '../eicar.js'
import {
  createCentralDirectory,
  createCentralDirectoryRecord,
  createEndRecord,
  createLocalHeader,
  type ZipMember,
} from '../zip-writer.js'

/**
 * Creates a zip that unpacks to `total` bytes and is about a thousand times smaller. Its last member unpacks to `largest` bytes
 * and ends with a nested zip that contains the EICAR string. Both levels are compressed, so that no signature matches until both
 * are unpacked. A daemon that truncates the member does not find the string. The probe is generated while it is read.
 */
export async function createLimitProbe(largest: number, total: number): Promise<Content> {
  const zeros = await packZeros()
  const createPlan = () => planMembers(zeros, largest, total)
  let size = createEndRecord(0, 0, 0).length
  // Each member has a local header of 30 bytes and a central directory record of 46 bytes, each followed by its name.
  for (const { member } of createPlan()) size += 30 + member.packed + 46 + 2 * member.name.length
  return {
    size,
    // The digest is empty, because hashing would cost more than the rest of the probe.
    sha256: '',
    stream: () => Readable.from(joinIntoChunks(writeZip(createPlan))),
  }
}

interface PlannedMember {
  member: ZipMember
  generateBytes(): Iterable<Buffer>
}

function* planMembers(zeros: Zeros, largest: number, total: number): Iterable<PlannedMember> {
  let offset = 0
  const planMember = (name: string, unpacked: number, first: Buffer, last: Buffer): PlannedMember => {
    const gap = Math.max(0, unpacked - first.length - last.length)
    const end = compress(last)
    const packed = 5 + first.length + zeros.getPackedLength(gap) + end.length
    const member = { name, offset, packed, unpacked }
    offset += 30 + name.length + packed
    return {
      member,
      *generateBytes() {
        yield createStoredBlock(first)
        yield* zeros.generateBlocks(gap)
        yield end
      },
    }
  }
  // Each filler starts with a unique number. Otherwise, clamd's cache of clean content would not count the filler again.
  for (let rest = total - largest, index = 0; rest > 0; rest -= largest, index++) {
    const size = Math.min(rest, largest)
    yield planMember(`filler-${index}`, size, Buffer.from(`${index}/${size}/${largest}`), Buffer.from([10]))
  }
  yield planMember('last.zip', largest, Buffer.alloc(0), createInnerZip(largest))
}

function createInnerZip(size: number): Buffer {
  const length = 400
  const data = compress(eicar)
  const facts = { packed: data.length, unpacked: eicar.length, crc: crc32(eicar) }
  const member = { name: 'eicar.com', offset: size - length, ...facts }
  const header = createLocalHeader(member)
  const directory = createCentralDirectory([member], size - length + header.length + data.length)
  const zip = Buffer.concat([header, data, directory])
  // A comment pads the zip to the declared length.
  const comment = length - zip.length
  zip.writeUInt16LE(comment, zip.length - 2)
  return Buffer.concat([zip, Buffer.alloc(comment, ' ')])
}

function* writeZip(createPlan: () => Iterable<PlannedMember>): Iterable<Buffer> {
  let offset = 0
  let members = 0
  for (const { member, generateBytes } of createPlan()) {
    yield createLocalHeader(member)
    yield* generateBytes()
    offset += 30 + member.name.length + member.packed
    members++
  }
  let directory = 0
  for (const { member } of createPlan()) {
    const record = createCentralDirectoryRecord(member)
    yield record
    directory += record.length
  }
  yield createEndRecord(members, directory, offset)
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

/** Compresses with fixed Huffman codes. They are not byte-aligned, so the original bytes do not occur in the output. */
const compress = (bytes: Buffer): Buffer => deflateRawSync(bytes, { strategy: constants.Z_FIXED })

/** Creates a deflate block of uncompressed bytes that is not the last block. */
function createStoredBlock(bytes: Buffer): Buffer {
  const header = Buffer.alloc(5)
  header.writeUInt16LE(bytes.length, 1)
  header.writeUInt16LE(~bytes.length & 0xffff, 3)
  return Buffer.concat([header, bytes])
}

class Zeros {
  readonly #packed: Buffer[]

  constructor(packed: Buffer[]) {
    this.#packed = packed
  }

  getPackedLength(zeros: number): number {
    let length = 0
    let rest = zeros
    for (let power = this.#packed.length - 1; power >= 0; power--) {
      length += Math.floor(rest / 2 ** power) * (this.#packed[power] as Buffer).length
      rest %= 2 ** power
    }
    return length
  }

  *generateBlocks(zeros: number): Iterable<Buffer> {
    let rest = zeros
    for (let power = this.#packed.length - 1; power >= 0; power--)
      for (; rest >= 2 ** power; rest -= 2 ** power) yield this.#packed[power] as Buffer
  }
}

const packedPower = 18
const runPower = 24
const pack = promisify(
  deflateRaw as (bytes: Buffer, options: object, done: (error: Error | null, packed: Buffer) => void) => void,
)
let packing: Promise<Zeros> | undefined

/**
 * Compresses zeros for each power of two up to 256 KiB. The blocks are byte-aligned and do not refer to earlier bytes, so they
 * can be concatenated to runs of up to 16 MiB.
 */
function packZeros(): Promise<Zeros> {
  packing ??= Promise.all(
    Array.from({ length: packedPower + 1 }, (_, power) =>
      pack(Buffer.alloc(2 ** power), { finishFlush: constants.Z_FULL_FLUSH }),
    ),
  ).then((packed) => {
    for (let power = packedPower; power < runPower; power++) packed.push(Buffer.concat([packed[power]!, packed[power]!]))
    return new Zeros(packed)
  })
  return packing
}
