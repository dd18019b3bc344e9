import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { newId } from '../../src/platform/ids.js'
import { comparePaths } from '../../src/platform/storage/blob-path.js'
import { BlobExistsError, type BlobStorage } from '../../src/platform/storage/blob-storage.js'
import { watchUnhandledErrors } from '../support/residue.js'
import { breaking, inFile, inMemory, noise, readBytes } from './contents.js'

/** A blob store whose backend a test can stop. */
export interface StoreUnderTest {
  storage: BlobStorage
  /** Makes the store's backend unavailable. */
  down(): Promise<void>
  up(): Promise<void>
  /** Lists leftover temporary files and sessions, and connections after `storage.close()`. */
  temporaryFiles(): Promise<string[]>
  close(): Promise<void>
}

const type = { contentType: 'application/octet-stream' }
const unavailable = { code: 'storage_unavailable', retryAfter: expect.any(Number) }

/** Contract tests that every blob store must pass. */
export function blobStorageContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`blob storage contract: ${name}`, () => {
    let store: StoreUnderTest
    let storage: BlobStorage
    let watch: ReturnType<typeof watchUnhandledErrors>

    beforeEach(async () => {
      watch = watchUnhandledErrors()
      store = await open()
      storage = store.storage
    })

    afterEach(async () => {
      await store.up()
      const remaining = await store.temporaryFiles()
      await store.close()
      // An unhandled rejection is reported in the next event loop turn.
      await new Promise(setImmediate)
      watch.stop()
      expect([...remaining, ...watch.faults()]).toEqual([])
    })

    const put = (path: string, bytes: Buffer | string = path) => storage.put(path, inMemory(Buffer.from(bytes)), type)
    const read = async (path: string, range?: { start: number; end: number }) => readBytes(await storage.open(path, range))
    const listed = async (after?: string) => {
      const paths = []
      for await (const blob of storage.list(after)) paths.push(blob.path)
      return paths
    }

    test('reads the complete content of a stored blob', async () => {
      const bytes = noise(300_000)
      await put('ten_a/invoices/2026/11/file_1', bytes)
      expect((await read('ten_a/invoices/2026/11/file_1')).equals(bytes)).toBe(true)
      expect(await storage.getSize('ten_a/invoices/2026/11/file_1')).toBe(300_000)
    })

    test('stores all bytes of a temporary file without deleting it', async () => {
      const file = join(tmpdir(), newId('req'))
      for (const [path, size] of [
        ['a/small', 100_000],
        ['a/large', 17_000_001],
      ] as const) {
        const content = await inFile(file, noise(size))
        await storage.put(path, content, type)
        await rm(file, { force: true })
        expect((await read(path)).equals(noise(size))).toBe(true)
      }
    })

    test('reads blob ranges with inclusive bounds', async () => {
      const bytes = noise(1000)
      await put('a/b', bytes)
      expect(await read('a/b', { start: 10, end: 19 })).toEqual(bytes.subarray(10, 20))
      expect(await read('a/b', { start: 0, end: 0 })).toEqual(bytes.subarray(0, 1))
      expect(await read('a/b', { start: 999, end: 999 })).toEqual(bytes.subarray(999))
      expect(await read('a/b', { start: 990, end: 5000 })).toEqual(bytes.subarray(990))
      expect(await read('a/b', { start: 1000, end: 1000 })).toHaveLength(0)
    })

    test('stores an empty blob', async () => {
      await put('a/empty', '')
      expect(await storage.getSize('a/empty')).toBe(0)
      expect(await read('a/empty')).toHaveLength(0)
    })

    test('reports a missing blob as not found, but allows its deletion', async () => {
      await expect(storage.open('a/nothing')).rejects.toMatchObject({ code: 'not_found' })
      expect(await storage.getSize('a/nothing')).toBeNull()
      await storage.remove('a/nothing')
    })

    test('reports a deleted blob as not found, but allows its repeated deletion', async () => {
      await put('a/b')
      await storage.remove('a/b')
      await storage.remove('a/b')
      expect(await storage.getSize('a/b')).toBeNull()
      await expect(storage.open('a/b')).rejects.toMatchObject({ code: 'not_found' })
      expect(await listed()).toEqual([])
    })

    test('copies a complete blob, and keeps the copy after the source is deleted', async () => {
      await put('a/b', 'first')
      await storage.copy('a/b', 'c/d')
      await storage.remove('a/b')
      expect((await read('c/d')).toString()).toBe('first')
      await expect(storage.copy('a/b', 'e/f')).rejects.toMatchObject({ code: 'not_found' })
      expect(await listed()).toEqual(['c/d'])
    })

    test('never overwrites a blob, regardless of the size of the new content', async () => {
      await put('a/b', 'first')
      await expect(put('a/b', 'second')).rejects.toBeInstanceOf(BlobExistsError)
      await expect(put('a/b', noise(9 * 1024 * 1024))).rejects.toBeInstanceOf(BlobExistsError)
      expect((await read('a/b')).toString()).toBe('first')
    })

    test('stores exactly one of twenty concurrent writes to the same path', async () => {
      const contents = Array.from({ length: 20 }, (_, index) => noise(50_000, index + 1))
      const outcomes = await Promise.allSettled(contents.map((bytes) => put('a/same', bytes)))
      const won = outcomes.flatMap((outcome, index) => (outcome.status === 'fulfilled' ? [index] : []))
      expect(won).toHaveLength(1)
      expect((await read('a/same')).equals(contents[won[0] as number] as Buffer)).toBe(true)
      for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(BlobExistsError)
    })

    test('stores all bytes of twenty concurrent blob uploads', async () => {
      const paths = Array.from({ length: 20 }, () => `ten_a/invoices/${newId('file')}`)
      await Promise.all(paths.map((path, index) => put(path, noise(40_000, index + 1))))
      for (const [index, path] of paths.entries()) expect((await read(path)).equals(noise(40_000, index + 1))).toBe(true)
      expect(await listed()).toEqual(paths.sort(comparePaths))
    })

    test('lists more than a thousand blobs in order, with their sizes, starting after any path', async () => {
      const paths = Array.from({ length: 1100 }, (_, index) => `many/${index % 7}/file_${String(index).padStart(20, '0')}`).sort(
        comparePaths,
      )
      for (let at = 0; at < paths.length; at += 50) await Promise.all(paths.slice(at, at + 50).map((path) => put(path, 'x')))
      expect(await listed()).toEqual(paths)
      expect(await listed(paths[1050])).toEqual(paths.slice(1051))
      expect(await listed('many/3/')).toEqual(paths.filter((path) => path > 'many/3/'))
      for await (const { size, storedAt } of storage.list(paths[1098])) {
        expect(size).toBe(1)
        expect(Math.abs(Date.now() - storedAt.getTime())).toBeLessThan(60 * 60 * 1000)
      }
    })

    test('distinguishes blob paths with common prefixes and lists them in byte order', async () => {
      const paths = [
        'images/a',
        'images-2/a',
        'images2/a',
        'images/a-longer-name-than-13',
        'images/a-longer-name',
        'images/a-lon',
        'images/a0',
      ]
      paths.push('images/\u{1f600}-and-something-more', 'images/\uff21-and-something-more')
      for (const path of paths) await put(path)
      const sorted = paths.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      expect(await listed()).toEqual(sorted)
      for (const [index, path] of sorted.entries()) expect(await listed(path)).toEqual(sorted.slice(index + 1))
      await storage.remove('images/a')
      expect(await storage.getSize('images2/a')).toBe(9)
    })

    test.each([
      'a/with space',
      'a/100%25 #1?x=y&z',
      'a/+plus',
      'a/!mark',
      'a/++two-and-a-long-name',
      'a/.hidden',
      'a/..two',
      `a/quote"'\\back`,
      'a/müll/文件',
      '+tmp/a',
      '+assay-store',
      `a/${'x'.repeat(200)}`,
      'single',
    ])('stores a blob at the unusual path %s', async (path) => {
      await put(path)
      expect((await read(path)).toString()).toBe(path)
      expect(await listed()).toEqual([path])
      await storage.remove(path)
      expect(await storage.getSize(path)).toBeNull()
    })

    test.each(['', '/a', 'a/', 'a//b', '../a', 'a/../../b', 'a/./b', 'a\0b', 'a\nb', '.assay/x', `a/${'x'.repeat(201)}`])(
      'rejects the invalid blob path %j in every storage method',
      async (path) => {
        await expect(put(path, 'x')).rejects.toThrow(TypeError)
        await expect(storage.open(path)).rejects.toThrow(TypeError)
        await expect(storage.getSize(path)).rejects.toThrow(TypeError)
        await expect(storage.remove(path)).rejects.toThrow(TypeError)
      },
    )

    test.each([300_000, 20_000_000])('leaves no blob of a %d-byte upload behind if its source fails', async (size) => {
      await expect(storage.put('a/broken', breaking(noise(size), Math.floor(size * 0.7)), type)).rejects.toThrow(
        'the source failed',
      )
      expect(await storage.getSize('a/broken')).toBeNull()
      expect(await listed()).toEqual([])
    })

    test.each([300_000, 20_000_000])('leaves no blob of a %d-byte upload behind if its caller aborts it', async (size) => {
      const giveUp = new AbortController()
      const putting = storage.put('a/given-up', { ...breaking(noise(size), size), size }, { ...type, signal: giveUp.signal })
      setImmediate(() => giveUp.abort(new Error('given up')))
      await expect(putting).rejects.toThrow('given up')
      expect(await storage.getSize('a/given-up')).toBeNull()
    })

    test('fails within a limited time while the store is down, and recovers afterwards', async () => {
      await put('a/before')
      await storage.assertReady()
      await store.down()
      await Promise.all([
        expect(put('a/during')).rejects.toMatchObject(unavailable),
        expect(storage.put('a/large', inMemory(noise(9 * 1024 * 1024)), type)).rejects.toMatchObject(unavailable),
        expect(storage.open('a/before')).rejects.toMatchObject(unavailable),
        expect(storage.getSize('a/before')).rejects.toMatchObject(unavailable),
        expect(storage.remove('a/before')).rejects.toMatchObject(unavailable),
        expect(listed()).rejects.toMatchObject(unavailable),
        expect(storage.assertReady()).rejects.toMatchObject(unavailable),
      ])
      await store.up()
      await storage.assertReady()
      await put('a/after')
      expect(await listed()).toEqual(['a/after', 'a/before'])
      expect((await read('a/before')).toString()).toBe('a/before')
    })

    test('leaves no open file handle if a blob reader stops early', async () => {
      await put('a/large', noise(5_000_000))
      const stream = await storage.open('a/large')
      for await (const chunk of stream) {
        expect(chunk.length).toBeGreaterThan(0)
        break
      }
      expect(stream.destroyed).toBe(true)
    })
  })
}
