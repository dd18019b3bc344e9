import { gzipSync } from 'node:zlib'
import { describe, expect, test } from '@jest/globals'
import { readGzip, readSevenZip, readTar, readZip } from '../../src/archive/archive.js'
import { listZipEntries } from '../../src/archive/zip/directory.js'
import { detectZipType } from '../../src/detect/zip.js'
import { DeadlineExceeded, type FormatReader } from '../../src/format.js'
import {
  createTar,
  encrypted7z,
  hidden7z,
  hiddenZip,
  limits,
  mutations,
  noise,
  type SampleMember,
  sevenZip,
  toSource,
  zip,
} from '../support/samples/archive.js'

const text = 'a line of text that packs well\n'.repeat(40)
const plain: SampleMember[] = [
  { name: 'folder/' },
  { name: 'folder/packed.txt', data: text },
  { name: 'stored.bin', data: noise(3000), stored: true },
  { name: 'streamed.txt', data: text, descriptor: true },
]
const inspect = async (reader: FormatReader, bytes: Buffer, changes = {}, extension = '') =>
  reader(toSource(bytes, extension), limits(changes))
const zeros = (size: number) => Buffer.alloc(size)

const emptyZip = Buffer.from(`504b0506${'00'.repeat(18)}`, 'hex')

function withComment(archive: Buffer, comment: Buffer): Buffer {
  const bytes = Buffer.concat([archive, comment])
  bytes.writeUInt16LE(comment.length, archive.length - 2)
  return bytes
}

