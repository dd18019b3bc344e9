import { crc32, deflateRawSync } from 'node:zlib'
import tar from 'tar-stream'
import type { ReaderLimits } from '../../../src/format.js'
import type { RandomAccessSource } from '../../../src/random-access-source.js'
import { openSevenZip } from './seven-zip.js'

/** Limits similar to the service's, but low enough for small samples. */
export const limits = (changes: Partial<ReaderLimits> = {}): ReaderLimits => ({
  maxUnpackedBytes: 256 * 1024 * 1024,
  maxRatio: 200,
  maxEntries: 1000,
  maxNesting: 3,
  maxPictureBits: 2 ** 31,
  maxDepth: 100,
  deadline: Date.now() + 90_000,
  ...changes,
})

/** Returns a source in memory whose `chunks` reuse one buffer, like a file on disk. */
export function toSource(bytes: Buffer, extension = ''): RandomAccessSource {
  const read = (offset: number, length: number) => bytes.subarray(Math.max(0, offset), Math.max(0, offset + length))
  return {
    size: bytes.length,
    extension,
    read,
    readInto: (_, offset, length) => read(offset, length),
    readAll: () => bytes,
    *chunks(start = 0, end = bytes.length, chunkSize = 64 * 1024) {
      const chunk = Buffer.alloc(chunkSize)
      for (let at = start; at < Math.min(end, bytes.length); at += chunkSize) {
        yield chunk.subarray(0, bytes.copy(chunk, 0, at, Math.min(at + chunkSize, end)))
      }
    },
  }
}

export interface SampleMember {
  name: string
  data?: Buffer | string
  stored?: boolean
  /** Writes the sizes and the checksum in a data descriptor after the data. */
  descriptor?: boolean
  encrypted?: boolean
  symlink?: boolean
  /** Name in the local header, if it differs from the name in the directory. */
  localName?: string
  /** Values that replace the correct ones in the headers. */
  method?: number
  crc?: number
  size?: number
}

interface ZipOptions {
  prefix?: Buffer
  comment?: string
  /** Number of directory entries per member, all with the same offset. */
  listed?: number
  /** Number of entries that the end record declares instead of the actual number. */
  count?: number
  zip64?: boolean
}

/** Writes a zip byte by byte, so that any field can have a wrong value. */
export function zip(
  members: SampleMember[],
  { prefix = Buffer.alloc(0), comment = '', listed = 1, count, zip64 = false }: ZipOptions = {},
): Buffer {
  const parts: Buffer[] = [prefix]
  const directory: Buffer[] = []
  let at = 0
  for (const member of members) {
    const { local, central } = zipMember(member, at)
    parts.push(...local)
    for (let time = 0; time < listed; time++) directory.push(central)
    at += local.reduce((sum, part) => sum + part.length, 0)
  }
  const entries = Buffer.concat(directory)
  const announced = count ?? directory.length
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(zip64 ? 0xffff : announced, 8)
  end.writeUInt16LE(zip64 ? 0xffff : announced, 10)
  end.writeUInt32LE(zip64 ? 0xffffffff : entries.length, 12)
  end.writeUInt32LE(zip64 ? 0xffffffff : at, 16)
  end.writeUInt16LE(comment.length, 20)
  return Buffer.concat([
    ...parts,
    entries,
    ...(zip64 ? zip64End(announced, entries.length, at) : []),
    end,
    Buffer.from(comment, 'latin1'),
  ])
}

function zip64End(count: number, size: number, offset: number): Buffer[] {
  const record = Buffer.alloc(56)
  record.write('PK\x06\x06', 'latin1')
  record.writeBigUInt64LE(44n, 4)
  record.writeBigUInt64LE(BigInt(count), 24)
  record.writeBigUInt64LE(BigInt(count), 32)
  record.writeBigUInt64LE(BigInt(size), 40)
  record.writeBigUInt64LE(BigInt(offset), 48)
  const locator = Buffer.alloc(20)
  locator.write('PK\x06\x07', 'latin1')
  locator.writeBigUInt64LE(BigInt(offset + size), 8)
  locator.writeUInt32LE(1, 16)
  return [record, locator]
}

