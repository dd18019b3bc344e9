import { Readable } from 'node:stream'
import { constants, deflateRawSync } from 'node:zlib'
import type { Content } from '../content.js'
import { eicar } from './eicar.js'
import { directoryOf, localHeader, type ZipMember } from './zip-writer.js'

const block = 256 * 1024
// Flushed to a whole byte and without a look back, so that the same packed block of zeros can follow itself.
const pack = (bytes: Buffer, last = false) =>
  deflateRawSync(bytes, { finishFlush: last ? constants.Z_FINISH : constants.Z_FULL_FLUSH })
let packedZeros: Buffer | undefined

/**
 * A zip of about a thousandth of `total` bytes which a scanner must unpack to `total`, its last member to `largest`, before it comes to the
 * EICAR string: the last member is a zip itself, whose own last member is the string. Whoever cuts the member off never gets there.
 */
export function reachProbe(largest: number, total: number): Content {
  const fillers: number[] = []
  for (let rest = total - largest; rest > 0; rest -= largest) fillers.push(Math.min(rest, largest))
  const pieces: Buffer[] = []
  const members: ZipMember[] = []
  let offset = 0
  const add = (name: string, unpacked: number, packed: Buffer[]) => {
    const member = { name, offset, packed: packed.reduce((sum, each) => sum + each.length, 0), unpacked }
    const header = localHeader(member)
    members.push(member)
    pieces.push(header, ...packed)
    offset += header.length + member.packed
  }
  // Each filler begins with its own number: clamd remembers what it found clean, and would not count it again.
  for (const [index, size] of fillers.entries()) {
    add(`filler-${index}`, size, packZeros(Buffer.from(`${index}/${size}/${largest}`), size, Buffer.from([10])))
  }
  add('last.zip', largest, packZeros(Buffer.alloc(0), largest, innerZip(largest)))
  pieces.push(directoryOf(members, offset))
  return contentOf(pieces)
}

/** A zip with one stored member, the string, which ends at `size`; what comes before it is a gap of zeros. */
function innerZip(size: number): Buffer {
  const length = 400
  const member = { name: 'eicar.com', offset: size - length, packed: eicar.length, unpacked: eicar.length, stored: eicar }
  const header = localHeader(member)
  const directory = directoryOf([member], size - length + header.length + eicar.length)
  const zip = Buffer.concat([header, eicar, directory])
  // The zip's comment takes what is left, so that the end is where it was promised.
  const comment = length - zip.length
  zip.writeUInt16LE(comment, zip.length - 2)
  return Buffer.concat([zip, Buffer.alloc(comment, ' ')])
}

function packZeros(first: Buffer, size: number, last: Buffer): Buffer[] {
  packedZeros ??= pack(Buffer.alloc(block))
  const zeros = Math.max(0, size - first.length - last.length)
  return [
    pack(first),
    ...new Array<Buffer>(Math.floor(zeros / block)).fill(packedZeros),
    pack(Buffer.alloc(zeros % block)),
    pack(last, true),
  ]
}

function contentOf(pieces: Buffer[]): Content {
  return {
    size: pieces.reduce((sum, each) => sum + each.length, 0),
    // Nobody asks for it: it would cost more than all the rest.
    sha256: '',
    stream: () => Readable.from(pieces),
  }
}