describe('zip files', () => {
  test('accepts an empty zip file', async () => {
    expect(await inspect(readZip, emptyZip)).toMatchObject({ sound: true })
  })

  test.each<[string, Buffer]>([
    ['stored, deflated and streamed members', zip(plain)],
    ['no members', zip([])],
    ['a comment', zip(plain, { comment: 'made by hand' })],
    ['a program in front of the archive', zip(plain, { prefix: noise(500) })],
    ['zip64 records', zip(plain, { zip64: true })],
    ['a large member', zip([{ name: 'large', data: noise(2_000_000) }])],
    [
      'a link that stays inside',
      zip([
        { name: 'a/b', data: 'x' },
        { name: 'a/link', data: '../a/b', symlink: true },
      ]),
    ],
    ['a backslash as separator', zip([{ name: 'folder\\file.txt', data: 'x' }])],
    ['a nested zip', zip([{ name: 'inner.zip', data: zip(plain) }])],
    ['a damaged nested zip', zip([{ name: 'inner.zip', data: zip(plain).subarray(0, 900) }])],
    ['bytes after its end', Buffer.concat([zip(plain), noise(100)])],
  ])('accepts a zip file with %s', async (_, bytes) => {
    expect(await inspect(readZip, bytes)).toMatchObject({ sound: true })
  })

  test('rejects a truncated zip file with an encrypted central directory, but accepts a complete one', async () => {
    const archive = hiddenZip()
    expect(await inspect(readZip, archive)).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/and its directory are encrypted/)],
      evidence: { encrypted: true },
    })
    expect(detectZipType(toSource(archive), limits())).toBe('zip')
    for (const damaged of [
      archive.subarray(0, -30),
      Buffer.concat([archive.subarray(0, 6), Buffer.alloc(2), archive.subarray(8)]),
    ])
      expect(await inspect(readZip, damaged)).toMatchObject({ sound: false })
  })

  test('lists the unread members of a zip file in a note', async () => {
    const notes = async (bytes: Buffer) => ((await inspect(readZip, bytes)) as { notes: string[] }).notes.join()
    expect(await notes(zip([{ name: 'secret', data: noise(50), stored: true, encrypted: true }]))).toMatch(
      /1 of 1 members are encrypted/,
    )
    expect(await notes(zip([{ name: 'odd', data: noise(50), stored: true, method: 97 }]))).toMatch(/method 97/)
    expect(
      await notes(
        zip([
          { name: 'twin', data: 'a' },
          { name: 'twin', data: 'b' },
        ]),
      ),
    ).toMatch(/two members/)
    expect(await notes(zip([{ name: 'inner.zip', data: zip(plain).subarray(0, 900) }]))).toMatch(/cannot be opened/)
  })

  test.each<[string, Buffer, RegExp]>([
    ['a wrong checksum', zip([{ name: 'a', data: text, crc: 1 }]), /incorrect checksum/],
    ['a wrong checksum of a stored member', zip([{ name: 'a', data: text, stored: true, crc: 1 }]), /incorrect checksum/],
    ['fewer bytes than declared', zip([{ name: 'a', data: text, size: 5000 }]), /expands to 1240 bytes instead of 5000/],
    [
      'more bytes than declared',
      zip([{ name: 'a', data: zeros(100_000_000), size: 100 }]),
      /more bytes than its header declares/,
    ],
    ['two names for one member', zip([{ name: 'a.txt', localName: 'b.txt', data: text }]), /different name/],
    ['no deflate data', zip([{ name: 'a', data: noise(100), stored: true, method: 8 }]), /cannot be unpacked/],
    ['a wrong member count', zip(plain, { count: 3 }), /lists 4 members, but the end record declares 3/],
    ['a truncated end', zip(plain).subarray(0, -1), /no zip central directory/],
    ['a truncated start', zip(plain).subarray(10), /bytes are missing/],
  ])('rejects a zip file as damaged if it has %s', async (_, bytes, problem) => {
    const verdict = await inspect(readZip, bytes)
    expect(verdict).toMatchObject({ sound: false, problem: expect.stringMatching(problem) })
    expect(verdict).not.toHaveProperty('maliciousConstruction')
  })

  test.each<[string, Buffer, string]>([
    ['a high compression ratio', zip([{ name: 'a', data: zeros(20_000_000) }]), 'archive_ratio'],
    [
      'more unpacked bytes than allowed',
      zip(Array.from({ length: 9 }, (_, index) => ({ name: `${index}`, data: 'x', size: 30 * 1024 * 1024 }))),
      'archive_size',
    ],
    ['too many members', zip(Array.from({ length: 1001 }, (_, index) => ({ name: `${index}` }))), 'archive_entries'],
    ['overlapping members', zip([{ name: 'kernel', data: text }], { listed: 3 }), 'overlapping_members'],
    ['a name with ..', zip([{ name: 'a/../../etc/passwd', data: 'x' }]), 'archive_path'],
    ['a name with .. and backslashes', zip([{ name: '..\\evil.dll', data: 'x' }]), 'archive_path'],
    ['an absolute path', zip([{ name: '/etc/passwd', data: 'x' }]), 'archive_path'],
    ['a drive letter', zip([{ name: 'C:\\Windows\\evil.dll', data: 'x' }]), 'archive_path'],
    ['a NUL in a name', zip([{ name: 'a.txt\0.exe', data: 'x' }]), 'archive_name'],
    ['a link to an absolute path', zip([{ name: 'link', data: '/etc/passwd', symlink: true }]), 'archive_link'],
    ['a link that contains ..', zip([{ name: 'a/link', data: '../../x', symlink: true }]), 'archive_link'],
    [
      'a link through a link',
      zip([
        { name: 'a/here', data: '.', symlink: true },
        { name: 'out', data: 'a/here/../../x', symlink: true },
      ]),
      'archive_link',
    ],
    ['a nested bomb', zip([{ name: 'inner.zip', data: zip([{ name: 'a', data: zeros(20_000_000) }]) }]), 'archive_ratio'],
    ['a bomb in a stored gzip', zip([{ name: 'inner.gz', data: gzipSync(zeros(20_000_000)), stored: true }]), 'archive_ratio'],
    [
      'four archives inside each other',
      [1, 2, 3, 4].reduce((inner) => zip([{ name: 'inner.zip', data: inner }]), zip(plain)),
      'nesting',
    ],
    ['an empty directory after members', Buffer.concat([zip(plain), emptyZip]), 'hidden_members'],
    ['an empty directory before members', withComment(emptyZip, zip(plain).subarray(0, 3_000)), 'hidden_members'],
  ])('rejects a zip file as malicious if it has %s', async (_, bytes, maliciousConstruction) => {
    expect(await inspect(readZip, bytes)).toMatchObject({ sound: false, maliciousConstruction })
  })

  test('reads a nested zip that is too large for memory', async () => {
    const inner = zip([
      { name: 'ballast', data: noise(9_000_000), stored: true },
      { name: '../evil', data: 'x' },
    ])
    expect(await inspect(readZip, zip([{ name: 'inner.zip', data: inner }]))).toMatchObject({
      sound: false,
      maliciousConstruction: 'archive_path',
    })
  })

  test('uses 7-Zip to check zip members with unusual compression methods', async () => {
    const bytes = await sevenZip({ 'a.txt': text }, ['-mm=bzip2'], 'zip')
    expect(await inspect(readZip, bytes)).toMatchObject({ sound: true, notes: [] })
    const damaged = Buffer.from(bytes)
    damaged[60]! ^= 0xff
    expect(await inspect(readZip, damaged)).toMatchObject({ sound: false })
  })

  test('lists zip members up to the limit without checking their content', () => {
    const entries = listZipEntries(toSource(zip([{ name: 'a', data: text, crc: 1 }])), limits())
    expect(entries).toMatchObject([{ name: 'a', method: 8, uncompressedSize: 1240, encrypted: false }])
    expect(listZipEntries(toSource(zip(plain)), limits({ maxEntries: 2 }))).toHaveLength(2)
    expect(listZipEntries(toSource(noise(1000)), limits())).toBeNull()
  })

  test('rejects every truncated copy of a zip file', async () => {
    const bytes = zip(plain)
    for (let length = 0; length < bytes.length; length += 7) {
      expect(await inspect(readZip, bytes.subarray(0, length))).toMatchObject({ sound: false })
    }
  })

  test('stops reading a zip file at the deadline', async () => {
    await expect(inspect(readZip, zip(plain), { deadline: 1 })).rejects.toThrow(DeadlineExceeded)
  })
})

