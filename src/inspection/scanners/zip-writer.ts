import { constants, crc32, deflateRawSync } from 'node:zlib'

/** A member of a zip, compressed with deflate. */
export interface ZipMember {
  name: string
  offset: number
  packed: number
  unpacked: number
  crc?: number
}

/** Compresses with fixed Huffman codes. They are not byte-aligned, so the original bytes do not occur in the output. */
export const compress = (bytes: Buffer): Buffer => deflateRawSync(bytes, { strategy: constants.Z_FIXED })

/** Returns a zip with one member. `start` is the position of the zip in the file that contains it. */
export function createZip(name: string, content: Buffer, start = 0): Buffer {
  const data = compress(content)
  const member = { name, offset: start, packed: data.length, unpacked: content.length, crc: crc32(content) }
  const header = createLocalHeader(member)
  return Buffer.concat([header, data, createCentralDirectory([member], start + header.length + data.length)])
}

/** Returns the local header of a member. Libraries are not used, because they do not accept content that is already compressed. */
export function createLocalHeader(member: ZipMember): Buffer {
  const header = Buffer.alloc(30)
  header.writeUInt32LE(0x04034b50, 0)
  writeMemberFields(header, 4, member)
  return Buffer.concat([header, Buffer.from(member.name)])
}

/** Returns the central directory and its end record. `offset` is the directory's position in the file. */
export function createCentralDirectory(members: ZipMember[], offset: number): Buffer {
  const records = members.map((member) => {
    const record = Buffer.alloc(46)
    record.writeUInt32LE(0x02014b50, 0)
    record.writeUInt16LE(20, 4)
    writeMemberFields(record, 6, member)
    record.writeUInt32LE(member.offset, 42)
    return Buffer.concat([record, Buffer.from(member.name)])
  })
  const directory = Buffer.concat(records)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(members.length, 8)
  end.writeUInt16LE(members.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([directory, end])
}

function writeMemberFields(record: Buffer, offset: number, { name, packed, unpacked, crc = 0 }: ZipMember): void {
  record.writeUInt16LE(20, offset)
  record.writeUInt16LE(8, offset + 4)
  record.writeUInt32LE(crc, offset + 10)
  record.writeUInt32LE(packed, offset + 14)
  record.writeUInt32LE(unpacked, offset + 18)
  record.writeUInt16LE(Buffer.byteLength(name), offset + 22)
}
