import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { getInflateErrorMessage, inflateChunks } from '../../src/archive/inflate.js'
import { noise } from '../support/samples/archive.js'

const packers = { raw: deflateRawSync, zlib: deflateSync, gzip: gzipSync }
const kinds = ['raw', 'zlib', 'gzip'] as const

const content = Buffer.concat([Buffer.alloc(300_000, 'words, '), noise(200_000), Buffer.alloc(300_000)])

function* inChunks(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function complete(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const chunk of chunks) all.push(Buffer.from(chunk))
  return Buffer.concat(all)
}

async function findProblem(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => undefined,
    (error) => getInflateErrorMessage(error),
  )
}

describe.each(kinds)('data in %s format', (kind) => {
  const packed = packers[kind](content)

  test('inflates data in chunks of any size and reports the length of the compressed data', async () => {
    for (const size of [1000, 65_536, packed.length]) {
      let consumed = 0
      const out = await complete(inflateChunks(kind, inChunks(packed, size), (bytes) => (consumed = bytes)))
      expect([out.equals(content), consumed]).toEqual([true, packed.length])
    }
  })

  test('stops inflating at the end of the compressed data', async () => {
    const followed = Buffer.concat([packed, Buffer.alloc(5000)])
    for (const size of [packed.length, 1000, followed.length]) {
      let consumed = 0
      const out = await complete(inflateChunks(kind, inChunks(followed, size), (bytes) => (consumed = bytes)))
      expect([out.equals(content), consumed]).toEqual([true, packed.length])
    }
  })

  test('rejects compressed data that is truncated or in another format', async () => {
    expect(await findProblem(complete(inflateChunks(kind, [packed.subarray(0, -9)])))).toBe('unexpected end of file')
    expect(await findProblem(complete(inflateChunks(kind, [])))).toBe('unexpected end of file')
    expect(await findProblem(complete(inflateChunks(kind, [Buffer.alloc(100, 0xff)])))).toMatch(
      /^(invalid block type|incorrect header check)$/,
    )
    expect((await complete(inflateChunks(kind, [packed]))).equals(content)).toBe(true)
  })

  test('inflates consecutive streams with different window sizes', async () => {
    const one = fc.record({
      from: fc.nat(content.length),
      bits: fc.integer({ min: 9, max: 15 }),
      size: fc.integer({ min: 100, max: 99_999 }),
    })
    const property = fc.asyncProperty(fc.array(one, { minLength: 1, maxLength: 4 }), fc.nat(3), async (streams, remaining) => {
      const open = streams.map(({ from, bits, size }) => ({
        expected: content.subarray(from),
        chunks: inflateChunks(kind, inChunks(packers[kind](content.subarray(from), { windowBits: bits }), size)),
        out: [] as Buffer[],
        over: false,
      }))
      while (open.some(({ over }) => !over))
        for (const stream of open) {
          const next = await stream.chunks.next()
          stream.over = next.done === true
          if (!next.done) stream.out.push(Buffer.from(next.value))
        }
      for (let count = 0; count < remaining; count++)
        for await (const _ of inflateChunks(kind, [packed])) {
          await findProblem(complete(inflateChunks(kind, [Buffer.alloc(9, 0xff)])))
          break
        }
      return open.every(({ out, expected }) => Buffer.concat(out).equals(expected))
    })
    await fc.assert(property, { numRuns: 40, seed: 20_261_123 })
  })
})

test('inflates consecutive gzip members in chunks of any size', async () => {
  const two = Buffer.concat([gzipSync('one, '), gzipSync('two')])
  for (let size = 1; size <= two.length; size++)
    expect((await complete(inflateChunks('gzip', inChunks(two, size)))).toString()).toBe('one, two')
})

test('rethrows an error from the source stream while inflating', async () => {
  const failing = (function* () {
    yield deflateSync(content).subarray(0, 100)
    throw new Error('the disk is gone')
  })()
  await expect(complete(inflateChunks('zlib', failing))).rejects.toThrow('the disk is gone')
})
