import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { openStorage } from '../../src/platform/storage/index.js'
import { DurableDirectories, writeDurably } from '../../src/platform/storage/local/disk.js'
import { toFilePath } from '../../src/platform/storage/local/layout.js'
import { LocalStorage } from '../../src/platform/storage/local/local.js'
import { DownloadUrls } from '../../src/platform/storage/signed-url.js'
import { inFile, inMemory, noise, readBytes } from '../contract/contents.js'

const secret = { id: 'sig_1', secret: Buffer.alloc(32, 1) }
const secrets = { getCurrentKey: async () => secret, findKey: async () => secret }
const type = { contentType: 'application/octet-stream' }

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'assay-local-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

const open = () => LocalStorage.open(root, new DownloadUrls('http://127.0.0.1', secrets))

describe('paths of local blobs', () => {
  test('distributes blobs among folders by the time in their ids', () => {
    expect(toFilePath('ten_a/invoices/2026/11/file_01kagz3m8nabcdefghjkmnpqrs')).toBe(
      'ten_a/invoices/2026/11/+file_01ka/+file_01kagz/+file_01kagz3m/file_01kagz3m8nabcdefghjkmnpqrs',
    )
    expect(toFilePath('a/short')).toBe('a/short')
  })

  test('creates at most 1,024 entries per folder for blobs from one year', () => {
    // Computes file paths without writing files.
    const children = new Map<string, Set<string>>()
    const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
    for (let at = 0; at < 100_000; at++) {
      let rest = 1_800_000_000_000 + at * 315_000
      let time = ''
      for (let place = 0; place < 10; place++, rest = Math.floor(rest / 32)) time = alphabet[rest % 32] + time
      const parts = toFilePath(`t/c/file_${time}0000000000000000`).split('/')
      for (let depth = 1; depth < parts.length; depth++) {
        const above = parts.slice(0, depth).join('/')
        children.set(above, (children.get(above) ?? new Set()).add(parts[depth] as string))
      }
    }
    expect([...children.values()].reduce((max, names) => Math.max(max, names.size), 0)).toBeLessThanOrEqual(1024)
  })

  test('deletes a time-window folder only when it is empty', async () => {
    const store = await open()
    const [old, fresh] = ['c/file_01kagz3m8nabcdefghjkmnpqrs', 'c/file_01kagz3m8nabcdefghjkmnpqrt']
    await store.put(old, inMemory(Buffer.from('old')), type)
    await utimes(store.getFilePath(old), 1, 1)
    await store.put(fresh, inMemory(Buffer.from('fresh')), type)
    await store.remove(old)
    expect((await readBytes(await store.open(fresh))).toString()).toBe('fresh')
    await utimes(store.getFilePath(fresh), 1, 1)
    await store.remove(fresh)
    expect(await readdir(join(root, 'c/+file_01ka'))).toEqual([])
    await store.put(old, inMemory(Buffer.from('again')), type)
    expect((await readBytes(await store.open(old))).toString()).toBe('again')
  })
})

