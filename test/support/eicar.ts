import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { crc32, deflateRawSync } from 'node:zlib'
import { expect } from '@jest/globals'
import type { Content } from '../../src/platform/spool/content.js'

/** The EICAR test string, split so that virus scanners do not detect this source file. */
export const eicar = Buffer.from(['X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-STANDARD-', 'ANTIVIRUS-TEST-FILE!$H+H*'].join(''), 'latin1')

/** A clean verdict with any proof time. A Date from a worker is an instance of another Date class. */
export const clean = { verdict: 'clean', provedAt: expect.anything() }
export const toIncompleteVerdict = (reason: string) => ({ verdict: 'incomplete', reason: expect.stringContaining(reason) })

export function createMemoryContent(bytes: Buffer | string): Content {
  const content = Buffer.from(bytes)
  return {
    size: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
    bytes: content,
    stream: (range) => Readable.from([range ? content.subarray(range.start, range.end + 1) : content]),
  }
}

/** Writes the content to a temporary file, which `remove` deletes. */
export async function createFileContent(bytes: Buffer): Promise<Content & { remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'assay-test-'))
  const path = join(folder, randomUUID())
  await writeFile(path, bytes)
  return {
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    path,
    stream: (range) => createReadStream(path, range),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

export interface Member {
  name: string
  bytes: Buffer
  stored?: boolean
  /** Sets the encryption flag without encrypting the data. */
  encrypted?: boolean
  /** Unpacked size in the headers, if it differs from the actual size. */
  declaredSize?: number
}

export function createZip(...members: Member[]): Buffer {
  const locals: Buffer[] = []
  const records: Buffer[] = []
  let offset = 0
  for (const { name, bytes, stored, encrypted, declaredSize: declared } of members) {
    const packed = stored ? bytes : deflateRawSync(bytes)
    const facts = Buffer.alloc(26)
    facts.writeUInt16LE(20, 0)
    facts.writeUInt16LE(encrypted ? 1 : 0, 2)
    facts.writeUInt16LE(stored ? 0 : 8, 4)
    facts.writeUInt32LE(crc32(bytes), 10)
    facts.writeUInt32LE(packed.length, 14)
    facts.writeUInt32LE(declared ?? bytes.length, 18)
    facts.writeUInt16LE(Buffer.byteLength(name), 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), facts, Buffer.from(name), packed])
    const place = Buffer.alloc(14)
    place.writeUInt32LE(offset, 10)
    records.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 0]), facts, place, Buffer.from(name)]))
    locals.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(records)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(members.length, 8)
  end.writeUInt16LE(members.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...locals, directory, end])
}