describe('gzip files', () => {
  const bytes = gzipSync(text)

  test('accepts intact, concatenated and padded gzip files, and gzip files that contain a tar archive', async () => {
    expect(await inspect(readGzip, bytes)).toMatchObject({ sound: true, evidence: { members: 1, unpacked_bytes: 1240 } })
    expect(await inspect(readGzip, Buffer.concat([bytes, bytes, zeros(700)]))).toMatchObject({
      sound: true,
      evidence: { members: 2 },
    })
    expect(await inspect(readGzip, gzipSync(await createTar([{ name: 'a', data: text }])), { maxNesting: 1 })).toMatchObject({
      sound: true,
    })
  })

  test('rejects a gzip file with damaged data, a wrong checksum or length, or trailing bytes', async () => {
    for (const at of [2, 3, 30, bytes.length - 8, bytes.length - 1]) {
      const copy = Buffer.from(bytes)
      copy[at]! ^= 0xff
      expect(await inspect(readGzip, copy)).toMatchObject({ sound: false })
    }
    expect(await inspect(readGzip, Buffer.concat([bytes, noise(20)]))).toMatchObject({ sound: false })
    for (let length = 0; length < bytes.length; length++) {
      expect(await inspect(readGzip, bytes.subarray(0, length))).toMatchObject({ sound: false })
    }
  })

  test('rejects a truncated gzip file that contains a tar archive', async () => {
    const copy = gzipSync(await createTar([{ name: 'a', data: noise(50_000) }]))
    expect(await inspect(readGzip, copy.subarray(0, 30_000))).toMatchObject({ sound: false })
  })

  test('rejects a .tgz file that does not contain a tar archive', async () => {
    expect(await inspect(readGzip, bytes, {}, 'tgz')).toMatchObject({ sound: false })
    expect(await inspect(readGzip, bytes, {}, 'gz')).toMatchObject({ sound: true })
  })

  test('rejects gzip bombs and malicious archives inside gzip files', async () => {
    expect(await inspect(readGzip, gzipSync(zeros(20_000_000)))).toMatchObject({ maliciousConstruction: 'archive_ratio' })
    expect(await inspect(readGzip, gzipSync(noise(3_000_000)), { maxUnpackedBytes: 1_000_000 })).toMatchObject({
      maliciousConstruction: 'archive_size',
    })
    expect(await inspect(readGzip, gzipSync(await createTar([{ name: '../x', data: 'x' }])))).toMatchObject({
      maliciousConstruction: 'archive_path',
    })
    const nested = [1, 2, 3, 4].reduce((inner) => gzipSync(inner), bytes)
    expect(await inspect(readGzip, nested)).toMatchObject({ maliciousConstruction: 'nesting' })
  })
})

