import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Spool } from '../../src/platform/spool/spool.js'
import { noise } from '../contract/contents.js'

let directory: string
let spool: Spool
const open = async () => {
  spool = await Spool.open({ directory })
}
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'assay-spool-'))
})
afterEach(async () => {
  await spool.close()
  expect(await readdir(directory)).toEqual([])
  await rm(directory, { recursive: true })
})

const large = noise(5_000_000)
const take = (bytes: Buffer, { limit = bytes.length, expectedBytes = 0 } = {}) =>
  spool.receive(Readable.from([bytes.subarray(0, 1000), bytes.subarray(1000)], { objectMode: false }), () => limit, {
    expectedBytes,
  })
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

test('writes a large upload to a temporary file and deletes the file when the upload is disposed of', async () => {
  await open()
  const { content, dispose, sizeBytes } = await take(large)
  expect(sizeBytes).toBe(large.length)
  expect(content).toMatchObject({ size: large.length, sha256: sha256(large) })
  expect((await readFile(content!.path!)).equals(large)).toBe(true)
  await dispose()
  await dispose()
  await expect(stat(content!.path!)).rejects.toMatchObject({ code: 'ENOENT' })
})

test('keeps a small upload in memory and rejects an upload above its limit', async () => {
  await open()
  const small = await take(noise(1000))
  expect(small.content).toMatchObject({ size: 1000, bytes: noise(1000) })
  const over = await take(large, { limit: large.length - 1 })
  expect(over.content).toBeUndefined()
  expect(await readdir(spool.directory)).toEqual([])
  await small.dispose()
})

test('computes the digest of the largest upload that is kept in memory', async () => {
  await open()
  const bytes = noise(256 * 1024)
  const { content, dispose } = await take(bytes)
  expect(content!.bytes!.equals(bytes)).toBe(true)
  expect(content!.sha256).toBe(sha256(bytes))
  expect(await readdir(spool.directory)).toEqual([])
  await dispose()
})

test('writes an upload with a large declared size directly to a file', async () => {
  await open()
  const { content, dispose } = await take(noise(2000), { expectedBytes: 100_000_000 })
  expect([content!.bytes, (await readFile(content!.path!)).length]).toEqual([undefined, 2000])
  await dispose()
})

test.each([300_000, 1_100_000, 4 * 1024 * 1024])('keeps an upload with a declared length of %i bytes in memory', async (size) => {
  await open()
  for (const bytes of [noise(size), noise(size / 2)]) {
    const { content, dispose } = await take(bytes, { expectedBytes: size + 500 })
    expect(content!.path).toBeUndefined()
    expect(content!.bytes!.equals(bytes)).toBe(true)
    expect(content!.sha256).toBe(sha256(bytes))
    expect(Buffer.concat(await content!.stream({ start: 5, end: 9 }).toArray()).equals(bytes.subarray(5, 10))).toBe(true)
    await dispose()
  }
  expect(await readdir(spool.directory)).toEqual([])
})

test('writes the entire upload to a temporary file if the upload is larger than declared', async () => {
  await open()
  const { content, dispose } = await take(large, { expectedBytes: 500_000 })
  expect((await readFile(content!.path!)).equals(large)).toBe(true)
  expect(content!.sha256).toBe(sha256(large))
  await dispose()
})

test.each([1_000, 100_000, 3_000_000])('discards an upload of %i bytes if its limit is lowered below its size', async (size) => {
  for (const expectedBytes of [0, size]) {
    let requested = 0
    const limit = () => (requested++ === 0 ? Number.POSITIVE_INFINITY : size - 1)
    const source = Readable.from([noise(size)], { objectMode: false })
    const { content, sizeBytes } = await spool.receive(source, limit, { expectedBytes })
    expect([content, sizeBytes]).toEqual([undefined, size])
  }
})

test('releases the memory of an upload that exceeds its limit', async () => {
  spool = await Spool.open({ directory, memoryBudget: 4_500_000 })
  for (let times = 0; times < 3; times++) {
    expect((await take(noise(2_900_000), { limit: 2_800_000, expectedBytes: 2_900_000 })).content).toBeUndefined()
    const { content, dispose } = await take(noise(2_900_000), { expectedBytes: 2_900_000 })
    expect(content!.path).toBeUndefined()
    await dispose()
  }
})

test('limits the total memory of uploads, and writes uploads above the limit to files', async () => {
  spool = await Spool.open({ directory, memoryBudget: 10_000 })
  const held = await Promise.all([take(noise(4000)), take(noise(4000))])
  const [beyond] = [await take(noise(4000))]
  expect([...held, beyond].map(({ content }) => content!.path === undefined)).toEqual([true, true, false])
  expect(await readFile(beyond!.content!.path!)).toEqual(noise(4000))
  await held[0]!.dispose()
  const again = await take(noise(4000))
  expect(again.content!.path).toBeUndefined()
  for (const each of [...held, beyond!, again]) await each.dispose()
})

test('releases the chunks of an upload after they are consumed', async () => {
  await open()
  const held = () => process.memoryUsage().arrayBuffers
  const before = held()
  let max = 0
  function* body() {
    for (let sent = 0; sent < 1600; sent++) {
      yield Buffer.alloc(64 * 1024)
      max = Math.max(max, held() - before)
    }
  }
  const { dispose } = await spool.receive(Readable.from(body(), { objectMode: false }), () => Number.POSITIVE_INFINITY, {
    expectedBytes: 100_000_000,
  })
  // The garbage collector decides when to free memory. Keeping all memory would exceed twice this value.
  expect(max).toBeLessThan(50_000_000)
  await dispose()
})

describe('upload memory', () => {
  const size = 300_000
  const receive = (byte: number, bytes = size) => take(Buffer.alloc(bytes, byte), { expectedBytes: bytes })

  test("reuses an upload's buffer only after the buffer is recycled", async () => {
    await open()
    const read = await receive(1)
    await read.dispose()
    const unread = await receive(2)
    expect(unread.content!.bytes!.buffer).not.toBe(read.content!.bytes!.buffer)
    unread.recycle!()
    const next = await receive(3)
    expect(next.content!.bytes!.buffer).toBe(unread.content!.bytes!.buffer)
    expect(read.content!.bytes!.equals(Buffer.alloc(size, 1))).toBe(true)
    await next.dispose()
  })

  test('never assigns a memory block to two uploads', async () => {
    await open()
    const before = await receive(1)
    before.recycle!()
    before.recycle!()
    await before.dispose()
    const uploads = [await receive(2), await receive(3)]
    expect(uploads.map(({ content }) => content!.bytes![size - 1])).toEqual([2, 3])
    for (const upload of uploads) await upload.dispose()
  })

  test('counts idle memory blocks towards the budget', async () => {
    spool = await Spool.open({ directory, memoryBudget: 1_000_000 })
    for (const each of [await receive(1), await receive(2), await receive(3)]) each.recycle!()
    const [complete, beyond] = [await receive(4, 900_000), await receive(5)]
    expect(complete.content!.path).toBeUndefined()
    expect(beyond.content!.path).toBeDefined()
    for (const upload of [complete, beyond]) await upload.dispose()
  })
})
