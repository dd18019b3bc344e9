import { crc32 } from 'node:zlib'

/** A zip member of a probe. It is compressed with deflate unless `stored` is set. */
export interface ZipMember {
  name: string
  offset: number
  packed: number
  unpacked: number
  stored?: Buffer
  crc?: number
}

/**
 * Returns the local header of a zip member. Libraries cannot write the probes, because the probes declare sizes without content
 * and repeat blocks.
 */
export function createLocalHeader(member: ZipMember): Buffer {
  const header = Buffer.alloc(30)
  header.writeUInt32LE(0x04034b50, 0)
  writeMemberFields(header, 4, member)
  return Buffer.concat([header, Buffer.from(member.name)])
}

/** Returns the central directory and its end record. `offset` is the directory's position in the file. */
export function createCentralDirectory(members: ZipMember[], offset: number): Buffer {
  const directory = Buffer.concat(members.map(createCentralDirectoryRecord))
  return Buffer.concat([directory, createEndRecord(members.length, directory.length, offset)])
}

export function createCentralDirectoryRecord(member: ZipMember): Buffer {
  const record = Buffer.alloc(46)
  record.writeUInt32LE(0x02014b50, 0)
  record.writeUInt16LE(20, 4)
  writeMemberFields(record, 6, member)
  record.writeUInt32LE(member.offset, 42)
  return Buffer.concat([record, Buffer.from(member.name)])
}

export function createEndRecord(members: number, length: number, offset: number): Buffer {
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(members, 8)
  end.writeUInt16LE(members, 10)
  end.writeUInt32LE(length, 12)
  end.writeUInt32LE(offset, 16)
  return end
}

function writeMemberFields(record: Buffer, offset: number, member: ZipMember): void {
  record.writeUInt16LE(20, offset)
  record.writeUInt16LE(member.stored ? 0 : 8, offset + 4)
  record.writeUInt32LE(member.stored ? crc32(member.stored) : (member.crc ?? 0), offset + 10)
  record.writeUInt32LE(member.packed, offset + 14)
  record.writeUInt32LE(member.unpacked, offset + 18)
  record.writeUInt16LE(Buffer.byteLength(member.name), offset + 22)
}