function zipMember(member: SampleMember, at: number): { local: Buffer[]; central: Buffer } {
  const data = Buffer.from(member.data ?? '')
  const packed = member.stored || data.length === 0 ? data : deflateRawSync(data)
  const fields = {
    flags: (member.encrypted ? 1 : 0) | (member.descriptor ? 8 : 0),
    method: member.method ?? (packed === data ? 0 : 8),
    crc: member.crc ?? crc32(data),
    packed: packed.length,
    size: member.size ?? data.length,
  }
  const name = Buffer.from(member.name)
  const localName = Buffer.from(member.localName ?? member.name)
  const head = (described: boolean, length: number) => {
    const bytes = Buffer.alloc(26)
    bytes.writeUInt16LE(20, 0)
    bytes.writeUInt16LE(fields.flags, 2)
    bytes.writeUInt16LE(fields.method, 4)
    if (described) {
      bytes.writeUInt32LE(fields.crc, 10)
      bytes.writeUInt32LE(fields.packed, 14)
      bytes.writeUInt32LE(fields.size, 18)
    }
    bytes.writeUInt16LE(length, 22)
    return bytes
  }
  const tail = Buffer.alloc(14)
  tail.writeUInt32LE(((member.symlink ? 0o120777 : 0o100644) << 16) >>> 0, 6)
  tail.writeUInt32LE(at, 10)
  const descriptor = Buffer.alloc(16)
  descriptor.write('PK\x07\x08', 'latin1')
  descriptor.writeUInt32LE(fields.crc, 4)
  descriptor.writeUInt32LE(fields.packed, 8)
  descriptor.writeUInt32LE(fields.size, 12)
  return {
    local: [
      Buffer.from('PK\x03\x04', 'latin1'),
      head(!member.descriptor, localName.length),
      localName,
      packed,
      ...(member.descriptor ? [descriptor] : []),
    ],
    // The host system field is Unix, so readers interpret the file mode.
    central: Buffer.concat([Buffer.from('PK\x01\x02\x14\x03', 'latin1'), head(true, name.length), tail, name]),
  }
}

export interface TarSample {
  name: string
  data?: Buffer | string
  type?: 'file' | 'symlink' | 'link' | 'directory' | 'character-device' | 'block-device' | 'fifo'
  linkname?: string
  pax?: Record<string, string>
}

