import { gzipSync } from 'node:zlib'
import { describe, expect, test } from '@jest/globals'
import { readGzip, readSevenZip, readTar, readZip } from '../../src/archive/archive.js'
import type { FormatReader } from '../../src/format.js'
import { createTar, limits, noise, sevenZip, toSource, zip } from '../support/samples/archive.js'
import { openSevenZip } from '../support/samples/seven-zip.js'

const inspect = async (reader: FormatReader, bytes: Buffer, changes = {}) => reader(toSource(bytes), limits(changes))
const text = 'a line of text that packs well\n'.repeat(40)

/** Nests a file in `depth` archives. */
async function wrapped(depth: number, wrap: (name: string, inner: Buffer) => Promise<Buffer>): Promise<Buffer> {
  let bytes: Buffer = Buffer.from(text)
  for (let level = 0; level < depth; level++) bytes = await wrap(level === 0 ? 'file.txt' : `level${level}`, bytes)
  return bytes
}
const inSevenZip = (name: string, inner: Buffer) => sevenZip({ [name]: inner })
const inZip = async (name: string, inner: Buffer) => zip([{ name, data: inner, stored: true }])
const inTar = (name: string, inner: Buffer) => createTar([{ name, data: inner }])

describe('content of 7z archives', () => {
  test.each<[string, () => Promise<Buffer>]>([
    ['a valid zip', async () => sevenZip({ 'a.zip': zip([{ name: 'a', data: text }]), 'b.txt': text })],
    ['a valid tar', async () => sevenZip({ 'a.tar': await createTar([{ name: 'a', data: text }]) })],
    ['another 7z', async () => wrapped(2, inSevenZip)],
    ['empty and other members', async () => sevenZip({ a: '', b: text, c: '', 'd.zip': zip([{ name: 'a', data: text }]) })],
  ])('reads %s in a 7z archive', async (_, make) => {
    expect(await inspect(readSevenZip, await make())).toEqual({ sound: true, notes: [], evidence: expect.anything() })
  })

  test('names the damaged member of a 7z archive, regardless of the member order', async () => {
    const complete = zip([{ name: 'a', data: text }])
    const bytes = await sevenZip({
      'a.txt': text,
      'good.zip': complete,
      empty: '',
      'bad.zip': complete.subarray(0, -30),
      'z.txt': noise(70_000),
    })
    expect(await inspect(readSevenZip, bytes)).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/'bad\.zip' is an archive that cannot be opened/)],
    })
  })

  test.each<[string, () => Promise<Buffer>, string]>([
    ['deeply nested 7z archives', () => wrapped(5, inSevenZip), 'nesting'],
    [
      'a zip with a name that leads outside',
      async () => sevenZip({ 'a.zip': zip([{ name: '../a', data: text }]) }),
      'archive_path',
    ],
    ['a bomb', async () => sevenZip({ 'a.gz': gzipSync(Buffer.alloc(30_000_000)) }), 'archive_ratio'],
    [
      'too many members',
      async () => sevenZip({ 'a.zip': zip(Array.from({ length: 1001 }, (_, at) => ({ name: `${at}` }))) }),
      'archive_entries',
    ],
  ])('rejects a 7z archive as malicious if it contains %s', async (_, make, maliciousConstruction) => {
    expect(await inspect(readSevenZip, await make())).toMatchObject({ sound: false, maliciousConstruction })
  })

  test('rejects a 7z archive as malicious if a link points outside the archive', async () => {
    const linking = async (target: string) => {
      const engine = await openSevenZip()
      engine.FS.mkdir('/in')
      engine.FS.writeFile('/in/a.txt', text)
      engine.FS.symlink(target, '/in/link')
      engine.callMain(['a', '-t7z', '-snl', '/made.7z', '/in'])
      return Buffer.from(engine.FS.readFile('/made.7z'))
    }
    expect(await inspect(readSevenZip, await linking('a.txt'))).toMatchObject({ sound: true })
    expect(await inspect(readSevenZip, await linking('../../etc/passwd'))).toMatchObject({
      sound: false,
      maliciousConstruction: 'archive_link',
    })
    expect(await inspect(readSevenZip, await linking('/etc/passwd'))).toMatchObject({
      sound: false,
      maliciousConstruction: 'archive_link',
    })
  })
})

describe('7z archives inside other archives', () => {
  test.each<[string, FormatReader, (name: string, inner: Buffer) => Promise<Buffer>]>([
    ['zip', readZip, inZip],
    ['tar', readTar, inTar],
    ['gzip', readGzip, async (_, inner) => gzipSync(inner)],
  ])('reads a 7z archive inside a %s', async (_, reader, wrap) => {
    expect(await inspect(reader, await wrap('a.7z', await wrapped(1, inSevenZip)))).toMatchObject({ sound: true, notes: [] })
    expect(await inspect(reader, await wrap('a.7z', await wrapped(5, inSevenZip)))).toMatchObject({
      sound: false,
      maliciousConstruction: 'nesting',
    })
    const cut = (await wrapped(1, inSevenZip)).subarray(0, -5)
    expect(await inspect(reader, await wrap('a.7z', cut))).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/cannot be opened/)],
    })
  })
})

describe('zip members that only 7-Zip can unpack', () => {
  test('reads zip members that only 7-Zip can unpack', async () => {
    const lzma = (members: Record<string, Buffer>) => sevenZip(members, ['-mm=LZMA'], 'zip')
    expect(await inspect(readZip, await lzma({ 'a.zip': zip([{ name: 'a', data: text }]) }))).toMatchObject({
      sound: true,
      notes: [],
    })
    const deep = await wrapped(5, inZip)
    expect(await inspect(readZip, await lzma({ 'a.zip': deep }))).toMatchObject({
      sound: false,
      maliciousConstruction: 'nesting',
    })
  })
})
