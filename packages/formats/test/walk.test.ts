import { crc32, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from '@jest/globals'
import { defaultLimits, detect, openDetected } from '../src/inspect.js'
import { MemorySource } from '../src/random-access-source.js'
import { type Origin, type Visitor, WalkEnded, type WindowReceiver, walkLimits } from '../src/walk/visitor.js'
import { Walk, walk } from '../src/walk/walk.js'
import { createTar, encrypted7z, noise, sevenZip, zip } from './support/samples/archive.js'
import { oneNote } from './support/samples/containers.js'

class Recorder implements Visitor {
  readonly names: string[] = []
  readonly contents: string[] = []

  onMember(name: string): void {
    this.names.push(name)
  }

  onContent() {
    const parts: Buffer[] = []
    return (bytes: Buffer, { last }: { last: boolean }) => {
      parts.push(Buffer.from(bytes))
      if (last) this.contents.push(Buffer.concat(parts).toString('latin1'))
    }
  }
}

describe('walks of nested content', () => {
  test('passes the content of every archive member to the visitor, at any depth', async () => {
    const inner = zip([{ name: 'b.txt', data: Buffer.from('inner text') }])
    const archive = gzipSync(
      await createTar([
        { name: 'a.zip', data: inner },
        { name: 'c.txt', data: 'outer text' },
      ]),
    )
    const visitor = new Recorder()
    expect(await walk(new MemorySource(archive), { visitor })).toEqual({ unscannedParts: [] })
    expect(visitor.names).toEqual(['', 'a.zip', 'b.txt', 'c.txt'])
    expect(visitor.contents).toEqual(expect.arrayContaining(['inner text', 'outer text', inner.toString('latin1')]))
  })

  test('reports each container that the walk cannot open, with the cause and the depth', async () => {
    const archive = zip([
      { name: 'a.7z', data: encrypted7z },
      { name: 'b.lz4', data: Buffer.from('04224d18000000000000', 'hex') },
      { name: 'c.txt', data: Buffer.from('text') },
    ])
    const visitor = new Recorder()
    const { unscannedParts } = await walk(new MemorySource(archive), { visitor })
    expect(unscannedParts).toMatchObject([
      { cause: 'encrypted', container: '7z', depth: 2 },
      { cause: 'unsupported', container: 'lz4', depth: 2 },
    ])
    expect(visitor.contents).toContain('text')
  })

  test('fully unpacks a PDF of blank scanned pages despite its compression ratio', async () => {
    const page = deflateSync(Buffer.alloc(24 * 2 ** 20, 255))
    const image = Buffer.concat([
      Buffer.from(`1 0 obj\n<</Subtype/Image/Filter/FlateDecode/Length ${page.length}>>\nstream\n`),
      page,
      Buffer.from('\nendstream\nendobj\n'),
    ])
    const visitor: Visitor = { onContent: () => () => {} }
    const scan = Buffer.concat([Buffer.from('%PDF-1.4\n'), image, image, image, Buffer.from('trailer\n<</Root 2 0 R>>\n%%EOF\n')])
    expect(await walk(new MemorySource(scan), { visitor })).toEqual({ unscannedParts: [] })
    const archive = gzipSync(Buffer.alloc(72 * 2 ** 20, 255))
    expect(await walk(new MemorySource(archive), { visitor })).toMatchObject({ unscannedParts: [{ cause: 'limit' }] })
  })

  test.each([
    [
      'a message with a byte-order mark',
      '\ufeffSubject: a\r\nMIME-Version: 1.0\r\nContent-Type: text/plain\r\n\r\nsome text\r\n',
      'some text',
    ],
    ['a uuencoded file in a message', 'From: a@example.org\r\n\r\nbegin 644 a.txt\r\n)<V]M92!T97AT\r\n`\r\nend\r\n', 'some text'],
    ['two uuencoded files', 'From: a@example.org\n\nbegin 644 a\n!80``\nend\nbegin 644 b\n)<V]M92!T97AT\n`\nend\n', 'some text'],
  ])('decodes %s, and passes the decoded text to the visitor', async (_, message, text) => {
    const visitor = new Recorder()
    expect(await walk(new MemorySource(Buffer.from(message)), { visitor })).toEqual({ unscannedParts: [] })
    expect(visitor.contents.map((content) => content.trim())).toContain(text)
  })

  test('reports a member as unsupported if it has the extension .br', async () => {
    const archive = zip([{ name: 'a.txt.BR', data: Buffer.from('packed') }])
    const { unscannedParts } = await walk(new MemorySource(archive), { visitor: new Recorder() })
    expect(unscannedParts).toMatchObject([{ cause: 'unsupported', container: 'zip', reason: expect.stringContaining('Brotli') }])
  })

  test("passes each member's container to the visitor, and states whether common programs can unpack the member", async () => {
    const origins = new Map<string, string>()
    const names = new WeakMap<WindowReceiver, string>()
    const visitor: Visitor = {
      onContent: (origin?: Origin) => {
        const receive: WindowReceiver = (bytes) => {
          const name = bytes.toString('latin1', 0, 2)
          names.set(receive, name)
          if (origin)
            origins.set(name, `${origin.isCommon ? 'common' : 'uncommon'} in ${origin.container} ${names.get(origin.parent)}`)
        }
        return receive
      },
    }
    const packed = await sevenZip({ a: 'b: packed by 7-Zip' })
    const listed = zip([
      { name: 'a', data: Buffer.from('a: listed') },
      { name: 'b.7z', data: packed },
    ])
    await walk(new MemorySource(listed), { visitor })
    expect(Object.fromEntries(origins)).toEqual({
      'a:': 'common in zip PK',
      '7z': 'common in zip PK',
      'b:': 'uncommon in 7z 7z',
    })
  })

  test('reports the limit that ended a walk', async () => {
    const archive = zip([
      { name: 'a', data: Buffer.from('a') },
      { name: 'b', data: Buffer.from('b') },
    ])
    const limits = { ...walkLimits, maxMembers: 1 }
    const { unscannedParts } = await walk(new MemorySource(archive), { visitor: new Recorder(), limits })
    expect(unscannedParts).toEqual([{ cause: 'limit', depth: 0, reason: 'the file has more than 1 members' }])
  })

  test('visits all content that can be unpacked before reporting damage', async () => {
    const packed = gzipSync('text')
    packed.fill(0, packed.length - 8)
    const visitor = new Recorder()
    const { unscannedParts } = await walk(new MemorySource(packed), { visitor })
    expect(unscannedParts).toMatchObject([
      { cause: 'damaged', container: 'gzip', depth: 1, reason: expect.stringMatching(/checksum .* incorrect/) },
    ])
    expect(visitor.contents).toContain('text')
  })

  test('reports a damaged 7z inside another container', async () => {
    const cut = (await sevenZip({ a: noise(5_000) })).subarray(0, 3_000)
    const { unscannedParts } = await walk(new MemorySource(zip([{ name: 'a.7z', data: cut }])), { visitor: new Recorder() })
    expect(unscannedParts).toMatchObject([{ cause: 'damaged', container: '7z', depth: 2 }])
  })

  test('visits the files in a OneNote section and reports unreadable sections', async () => {
    const visitor = new Recorder()
    const packed = zip([{ name: 'a', data: 'text in a file' }])
    expect(await walk(new MemorySource(oneNote(packed)), { visitor })).toEqual({ unscannedParts: [] })
    expect(visitor.contents).toContain('text in a file')
    const getUnscannedParts = async (options: Parameters<typeof oneNote>[1]) =>
      (await walk(new MemorySource(oneNote(packed, options)), { visitor: new Recorder() })).unscannedParts
    expect(await getUnscannedParts({ encrypted: true })).toMatchObject([{ cause: 'encrypted', container: 'onenote' }])
    expect(await getUnscannedParts({ format: '2fe98d63d4a6c14b9a36b3fc2511a5b7' })).toMatchObject([{ cause: 'unsupported' }])
  })

  test('ends the walk if the visitor throws an error', async () => {
    class Stop extends WalkEnded {}
    const visitor = new Recorder()
    visitor.onMember = () => {
      throw new Stop()
    }
    await expect(walk(new MemorySource(zip([{ name: 'a', data: noise(10) }])), { visitor })).rejects.toThrow(Stop)
  })

  test('does not mix up the contents of concurrent walks', async () => {
    const texts = ['first text', 'second text', 'third text']
    const visitors = texts.map(() => new Recorder())
    await Promise.all(texts.map((text, at) => walk(new MemorySource(gzipSync(text)), { visitor: visitors[at]! })))
    expect(visitors.map(({ contents }) => contents[1])).toEqual(texts)
  })

  test.each([
    ['PDF', { name: 'a.pdf', data: '%PDF-1.7\n' }],
    ['mail', { name: 'Subject: a', data: 'MIME-Version: 1.0\r\n\r\n' }],
  ])('unpacks a tar archive whose first member makes it look like %s', async (_, first) => {
    const visitor = new Recorder()
    const archive = await createTar([first, { name: 'b.gz', data: gzipSync('text') }, { name: 'c', data: 'more' }])
    expect(await walk(new MemorySource(archive), { visitor })).toEqual({ unscannedParts: [] })
    expect(visitor.contents).toContain('text')
  })

  test('unpacks a tar archive inside a 7z archive', async () => {
    const visitor = new Recorder()
    await walk(new MemorySource(await sevenZip({ 'a.tar': await createTar([{ name: 'b.txt', data: 'text' }]) })), { visitor })
    expect(visitor.contents).toContain('text')
  })
})

/** Creates a 7z archive with one member that has content and the attribute of a folder. */
async function fileLikeFolder(data: string): Promise<Buffer> {
  const archive = await sevenZip({ 'a.txt': data }, ['-mhc=off'])
  const directory = archive.subarray(32 + Number(archive.readBigUInt64LE(12)))
  // The last header property has the id 0x15 (attributes), followed by its size, two flags and four attribute bytes.
  directory[directory.lastIndexOf(0x15) + 4]! |= 0x10
  archive.writeUInt32LE(crc32(directory), 28)
  archive.writeUInt32LE(crc32(archive.subarray(12, 32)), 8)
  return archive
}

test('visits a file in a 7z archive even if the file has folder attributes', async () => {
  const visitor = new Recorder()
  const text = 'text '.repeat(100)
  expect(await walk(new MemorySource(await fileLikeFolder(text)), { visitor })).toEqual({ unscannedParts: [] })
  expect(visitor.contents).toContain(text)
})

test('unpacks a 7z archive with an empty start header, as 7-Zip does', async () => {
  const text = 'text '.repeat(100)
  const archive = await sevenZip({ 'a.txt': text }, ['-mhc=off'])
  archive.fill(0, 8, 32)
  const visitor = new Recorder()
  expect(await walk(new MemorySource(archive), { visitor })).toEqual({ unscannedParts: [] })
  expect(visitor.contents).toContain(text)
})

test.each([
  ['zip', async (data: Buffer) => zip([{ name: 'a.exe', data }])],
  ['gzip', async (data: Buffer) => gzipSync(data, { level: 0 })],
  ['tar', (data: Buffer) => createTar([{ name: 'a.exe', data }])],
  ['7z', (data: Buffer) => sevenZip({ 'a.exe': data }, ['-m0=Copy'])],
])('unpacks an archive appended to a small program in a %s, but reports it as unsupported after a large one', async (_, pack) => {
  const program = (size: number) => Buffer.concat([Buffer.alloc(size, 'MZ'), zip([{ name: 'a.txt', data: Buffer.from('text') }])])
  const visitor = new Recorder()
  expect((await walk(new MemorySource(await pack(program(1_000_000))), { visitor })).unscannedParts).toEqual([])
  expect(visitor.contents).toContain('text')
  const { unscannedParts } = await walk(new MemorySource(await pack(program(9_000_000))), { visitor })
  expect(unscannedParts).toMatchObject([{ cause: 'unsupported', reason: expect.stringContaining('an archive at the end') }])
})

describe('walk during the validation of a file', () => {
  async function read(archive: Buffer, extension: string, visitor: Visitor): Promise<Walk> {
    const source = new MemorySource(archive, extension)
    const observing = new Walk(source, { visitor })
    const { recognized } = await detect(source)
    const { verdict } = await openDetected(source, recognized, defaultLimits(), {}, observing.observer)
    expect(verdict).toMatchObject({ sound: true })
    return observing
  }

  /** Lets the format reader open the zip, then destroys the compressed members, so that the walk cannot inflate them again. */
  async function observed(archive: Buffer, visitor: Visitor): Promise<Walk> {
    const observing = await read(archive, 'zip', visitor)
    for (let at = archive.indexOf('PK\x03\x04'); at >= 0; at = archive.indexOf('PK\x03\x04', at + 1))
      archive.fill(0xff, at + 30 + archive.readUInt16LE(at + 26), at + 38 + archive.readUInt16LE(at + 26))
    return observing
  }

  test('visits zip members while the reader inflates them, without inflating them again', async () => {
    const sizes = [5_000, 900_000, 3_000_000, 9_000_000]
    const archive = zip(sizes.map((size) => ({ name: `${size}`, data: Buffer.alloc(size, `${size} `) })))
    const visitor = new Recorder()
    expect(await (await observed(archive, visitor)).finish()).toEqual({ unscannedParts: [] })
    for (const size of sizes) expect(visitor.contents.filter((each) => each.startsWith(`${size} `))).toHaveLength(1)
  })

  test.each([true, false])('visits the members of a nested zip while the reader inflates them (stored: %s)', async (stored) => {
    const text = 'inner text '.repeat(1_000)
    const inner = zip([{ name: 'b.txt', data: Buffer.from(text) }])
    const archive = zip([{ name: 'a.zip', data: inner, stored }])
    const visitor = new Recorder()
    const observing = await read(archive, 'zip', visitor)
    archive.fill(0xff, 40, 100)
    expect((await observing.finish()).unscannedParts).toEqual([])
    expect(visitor.contents.filter((each) => each === text)).toHaveLength(1)
  })

  test('visits a large tar archive in a zip while the reader inflates it', async () => {
    const tar = await createTar([
      { name: 'a', data: Buffer.alloc(9_000_000, 'a') },
      { name: 'b', data: 'the last file' },
    ])
    const visitor = new Recorder()
    const archive = zip([{ name: 'x.tar', data: tar }])
    expect(await (await observed(archive, visitor)).finish()).toEqual({ unscannedParts: [] })
    expect(visitor.contents.filter((each) => each === 'the last file')).toHaveLength(1)
  })

  test('visits a large member while the reader searches it for active content', async () => {
    const page = Buffer.from(`<!doctype html>${' '.repeat(5_000_000)}`)
    const visitor = new Recorder()
    expect(await (await observed(zip([{ name: 'a.html', data: page }]), visitor)).finish()).toEqual({ unscannedParts: [] })
    expect(visitor.contents.filter((each) => each.startsWith('<!doctype'))).toHaveLength(1)
  })

  test.each(['7z', 'xz', 'bzip2'])(
    'visits the members of a %s archive during validation without unpacking them again',
    async (type) => {
      const text = 'text '.repeat(1_000)
      const inner = zip([{ name: 'b.txt', data: Buffer.from('inner text') }])
      const archive = await sevenZip(type === '7z' ? { 'a.txt': text, 'b.zip': inner } : { 'a.txt': text }, [], type)
      const visitor = new Recorder()
      const observing = await read(archive, type === 'bzip2' ? 'bz2' : type, visitor)
      archive.fill(0xff, 32, 48)
      expect(await observing.finish()).toEqual({ unscannedParts: [] })
      expect(visitor.contents.filter((each) => each === text)).toHaveLength(1)
      if (type === '7z') expect(visitor.names).toEqual(['a.txt', 'b.zip', 'b.txt'])
    },
  )

  test('reports damage that 7-Zip detected during validation', async () => {
    const archive = await sevenZip({ 'a.bin': noise(50_000) }, ['-m0=Copy'])
    archive.fill(0, 100, 110)
    const source = new MemorySource(archive, '7z')
    const observing = new Walk(source, { visitor: new Recorder() })
    const { verdict } = await openDetected(source, { kind: 'binary', type: '7z' }, defaultLimits(), {}, observing.observer)
    expect(verdict).toMatchObject({ sound: false })
    archive.fill(0xff, 32, 200)
    expect((await observing.finish()).unscannedParts).toMatchObject([
      { container: '7z', reason: expect.stringContaining('CRC Failed') },
    ])
  })

  test('visits a member again if the reader fails before the member ends', async () => {
    const tar = await createTar([
      { name: 'a', data: Buffer.alloc(9_000_000, 'a') },
      { name: 'b', data: 'the last file' },
    ])
    const archive = zip([{ name: 'x.tar', data: tar }])
    const visitor = new Recorder()
    const observing = new Walk(new MemorySource(archive, 'zip'), { visitor })
    async function* untilDamage(): AsyncGenerator<Buffer> {
      for (let at = 0; at < 8_000_000; at += 64_000) yield tar.subarray(at, at + 64_000)
      throw new Error('it unpacks to more than its header says')
    }
    const take = async () => {
      for await (const _ of observing.observer.visitStream('zip', 0, untilDamage()));
    }
    await expect(take()).rejects.toThrow('more than its header says')
    await observing.finish()
    expect(visitor.contents.includes('the last file')).toBe(true)
  })

  test('visits the content of a gzip file, including tar entries, during decompression', async () => {
    const text = Buffer.from('some text '.repeat(900_000))
    const tar = await createTar([
      { name: 'a', data: text },
      { name: 'b.zip', data: zip([{ name: 'c', data: Buffer.from('inner text') }]) },
    ])
    for (const content of [Buffer.from('short text'), text, noise(5_000_000), tar]) {
      const archive = gzipSync(content)
      const expected = new Recorder()
      const result = await walk(new MemorySource(archive), { visitor: expected })
      const visitor = new Recorder()
      const observing = await read(archive, 'gz', visitor)
      archive.fill(0xff, 10)
      expect(await observing.finish()).toEqual(result)
      const others = (contents: string[]) => contents.filter((each) => !each.startsWith('\x1f\x8b')).sort()
      expect(others(visitor.contents)).toEqual(others(expected.contents))
      expect(visitor.names.sort()).toEqual(expected.names.sort())
    }
  })

  test.each([
    ['is damaged', (archive: Buffer) => archive.fill(0, archive.length - 8)],
    ['ends early', (archive: Buffer) => archive.subarray(0, 3_000_000)],
    ['is damaged inside', (archive: Buffer) => archive.fill(0, 3_000_000, 3_000_100)],
  ])('returns the same walk result with and without a reader for a gzip file that %s', async (_, damage) => {
    const tar = await createTar([
      { name: 'a', data: noise(6_000_000) },
      { name: 'b', data: 'the last file' },
    ])
    const archive = damage(gzipSync(tar))
    const expected = new Recorder()
    const result = await walk(new MemorySource(archive), { visitor: expected })
    const visitor = new Recorder()
    const source = new MemorySource(archive, 'gz')
    const observing = new Walk(source, { visitor })
    const { verdict } = await openDetected(source, { kind: 'binary', type: 'gz' }, defaultLimits(), {}, observing.observer)
    expect(verdict).toMatchObject({ sound: false })
    expect(await observing.finish()).toEqual(result)
    expect(visitor.contents).toEqual(expect.arrayContaining(expected.contents))
  })

  test('visits a gzip file again if its reader stops at a malicious member', async () => {
    const tar = await createTar([
      { name: '../a', data: Buffer.alloc(9_000_000, 'a') },
      { name: 'b', data: 'the last file' },
    ])
    const source = new MemorySource(gzipSync(tar), 'gz')
    const visitor = new Recorder()
    const observing = new Walk(source, { visitor })
    const { verdict } = await openDetected(source, { kind: 'binary', type: 'gz' }, defaultLimits(), {}, observing.observer)
    expect(verdict).toMatchObject({ sound: false })
    expect(await observing.finish()).toEqual({ unscannedParts: [] })
    expect(visitor.contents.includes('the last file')).toBe(true)
  })

  test('reports the limit that ends the walk of a gzip file during validation', async () => {
    const source = new MemorySource(gzipSync(Buffer.alloc(72 * 2 ** 20, 255)), 'gz')
    const observing = new Walk(source, { visitor: { onContent: () => () => {} } })
    await openDetected(source, { kind: 'binary', type: 'gz' }, { ...defaultLimits(), maxRatio: 10_000 }, {}, observing.observer)
    expect(await observing.finish()).toMatchObject({ unscannedParts: [{ cause: 'limit' }] })
  })

  test('finishes reading the file before reporting that the walk failed', async () => {
    class Stop extends WalkEnded {}
    const visitor: Visitor = {
      onContent: () => (bytes) => {
        if (bytes.toString().startsWith('a')) throw new Stop()
      },
    }
    for (const size of [5_000, 9_000_000]) {
      const archive = zip([{ name: 'a', data: Buffer.alloc(size, 'a') }])
      await expect((await observed(archive, visitor)).finish()).rejects.toThrow(Stop)
    }
  })
})