describe('local store', () => {
  test('links a temporary file into a store on the same disk instead of copying it', async () => {
    const store = await open()
    const content = await inFile(join(root, '+tmp', 'upload'), noise(1000))
    await store.put('a/b', content, type)
    expect((await stat(store.getFilePath('a/b'))).ino).toBe((await stat(content.path as string)).ino)
    await rm(content.path as string)
    expect((await readBytes(await store.open('a/b'))).equals(noise(1000))).toBe(true)
  })

  test('writes in-memory content only once', async () => {
    const store = await open()
    await rm(join(root, '+tmp'), { recursive: true })
    await store.put('a/b', inMemory(noise(1000)), type)
    expect((await stat(store.getFilePath('a/b'))).nlink).toBe(1)
    const cut = { ...inMemory(noise(10)), size: 11 }
    await expect(store.put('a/cut', cut, type)).rejects.toMatchObject({ code: 'storage_unavailable' })
    const deleted = AbortSignal.abort(new Error('gone'))
    await expect(store.put('a/gone', inMemory(noise(10)), { ...type, signal: deleted })).rejects.toThrow()
    expect(await readdir(join(root, 'a'))).toEqual(['b'])
  })

  test('rejects content whose length differs from the declared length', async () => {
    const store = await open()
    await expect(store.put('a/b', { ...inMemory(noise(10)), size: 11 }, type)).rejects.toMatchObject({
      code: 'storage_unavailable',
    })
    const file = await inFile(join(root, '+tmp', 'upload'), noise(10))
    await expect(store.put('a/b', { ...file, size: 11 }, type)).rejects.toMatchObject({ code: 'storage_unavailable' })
    await rm(file.path as string)
    expect(await store.getSize('a/b')).toBeNull()
    expect(await readdir(join(root, '+tmp'))).toEqual([])
  })

  test('removes only the temporary files of killed processes at startup', async () => {
    const store = await open()
    await store.put('a/b', inMemory(Buffer.from('kept')), type)
    const dead = execFileSync(process.execPath, ['-e', 'console.log(process.pid)']).toString().trim()
    const script = `import('node:crypto').then(c=>console.log(c.createHash('sha256').update(require('os').hostname()).digest('hex').slice(0,8)))`
    const host = execFileSync(process.execPath, ['-e', script]).toString().trim()
    for (const name of [
      `${host}-${dead}-abc-1`,
      `${host}-${process.pid}-abc-1`,
      `${host}-${process.ppid}-abc-1`,
      'other-1-abc-1',
      'other-1-abc-2',
    ])
      await writeFile(join(root, '+tmp', name), 'x')
    await utimes(join(root, '+tmp', 'other-1-abc-2'), 1, 1)
    await open()
    expect((await readdir(join(root, '+tmp'))).sort()).toEqual([`${host}-${process.ppid}-abc-1`, 'other-1-abc-1'].sort())
    expect((await readBytes(await store.open('a/b'))).toString()).toBe('kept')
  })

  test('releases reserved disk space if a deletion needs it', async () => {
    const reserve = join(root, '+reserve')
    const noRoom = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'unlink' })
    const unlinkWithRoom: typeof unlink = async (path) => {
      if (await stat(reserve).catch(() => null)) throw noRoom
      await unlink(path)
    }
    const store = await LocalStorage.open(root, new DownloadUrls('http://127.0.0.1', secrets), { unlink: unlinkWithRoom })
    await store.put('c/first', inMemory(Buffer.from('first')), type)
    expect((await stat(reserve)).size).toBe(1_048_576)
    await store.remove('c/first')
    expect(await store.getSize('c/first')).toBeNull()
    expect((await stat(reserve)).size).toBe(1_048_576)
    expect((await store.list().next()).done).toBe(true)
  })

  test('reports an outage if an empty directory replaces the mounted disk', async () => {
    const store = await open()
    await store.put('a/b', inMemory(Buffer.from('x')), type)
    await rename(root, `${root}-away`)
    await mkdir(root)
    const unavailable = { code: 'storage_unavailable' }
    await expect(store.getSize('a/b')).rejects.toMatchObject(unavailable)
    await expect(store.remove('a/b')).rejects.toMatchObject(unavailable)
    await expect(store.list().next()).rejects.toMatchObject(unavailable)
    await expect(store.put('a/c', inMemory(Buffer.from('x')), type)).rejects.toMatchObject(unavailable)
    expect(await readdir(root)).toEqual([])
    await rm(root, { recursive: true })
    await rename(`${root}-away`, root)
    await store.assertReady()
  })

  test('does not block the event loop when it closes a file whose content is not synced', async () => {
    const [closeSync, close] = [jest.spyOn(fs, 'closeSync'), jest.spyOn(fs, 'close')]
    try {
      const content = async function* () {
        yield Buffer.from('unsynced')
        throw new Error('The content ended early.')
      }
      await expect(writeDurably(join(root, 'failed'), content())).rejects.toThrow('The content ended early.')
      expect([close.mock.calls.length, closeSync.mock.calls.length]).toEqual([1, 0])
      expect(await readdir(root)).toEqual([])
    } finally {
      closeSync.mockRestore()
      close.mockRestore()
    }
  })

  test('lists files whose paths are not valid blob paths, except files in the reserved folder', async () => {
    const store = await open()
    await store.put('a/blob', inMemory(Buffer.from('x')), type)
    await mkdir(join(root, '.assay'))
    await writeFile(join(root, '.assay/x'), 'reserved')
    await writeFile(join(root, 'a/line\nbreak'), 'foreign')
    await writeFile(join(root, `a/${'l'.repeat(201)}`), 'foreign')
    const listed = []
    for await (const { path, size } of store.list()) listed.push([path, size])
    expect(listed).toEqual([
      ['a/blob', 1],
      ['a/line\nbreak', 7],
      [`a/${'l'.repeat(201)}`, 7],
    ])
  })

  test('immediately reflects the changes that another store makes in the same directory', async () => {
    const [one, two] = [await open(), await open()]
    await one.put('a/b', inMemory(Buffer.from('x')), type)
    await expect(two.put('a/b', inMemory(Buffer.from('y')), type)).rejects.toThrow('Nothing was overwritten')
    await two.remove('a/b')
    expect(await one.getSize('a/b')).toBeNull()
  })

  test('shares one fsync of a directory among concurrent callers', async () => {
    const synced: string[] = []
    const directories = new DurableDirectories(root, async (directory) => void synced.push(directory))
    await Promise.all([directories.syncEntries(root), directories.syncEntries(root), directories.syncEntries(`${root}/a`)])
    expect(synced).toEqual([root, `${root}/a`])
    await directories.syncEntries(root)
    expect(synced).toEqual([root, `${root}/a`, root])
    await expect(new DurableDirectories(root).syncEntries(join(root, 'nowhere'))).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

describe('opening a store', () => {
  const openUrl = (storageUrl: string) => openStorage({ storageUrl, publicUrl: 'http://localhost' }, secrets)
  test.each([
    ['', 'It must be gs://bucket, s3://bucket?region=eu-central-1 or file:///directory'],
    ['/var/lib/assay', 'It must be gs://bucket, s3://bucket?region=eu-central-1 or file:///directory'],
    ['s3://bucket', 'It must be an S3 URL with a region'],
    ['gs://', 'It must be gs://bucket or gs://bucket/prefix'],
    ['gs://UPPER', 'It must be gs://bucket or gs://bucket/prefix'],
    ['gs://bucket?x=1', 'It must be gs://bucket or gs://bucket/prefix'],
    ['file://server/share', 'It must be the URL of a local directory'],
    ['file:///', 'It must be the URL of a local directory'],
  ])('reports the error in the storage URL %j', async (url, message) => {
    await expect(openUrl(url)).rejects.toThrow(message)
  })

  test('reports an inaccessible store directory in one sentence', async () => {
    await writeFile(join(root, 'a-file'), '')
    await expect(openUrl(`file://${root}/a-file/store`)).rejects.toThrow(
      /^The file store cannot use '.*' as its directory at the moment \(.+\)\. Retry later\.$/,
    )
  })

  test('opens a bucket store without sending a request', async () => {
    const storage = await openUrl('gs://some-bucket/a/prefix/')
    expect([storage.kind, storage.description]).toEqual(['gcs', 'gs://some-bucket/a/prefix'])
    await storage.close()
  })
})
