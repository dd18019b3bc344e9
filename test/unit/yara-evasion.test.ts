import { deflateRawSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { pack } from 'tar-stream'
import { findUnknownHeaders } from '../../packages/formats/src/archive/zip/local-headers.js'
import { MemorySource } from '../../packages/formats/src/random-access-source.js'
import { gif } from '../../packages/formats/test/support/samples/basic.js'
import { YaraScanner } from '../../src/inspection/scanners/yara/yara.js'
import { clean, createFileContent, createMemoryContent, createZip, eicar } from '../support/eicar.js'

const mebibyte = 1024 * 1024
const never = () => ({ signal: new AbortController().signal })
const text = Buffer.from('Nothing to be seen here.\n')
const found = { verdict: 'infected', signature: 'EICAR-Test-String' }

let scanner: YaraScanner
beforeAll(async () => {
  scanner = await YaraScanner.open({ workers: 1 })
})
afterAll(() => scanner.close())
const scan = (bytes: Buffer) => scanner.scan(createMemoryContent(bytes), never())

/** Generates incompressible bytes. */
function generateNoise(size: number): Buffer {
  const bytes = Buffer.alloc(size)
  for (let at = 0, seed = 7; at < size; at++) bytes[at] = (seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff) >> 16
  return bytes
}

async function packTar(name: string, bytes: Buffer): Promise<Buffer> {
  const tar = pack()
  tar.entry({ name }, bytes)
  tar.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of tar) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

interface Local {
  name?: string
  method?: number
  /** Member data as stored in the file. */
  data: Buffer
  /** Sizes follow the data, as in streamed archives. */
  descriptor?: boolean
  encrypted?: boolean
}

/** Builds a local header with data but without a directory. */
function createLocalEntry({ name = 'eicar.com', method = 8, data, descriptor, encrypted }: Local): Buffer {
  const header = Buffer.alloc(30)
  header.write('PK\x03\x04', 'latin1')
  header.writeUInt16LE(20, 4)
  header.writeUInt16LE((descriptor ? 8 : 0) | (encrypted ? 1 : 0), 6)
  header.writeUInt16LE(method, 8)
  header.writeUInt32LE(descriptor ? 0 : data.length, 18)
  header.writeUInt32LE(descriptor ? 0 : data.length, 22)
  header.writeUInt16LE(name.length, 26)
  const behind = Buffer.alloc(descriptor ? 16 : 0)
  if (descriptor) {
    behind.write('PK\x07\x08', 'latin1')
    behind.writeUInt32LE(data.length, 8)
  }
  return Buffer.concat([header, Buffer.from(name), data, behind])
}

/** Builds a directory with one member at `offset`, after `before` bytes of members. */
function createDirectory({ name = 'eicar.com', method = 8, packed = 0, offset = 0, before = 0 }): Buffer {
  const record = Buffer.alloc(46)
  record.write('PK\x01\x02', 'latin1')
  record.writeUInt16LE(20, 6)
  record.writeUInt16LE(method, 10)
  record.writeUInt32LE(packed, 20)
  record.writeUInt32LE(packed, 24)
  record.writeUInt16LE(name.length, 28)
  record.writeUInt32LE(offset, 42)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(1, 8)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(46 + name.length, 12)
  end.writeUInt32LE(before, 16)
  return Buffer.concat([record, Buffer.from(name), end])
}

/** Builds a gzip header with all optional fields (RFC 1952). */
function createNamedGzip(member: Buffer): Buffer {
  const header = Buffer.from(member.subarray(0, 10))
  header[3] = 2 | 4 | 8 | 16
  const fields = Buffer.from(`\x05\0extra${'n'.repeat(70_000)}\0comment\0\x01\x02`, 'latin1')
  return Buffer.concat([header, fields, member.subarray(10)])
}

const packed = deflateRawSync(eicar)
const harmless = createLocalEntry({ name: 'a.txt', method: 0, data: text })
const hidden = createLocalEntry({ data: packed })
const only = (before: number, offset = 0) => createDirectory({ name: 'a.txt', method: 0, packed: text.length, offset, before })
const gz = gzipSync(eicar)

describe('finding the EICAR string', () => {
  test.each<[string, () => Buffer | Promise<Buffer>]>([
    ['followed by white space', () => Buffer.concat([eicar, Buffer.from(' \t\r\n\x1a'.repeat(12))])],
    ['in a gz after another gz in the same file', () => Buffer.concat([gzipSync(text), gz])],
    ['in a gz that is followed by other bytes', () => Buffer.concat([gz, Buffer.from('garbage')])],
    [
      'in two members of a gz, half in each',
      () => Buffer.concat([gzipSync(eicar.subarray(0, 30)), gzipSync(eicar.subarray(30)), Buffer.alloc(20)]),
    ],
    ['in a gz that has a long name and a comment', () => createNamedGzip(gz)],
    ['in a gz with a wrong checksum', () => Buffer.concat([gz.subarray(0, -8), Buffer.alloc(8, 1)])],
    ['in a tar.gz in a zip', async () => createZip({ name: 'a.tgz', bytes: gzipSync(await packTar('x', eicar)) })],
    [
      'in a member of a document',
      () => createZip({ name: '[Content_Types].xml', bytes: text }, { name: 'xl/x.bin', bytes: eicar }),
    ],
    ['in a stored member with a data descriptor', () => createLocalEntry({ method: 0, data: eicar, descriptor: true })],
    [
      'in a packed member with a data descriptor that the central directory declares',
      () => {
        const member = createLocalEntry({ data: packed, descriptor: true })
        return Buffer.concat([member, createDirectory({ packed: packed.length, before: member.length })])
      },
    ],
    ['in a zip without a central directory', () => hidden],
    ['in a zip without a central directory, with a data descriptor', () => createLocalEntry({ data: packed, descriptor: true })],
    ['in a stored gz in a zip without a central directory', () => createLocalEntry({ method: 0, data: gz })],
    [
      'in a stored gz of unknown size in a zip without a central directory',
      () => createLocalEntry({ method: 0, data: gz, descriptor: true }),
    ],
    ['in a zip whose central directory is past its end', () => Buffer.concat([hidden, createDirectory({ before: 999_999 })])],
    [
      'in a zip whose central directory lists other members',
      () => Buffer.concat([hidden, generateNoise(60), only(hidden.length)]),
    ],
    [
      'before the only member in the central directory',
      () => Buffer.concat([hidden, harmless, only(hidden.length + harmless.length, hidden.length)]),
    ],
    [
      'after the only member in the central directory',
      () => Buffer.concat([harmless, hidden, only(hidden.length + harmless.length)]),
    ],
    [
      'in a packed member that the central directory declares as stored',
      () => Buffer.concat([hidden, createDirectory({ method: 0, packed: packed.length, before: hidden.length })]),
    ],
    [
      'in a gz that the central directory declares as packed and its header as stored',
      () => {
        const member = createLocalEntry({ method: 0, data: gz })
        return Buffer.concat([member, createDirectory({ method: 8, packed: gz.length, before: member.length })])
      },
    ],
    [
      'after a member that cannot be unpacked',
      () => {
        const damaged = createLocalEntry({ name: 'a.txt', data: generateNoise(100) })
        return Buffer.concat([
          damaged,
          hidden,
          createDirectory({ name: 'a.txt', packed: 100, before: damaged.length + hidden.length }),
        ])
      },
    ],
    [
      'after a packed member whose central directory entry includes it',
      () => {
        const first = createLocalEntry({ name: 'a.txt', data: deflateRawSync(text), descriptor: true })
        const claimed = first.length - 35 + hidden.length
        return Buffer.concat([
          first,
          hidden,
          createDirectory({ name: 'a.txt', packed: claimed, before: first.length + hidden.length }),
        ])
      },
    ],
    [
      'in a zip after other bytes that its offsets ignore',
      () => Buffer.concat([generateNoise(5_000), createZip({ name: 'a', bytes: eicar })]),
    ],
    ['in a zip after a GIF', () => Buffer.concat([gif(), createZip({ name: 'a', bytes: eicar })])],
    [
      'in a zip that is followed by a comment',
      () => {
        const zip = createZip({ name: 'a', bytes: eicar })
        zip.writeUInt16LE(60_000, zip.length - 2)
        return Buffer.concat([zip, Buffer.alloc(60_000, 'x')])
      },
    ],
    [
      'in an old Office document',
      () => Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), generateNoise(4_000), eicar, generateNoise(400)]),
    ],
    ['in an uncompressed PDF stream', () => Buffer.from(`%PDF-1.7\n1 0 obj <<>> stream\n${eicar}\nendstream endobj\n`)],
  ])('finds the EICAR string %s', async (_, bytes) => {
    expect(await scan(await bytes())).toMatchObject(found)
  })

  test('finds the EICAR string at every window boundary in a file above 64 MiB', async () => {
    // Windows of 4 MiB overlap by 64 KiB.
    const step = 4 * mebibyte - 64 * 1024
    const large = Buffer.alloc(66 * mebibyte)
    for (const at of [
      4 * mebibyte - 30,
      step - 30,
      16 * step + 64 * 1024 - 67,
      16 * step + 64 * 1024 - 1,
      large.length - eicar.length,
    ]) {
      large.fill(0)
      eicar.copy(large, at)
      const file = await createFileContent(large)
      try {
        expect(await scanner.scan(file, never())).toMatchObject(found)
      } finally {
        await file.remove()
      }
    }
  }, 60_000)
})

