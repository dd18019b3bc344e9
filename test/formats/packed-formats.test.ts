import { describe, expect, test } from '@jest/globals'
import { examine } from '../../packages/formats/src/inspect.js'
import { MemorySource } from '../../packages/formats/src/random-access-source.js'
import { damaged } from '../../packages/formats/test/support/format-reading.js'
import { createTar, noise, sevenZip } from '../../packages/formats/test/support/samples/archive.js'
import { cab, rar4, rar5 } from '../../packages/formats/test/support/samples/containers.js'

async function getVerdict(extension: string, bytes: Buffer) {
  return (await examine(new MemorySource(bytes, extension), { blank: true })).soundness?.verdict
}

const file = { name: 'a.bin', bytes: noise(2000) }
const zstd = Buffer.from(
  '28b52ffd641d008d02005404414e544956495255532d544553542d46494c452124482b482a2058354f2150254041505b345c505a58353428505e2937434329377d2445494341522d5354414e444152442d02003b312828103b98016c862c68',
  'hex',
)
const samples: [extension: string, make: () => Buffer | Promise<Buffer>][] = [
  ['rar', () => rar4(file)],
  ['rar', () => rar5(file)],
  ['cab', () => cab(file)],
  ['xz', () => sevenZip({ a: noise(2000) }, [], 'xz')],
  ['xz', async () => sevenZip({ a: await createTar([{ name: 'a', data: 'text' }]) }, [], 'xz')],
  ['bz2', () => sevenZip({ a: noise(2000) }, [], 'bzip2')],
  ['zst', () => zstd],
]

describe('7-Zip formats', () => {
  test.each(samples)('opens a valid .%s file and rejects a truncated one', async (extension, make) => {
    const bytes = await make()
    expect(await getVerdict(extension, bytes)).toMatchObject({ sound: true })
    expect(await getVerdict(extension, bytes.subarray(0, Math.floor(bytes.length / 2)))).toMatchObject({ sound: false })
    if (extension !== 'cab')
      expect(await getVerdict(extension, damaged(bytes, Math.floor(bytes.length / 2), 4, 0x55))).toMatchObject({ sound: false })
  })

  test('reads two concatenated compressed streams as one file', async () => {
    const [one, other] = [await sevenZip({ a: 'one' }, [], 'xz'), await sevenZip({ a: 'other' }, [], 'xz')]
    expect(await getVerdict('xz', Buffer.concat([one, other]))).toMatchObject({ sound: true })
    const [first, second] = [await sevenZip({ a: 'one' }, [], 'bzip2'), await sevenZip({ a: 'other' }, [], 'bzip2')]
    expect(await getVerdict('bz2', Buffer.concat([first, second]))).toMatchObject({ sound: true })
  })

  test('reports bytes after the end of compressed data', async () => {
    const padded = Buffer.concat([await sevenZip({ a: 'one' }, [], 'bzip2'), Buffer.alloc(512)])
    expect(await getVerdict('bz2', padded)).toMatchObject({ sound: true, notes: [expect.stringContaining('after the end')] })
    const trailing = Buffer.concat([await sevenZip({ a: 'one' }, [], 'xz'), noise(100)])
    expect(await getVerdict('xz', trailing)).toMatchObject({ sound: true, notes: [expect.stringContaining('after the end')] })
    expect(await getVerdict('rar', Buffer.concat([rar5(file), noise(100)]))).toMatchObject({ sound: true })
  })

  test('rejects an archive that contains a decompression bomb or a member path outside the archive', async () => {
    expect(await getVerdict('rar', rar5({ ...file, name: '../a' }))).toMatchObject({
      sound: false,
      maliciousConstruction: 'archive_path',
    })
    expect(await getVerdict('xz', await sevenZip({ a: Buffer.alloc(40_000_000) }, [], 'xz'))).toMatchObject({
      maliciousConstruction: 'archive_ratio',
    })
  })

  test('accepts a truncated volume of a split RAR archive', async () => {
    const volume = rar4(file)
    volume[10]! |= 1
    expect(await getVerdict('rar', volume.subarray(0, volume.length - 100))).toMatchObject({ sound: true })
  })

  test.each(['symbolic', 'hard'] as const)('accepts a RAR 5 %s link only to a target inside the archive', async (kind) => {
    const linked = (target: string) => getVerdict('rar', rar5(file, { name: 'b.bin', target, kind }))
    expect(await linked('a.bin')).toMatchObject({ sound: true, notes: [] })
    expect(await linked('../a.bin')).toMatchObject({ sound: false, maliciousConstruction: 'archive_link' })
  })

  test('accepts a RAR 5 file reference only if it points to a file inside the archive', async () => {
    const reference = (target: string) => getVerdict('rar', rar5(file, { name: 'b.bin', target, kind: 'copy' }))
    expect(await reference(file.name)).toMatchObject({
      sound: true,
      evidence: { entries: 2, unpacked_bytes: 2 * file.bytes.length },
    })
    expect(await reference('../a.bin')).toMatchObject({ sound: false })
  })

  test('reports a damaged file in a RAR archive even if a link has the same name', async () => {
    const link = { name: file.name, target: 'b', kind: 'symbolic' } as const
    expect(await getVerdict('rar', rar5(file, link))).toMatchObject({ sound: true, notes: [] })
    expect(await getVerdict('rar', rar5({ ...file, method: 3 }, link))).toMatchObject({ sound: false })
  })

  test('accepts any content in .rev and .msu files but not in .rar and .cab files', async () => {
    for (const extension of ['rev', 'msu']) expect(await getVerdict(extension, noise(3000))).toMatchObject({ sound: true })
    for (const extension of ['rar', 'cab']) expect(await getVerdict(extension, noise(3000))).toMatchObject({ sound: false })
  })

  test('detects encrypted RAR archives even if their headers are encrypted', async () => {
    for (const closed of ['file', 'directory'] as const)
      expect(await getVerdict('rar', rar4(file, { closed }))).toMatchObject({ sound: true, evidence: { encrypted: true } })
  })
})
