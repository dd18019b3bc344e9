import { describe, expect, test } from '@jest/globals'
import { keepRuns } from '../src/archive/sevenzip/kept-runs.js'
import { listMembers, type PackedMember, unpackMembers } from '../src/archive/sevenzip/members.js'
import { defaultLimits } from '../src/inspect.js'
import { MemorySource } from '../src/random-access-source.js'
import { sevenZip } from './support/samples/archive.js'

/** Counts how often it is read. */
class CountedSource extends MemorySource {
  reads = 0

  override read(offset: number, length: number): Buffer {
    this.reads++
    return super.read(offset, length)
  }
}

const limits = defaultLimits(60_000)

async function unpacked(source: MemorySource, members: PackedMember[]): Promise<number> {
  let bytes = 0
  const begin = () => ({ write: (chunk: Buffer) => void (bytes += chunk.length), end: () => {} })
  const run = await unpackMembers(source, { type: '7z', members, limits, begin })
  expect(run).toEqual({ exitCode: 0, complaints: [] })
  return bytes
}

describe('a reader and a scanner of one file', () => {
  test('have 7-Zip list and unpack it once', async () => {
    const source = new CountedSource(await sevenZip({ 'a.txt': 'words', 'b.txt': 'more' }))
    keepRuns(source)
    const { members } = await listMembers(source, '7z', limits)
    expect(await unpacked(source, members)).toBe(9)
    const { reads } = source
    expect((await listMembers(source, '7z', limits)).members).toEqual(members)
    expect(await unpacked(source, members)).toBe(9)
    expect([reads > 0, source.reads]).toEqual([true, reads])
  })

  test('have it unpack again what is too large to be kept, and what nobody asked to keep', async () => {
    for (const [size, kept] of [[17 * 1024 * 1024, true] as const, [100, false] as const]) {
      const source = new CountedSource(await sevenZip({ 'a.txt': Buffer.alloc(size, 'words') }))
      if (kept) keepRuns(source)
      const { members } = await listMembers(source, '7z', limits)
      expect(await unpacked(source, members)).toBe(size)
      const { reads } = source
      expect(await unpacked(source, members)).toBe(size)
      expect(source.reads).toBeGreaterThan(reads)
    }
  })

  test('hear the same complaints of a damaged one', async () => {
    const whole = await sevenZip({ 'a.txt': 'words '.repeat(500) }, ['-m0=Copy'])
    whole.fill(0, 100, 200)
    const source = new MemorySource(whole)
    keepRuns(source)
    const runs = []
    for (const _ of [1, 2]) {
      const { members } = await listMembers(source, '7z', limits)
      runs.push(await unpackMembers(source, { type: '7z', members, limits, begin: () => undefined }))
    }
    expect(runs[0]!.complaints.join()).toMatch(/CRC|Data Error/)
    expect(runs[1]).toEqual(runs[0])
  })
})