describe('detection limits', () => {
  test('reports a zip as incompletely scanned if it has an encrypted member but no central directory', async () => {
    expect(await scan(createLocalEntry({ data: generateNoise(100), encrypted: true }))).toMatchObject({ verdict: 'incomplete' })
  })
})

describe('zip members without a central directory entry', () => {
  test('ignores zip header signatures that are not followed by a member', async () => {
    const signatures = Buffer.concat(
      Array.from({ length: 300 }, () => Buffer.concat([Buffer.from('PK\x03\x04'), generateNoise(90)])),
    )
    expect(await scan(createZip({ name: 'a', bytes: Buffer.concat([text, signatures]), stored: true }))).toEqual(clean)
    const zip = createZip({ name: 'a', bytes: text })
    const moved = Buffer.from(zip)
    moved.writeUInt32LE(moved.readUInt32LE(zip.length - 6) + signatures.length, zip.length - 6)
    moved.writeUInt32LE(signatures.length, zip.readUInt32LE(zip.length - 6) + 42)
    expect(await scan(Buffer.concat([signatures, moved]))).toEqual(clean)
  })

  test('reports a zip as incompletely scanned if its members overlap', async () => {
    // Each member contains the headers of all later members, followed by data that unpacks to nothing but must be read.
    const header = createLocalEntry({ data: Buffer.alloc(0), descriptor: true }).subarray(0, 39)
    const block = Buffer.from([0, header.length, 0, ~header.length & 0xff, 0xff])
    const headers = Array.from({ length: 400 }, () => [header, block]).flat()
    const blocks = Buffer.concat([header, Buffer.alloc(8 * mebibyte, Buffer.from([0, 0, 0, 0xff, 0xff]))])
    const verdict = await scan(Buffer.concat([...headers, blocks]))
    expect(verdict).toMatchObject({ verdict: 'incomplete', reason: expect.stringMatching(/overlap|members/) })
  })

  test('finds each zip member without a central directory entry exactly once', () => {
    const spread = Buffer.alloc(600 * 1024)
    const offsets = [0, 1_000, 256 * 1024 - 2, 256 * 1024 + 5, 500_000, spread.length - 30]
    for (const offset of offsets) spread.write('PK\x03\x04', offset, 'latin1')
    const look = (known: [number, number | undefined][], maxCount = 99) =>
      findUnknownHeaders(new MemorySource(spread, ''), new Map(known), { maxCount, step: () => {} })
    expect(look([])).toEqual(offsets)
    expect(look([[0, undefined]])).toEqual(offsets.slice(1))
    expect(look([[0, 1_001]])).toEqual(offsets.slice(2))
    expect(look([[0, 500_000]])).toEqual(offsets.slice(4))
    expect(look([], 2)).toEqual(offsets.slice(0, 2))
  })
})