export async function createTar(members: TarSample[]): Promise<Buffer> {
  const pack = tar.pack()
  for (const { name, data = '', type = 'file', linkname, pax } of members)
    pack.entry(
      { name, type, linkname, pax, mtime: new Date(0) },
      Buffer.from(data).toString('latin1') === '' ? '' : Buffer.from(data),
    )
  pack.finalize()
  const parts: Buffer[] = []
  for await (const part of pack) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

/** Creates a 7z archive, or another format, with 7-Zip. */
export async function sevenZip(members: Record<string, Buffer | string>, switches: string[] = [], type = '7z'): Promise<Buffer> {
  const engine = await openSevenZip()
  for (const [name, data] of Object.entries(members)) engine.FS.writeFile(`/${name}`, Buffer.from(data))
  engine.callMain(['a', `-t${type}`, ...switches, `/made.${type}`, ...Object.keys(members).map((name) => `/${name}`)])
  return Buffer.from(engine.FS.readFile(`/made.${type}`))
}

/** Creates a random number generator that returns the same numbers for the same seed. */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Yields damaged copies: truncations, zeroed blocks, flipped bits, overwritten headers, and inserted or removed bytes. */
export function* mutations(bytes: Buffer, count: number, seed: number): Generator<Buffer> {
  const random = seeded(seed)
  for (let time = 0; time < count; time++) {
    const at = random(bytes.length)
    const copy = Buffer.from(bytes)
    if (time % 5 === 0) yield copy.subarray(0, at)
    else if (time % 5 === 1) yield copy.fill(0, at, Math.min(copy.length, at + 1 + random(64)))
    else if (time % 5 === 2) {
      for (let flips = 1 + random(8); flips > 0; flips--) copy[random(copy.length)]! ^= 1 << random(8)
      yield copy
    } else if (time % 5 === 3) {
      for (let index = 0; index < 4; index++) copy[(at + index) % copy.length] = [0, 0xff, 0x7f, 0x80][random(4)]!
      yield copy
    } else yield Buffer.concat([copy.subarray(0, at), copy.subarray(Math.min(copy.length, at + random(32)))])
  }
}

/** Returns bytes that cannot be compressed: a repeated block that is longer than the deflate window. */
export function noise(length: number, seed = 1): Buffer {
  const random = seeded(seed)
  const block = Buffer.from(Uint8Array.from({ length: Math.min(length, 65_521) }, () => random(256)))
  return Buffer.alloc(length, block)
}

/** 7z archives with one text file and the password `secret`. The second archive also has an encrypted directory. */
export const encrypted7z = Buffer.from(
  'N3q8ryccAASnxUrWIAAAAAAAAABiAAAAAAAAAO8kacO4WFv66iD6tJS7+eIGvP/Uvo73wBH3fdTYhmrtz54gsgEEBgABCSAABwsBAAIkBvEHARJTD083lqnRVzQK08FTapv4IfMhIQEAAQAMEw8ACAoBZcOSYAAABQEZAQARDQBhAC4AdAB4AHQAAAAUCgEAF9N+yvp43QEVBgEAIICkgQAA',
  'base64',
)
export const hidden7z = Buffer.from(
  'N3q8ryccAAS3n67IkAAAAAAAAAAuAAAAAAAAAGR/33BAGjM2xvQUZtija6MzOKr26+pGabrn1msW4vzu2M2hX5UDhdo7qFNJDSraiierhy0deG+FHhlTlSytQiL6PFdVweZUyEi16J1Tz6VS2sGN+YhFkn4LHNwtH+rZRSY4UEmxPe+JZ5ViCpPByKayvvh9QJrHTllmkDyathHbFLUpqf6u1dF+r17GcH4y6IvS3e8XBiABCXAABwsBAAEkBvEHARJTD93AulybUqoauVnoKfvOndYMYgoB49AY+gAA',
  'base64',
)

/** Returns a zip with an encrypted directory in the layout of PKZIP: masked members, ciphertext and end records. */
export function hiddenZip(): Buffer {
  const local = Buffer.alloc(30)
  local.write('PK\x03\x04', 'latin1')
  local.writeUInt16LE(62, 4)
  local.writeUInt16LE(0x2041, 6)
  const extra = Buffer.concat([Buffer.from('PK\x06\x08\x08\0\0\0', 'latin1'), noise(8)])
  const directory = noise(120)
  const members = Buffer.concat([local, noise(300), extra])
  const record = Buffer.alloc(84)
  record.write('PK\x06\x06', 'latin1')
  record.writeBigUInt64LE(72n, 4)
  record.writeUInt16LE(62, 14)
  record.writeBigUInt64LE(1n, 24)
  record.writeBigUInt64LE(1n, 32)
  record.writeBigUInt64LE(BigInt(directory.length), 40)
  record.writeBigUInt64LE(BigInt(members.length), 48)
  record.writeUInt16LE(0x6610, 72)
  const locator = Buffer.alloc(20)
  locator.write('PK\x06\x07', 'latin1')
  locator.writeBigUInt64LE(BigInt(members.length + directory.length), 8)
  locator.writeUInt32LE(1, 16)
  const end = Buffer.concat([Buffer.from('PK\x05\x06', 'latin1'), Buffer.alloc(4), Buffer.alloc(12, 0xff), Buffer.alloc(2)])
  return Buffer.concat([members, directory, record, locator, end])
}