describe('tar archives', () => {
  const sample = () =>
    createTar([
      { name: 'folder/', type: 'directory' },
      { name: 'folder/a.txt', data: text },
      { name: `folder/${'long'.repeat(60)}`, data: 'x', pax: { path: `folder/${'long'.repeat(60)}` } },
      { name: 'folder/link', type: 'symlink', linkname: '../folder/a.txt' },
      { name: 'folder/hard', type: 'link', linkname: 'folder/a.txt' },
    ])

  test('accepts a tar archive with long names or with links that stay inside the archive', async () => {
    const bytes = await sample()
    expect(await inspect(readTar, bytes)).toMatchObject({ sound: true, evidence: { entries: 5, content_bytes: 1241 } })
    expect(await inspect(readTar, bytes.subarray(0, -1024))).toMatchObject({ sound: true })
    expect(await inspect(readTar, Buffer.concat([bytes, zeros(5000)]))).toMatchObject({ sound: true })
  })

  test('rejects a tar archive that is truncated, has a wrong checksum or declares an excessive size', async () => {
    const bytes = await sample()
    for (const length of [0, 100, 511, 1025, 1536, 2047])
      expect(await inspect(readTar, bytes.subarray(0, length))).toMatchObject({ sound: false })
    const copy = Buffer.from(bytes)
    copy[0]! ^= 1
    expect(await inspect(readTar, copy)).toMatchObject({
      sound: false,
      problem: expect.stringMatching(/does not start with a tar header/),
    })
  })

  test.each<[string, Parameters<typeof createTar>[0], string]>([
    ['a name with ..', [{ name: 'a/../../x', data: 'x' }], 'archive_path'],
    ['an absolute path', [{ name: '/etc/cron.d/x', data: 'x' }], 'archive_path'],
    ['a link that contains ..', [{ name: 'link', type: 'symlink', linkname: '../x' }], 'archive_link'],
    ['a hard link to an absolute path', [{ name: 'link', type: 'link', linkname: '/etc/passwd' }], 'archive_link'],
    ['a long name with ..', [{ name: 'a', data: 'x', pax: { path: '../x' } }], 'archive_path'],
    ['a sparse file of a terabyte', [{ name: 'a', data: 'x', pax: { 'GNU.sparse.realsize': '1099511627776' } }], 'archive_size'],
    ['a nested bomb', [{ name: 'a.zip', data: zip([{ name: 'a', data: zeros(20_000_000) }]) }], 'archive_ratio'],
    ['a character device', [{ name: 'zero', type: 'character-device' }], 'archive_device'],
    ['a block device', [{ name: 'sda', type: 'block-device' }], 'archive_device'],
    ['a pipe', [{ name: 'pipe', type: 'fifo' }], 'archive_device'],
  ])('rejects a tar archive as malicious if it has %s', async (_, members, maliciousConstruction) => {
    expect(await inspect(readTar, await createTar(members))).toMatchObject({ sound: false, maliciousConstruction })
  })
})

describe('7z archives', () => {
  test('checks each member of a 7z archive with 7-Zip', async () => {
    const bytes = await sevenZip({ 'a.txt': text, 'b.bin': noise(5000) })
    expect(await inspect(readSevenZip, bytes)).toMatchObject({
      sound: true,
      notes: [],
      evidence: { entries: 2, unpacked_bytes: 6240 },
    })
    for (const at of [8, 40, 3000, bytes.length - 5]) {
      const copy = Buffer.from(bytes)
      copy[at]! ^= 0x10
      expect(await inspect(readSevenZip, copy)).toMatchObject({ sound: false })
    }
    expect(await inspect(readSevenZip, bytes.subarray(0, -1))).toMatchObject({ sound: false })
  })

  test('accepts a password-protected 7z archive and adds a note', async () => {
    expect(await inspect(readSevenZip, encrypted7z)).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/1 of 1 members are encrypted/)],
    })
    expect(await inspect(readSevenZip, hidden7z)).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/and its directory are encrypted/)],
    })
  })

  test('rejects a 7z decompression bomb based on its headers', async () => {
    expect(await inspect(readSevenZip, await sevenZip({ zeros: zeros(20_000_000) }))).toMatchObject({
      sound: false,
      maliciousConstruction: 'archive_ratio',
    })
  })
})

test('returns a verdict for every mutated copy of an archive', async () => {
  const samples: [FormatReader, Buffer, number][] = [
    [readZip, zip([...plain, { name: 'inner.zip', data: zip(plain) }, { name: 'link', data: 'folder', symlink: true }]), 400],
    [readZip, zip(plain, { zip64: true, comment: 'hello' }), 300],
    [readGzip, Buffer.concat([gzipSync(await createTar([{ name: 'a.zip', data: zip(plain) }])), gzipSync(text)]), 300],
    [
      readTar,
      await createTar([
        { name: 'a.gz', data: gzipSync(text) },
        { name: 'b', data: text, pax: { path: 'c' } },
      ]),
      400,
    ],
    [readSevenZip, await sevenZip({ 'a.txt': text, 'b.bin': noise(500) }), 60],
  ]
  for (const [index, [reader, bytes, count]] of samples.entries()) {
    expect(await inspect(reader, bytes)).toMatchObject({ sound: true })
    for (const mutation of mutations(bytes, count, index + 1))
      expect(typeof (await inspect(reader, mutation)).sound).toBe('boolean')
  }
})
