import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { newId } from '../../src/platform/ids.js'
import { BlobExistsError } from '../../src/platform/storage/blob-storage.js'
import { GcsStorage } from '../../src/platform/storage/gcs/gcs.js'
import { inMemory, noise, readBytes } from '../contract/contents.js'
import { BucketEmulator } from '../support/bucket/bucket.js'
import type { BucketCall, Fault } from '../support/bucket/faults.js'
import { createServiceAccount } from '../support/bucket/service-account.js'

const account = createServiceAccount()
const type = { contentType: 'application/pdf' }
const large = noise(9 * 1024 * 1024 + 7)
// Timeouts are long because a stalling machine must not change the number of calls.
const limits = { requestMs: 10_000, idleMs: 10_000, callMs: 20_000, retryDelayMs: 10 }
const shortRequestLimits = { requestMs: 1000, idleMs: 1000, callMs: 5000, retryDelayMs: 10 }
const unavailable = { code: 'storage_unavailable' }

let keys: string
let keyFile: string
let bucket: BucketEmulator
let storage: GcsStorage
/** A store with short timeouts for a bucket that does not respond. */
let shortRequestStorage: GcsStorage
/** A store with a short total timeout. */
let shortCallStorage: GcsStorage

beforeAll(async () => {
  keys = await mkdtemp(join(tmpdir(), 'assay-key-'))
  keyFile = await account.writeTo(join(keys, 'key.json'))
})
afterAll(() => rm(keys, { recursive: true }))

beforeEach(async () => {
  bucket = await BucketEmulator.start({ name: 'blobs', accounts: { [account.email]: account.publicKey } })
  storage = new GcsStorage({ bucket: 'blobs', emulatorHost: bucket.url, keyFile, limits })
  shortRequestStorage = new GcsStorage({ bucket: 'blobs', emulatorHost: bucket.url, keyFile, limits: shortRequestLimits })
  shortCallStorage = new GcsStorage({
    bucket: 'blobs',
    emulatorHost: bucket.url,
    keyFile,
    limits: { requestMs: 100, idleMs: 100, callMs: 300, retryDelayMs: 10 },
  })
})
afterEach(async () => {
  await Promise.all([storage.close(), shortRequestStorage.close(), shortCallStorage.close()])
  await bucket.stop()
})

const calls = (kind: BucketCall) => bucket.calls.filter((call) => call === kind).length
const readBack = async (path: string, store = storage) => readBytes(await store.open(path))

describe('bucket uploads', () => {
  test('uploads a small object in a single request and a large object in chunks', async () => {
    await storage.put('a/small', inMemory(noise(100_000)), type)
    expect(bucket.calls).toEqual(['upload'])
    await storage.put('a/large', inMemory(large), type)
    expect(bucket.calls.slice(1)).toEqual(['session', 'chunk', 'chunk'])
    expect(bucket.objects.get('a/large')).toMatchObject({ contentType: 'application/pdf' })
    expect((await readBack('a/large')).equals(large)).toBe(true)
  })

  const passing: [string, Fault][] = [
    ['503', { kind: 'status', status: 503 }],
    ['429', { kind: 'status', status: 429 }],
    ['a disconnection', { kind: 'cut' }],
    ['a lost response', { kind: 'lost' }],
    ['a missing response', { kind: 'silent' }],
  ]

  test.each(passing)('completes a small bucket upload despite %s', async (_name, fault) => {
    bucket.faults.plan('upload', fault, fault.kind === 'silent' ? 1 : 2)
    await (fault.kind === 'silent' ? shortRequestStorage : storage).put('a/small', inMemory(noise(100_000)), type)
    expect((await readBack('a/small')).equals(noise(100_000))).toBe(true)
  })

  test.each(passing)('completes a large bucket upload despite %s', async (_name, fault) => {
    if (fault.kind !== 'lost') bucket.faults.plan('session', fault)
    bucket.faults.plan('chunk', fault)
    await (fault.kind === 'silent' ? shortRequestStorage : storage).put('a/large', inMemory(large), type)
    expect((await readBack('a/large')).equals(large)).toBe(true)
  })

  test.each([
    ['a/small', 100_000],
    ['a/large', 9_000_000],
  ])('does not store a second blob after a lost response (%s)', async (path, size) => {
    bucket.faults.plan(size > 1_000_000 ? 'chunk' : 'upload', { kind: 'lost' }, 2)
    await storage.put(path, inMemory(noise(size)), type)
    await expect(storage.put(path, inMemory(noise(size)), type)).rejects.toBeInstanceOf(BlobExistsError)
    expect(bucket.objects.names).toEqual([path])
  })

  test.each([
    ['upload', 100_000],
    ['chunk', 9_000_000],
  ] as const)('detects and deletes incorrect bytes stored by a bucket (%s)', async (call, size) => {
    bucket.faults.plan(call, { kind: 'wrong-crc32c' }, 3)
    await expect(storage.put('a/b', inMemory(noise(size)), type)).rejects.toMatchObject(unavailable)
    expect(bucket.objects.names).toEqual([])
  })

  test('allows a longer timeout for a small bucket upload than for other requests', async () => {
    bucket.faults.plan('upload', { kind: 'slow', ms: shortRequestLimits.requestMs + 400 })
    await shortRequestStorage.put('a/slow', inMemory(noise(1000)), type)
    expect(calls('upload')).toBe(1)
  })

  test('detects a truncated bucket response immediately and queries the upload status', async () => {
    bucket.faults.plan('upload', { kind: 'half' })
    await storage.put('a/small', inMemory(noise(1000)), type)
    expect(bucket.calls).toEqual(['upload', 'upload', 'metadata'])
  })

  test.each([
    ['upload', 100_000],
    ['session', 9_000_000],
  ] as const)('retries once if the bucket responds with 412 but has no such object (%s)', async (call, size) => {
    bucket.faults.plan(call, { kind: 'status', status: 412 })
    await storage.put('a/b', inMemory(noise(size)), type)
    bucket.faults.plan(call, { kind: 'status', status: 412 }, 2)
    await expect(storage.put('a/c', inMemory(noise(size)), type)).rejects.toMatchObject(unavailable)
    expect(bucket.objects.names).toEqual(['a/b'])
  })

  test.each([
    ['upload', 400, 100_000],
    ['chunk', 400, 9_000_000],
    ['chunk', 404, 9_000_000],
    ['chunk', 410, 9_000_000],
  ] as const)('retries a request of type %s only once if it is rejected with %i', async (call, status, size) => {
    bucket.faults.plan(call, { kind: 'status', status })
    await storage.put('a/b', inMemory(noise(size)), type)
    expect((await readBack('a/b')).equals(noise(size))).toBe(true)
    // The bucket also rejects the request that cancels the first session.
    bucket.faults.plan(call, { kind: 'status', status }, call === 'chunk' ? 3 : 2)
    await expect(storage.put('a/c', inMemory(noise(size)), type)).rejects.toMatchObject(unavailable)
    expect(bucket.objects.names).toEqual(['a/b'])
  })

  test("returns the bucket's Retry-After header to the caller", async () => {
    bucket.faults.plan('upload', { kind: 'status', status: 503, headers: { 'Retry-After': '120' }, body: 'busy' }, 5)
    await expect(storage.put('a/b', inMemory(noise(10)), type)).rejects.toMatchObject({ ...unavailable, retryAfter: 120 })
  })

  test('reports a permanent bucket error without a retry', async () => {
    bucket.faults.plan('upload', { kind: 'status', status: 403 })
    await expect(storage.put('a/b', inMemory(noise(10)), type)).rejects.toMatchObject(unavailable)
    expect(calls('upload')).toBe(1)
  })

  test.each(['session', 'chunk', 'upload'] as const)('stops retrying a bucket that always returns 503 (%s)', async (call) => {
    bucket.faults.plan(call, { kind: 'status', status: 503 }, 1000)
    await expect(shortCallStorage.put('a/b', inMemory(call === 'upload' ? noise(10) : large), type)).rejects.toMatchObject(
      unavailable,
    )
    // The last bytes may arrive late, but the bucket still returns 503.
    expect(bucket.objects.names).toEqual([])
    // Retries of one kind of call do not prevent those of another.
    bucket.faults.plan('metadata', { kind: 'status', status: 503 }, 2)
    expect(await storage.getSize('a/b')).toBeNull()
  })
})

describe('bucket reads', () => {
  beforeEach(async () => {
    bucket.objects.store({ name: 'a/b' }, noise(500_000))
  })

  test('rejects a truncated download from the bucket', async () => {
    bucket.faults.plan('media', { kind: 'cut' })
    await expect(readBack('a/b')).rejects.toMatchObject(unavailable)
    expect((await readBack('a/b')).equals(noise(500_000))).toBe(true)
  })

  test.each<[BucketCall, (store: GcsStorage) => Promise<unknown>]>([
    ['metadata', (store) => store.getSize('a/b')],
    ['media', (store) => readBack('a/b', store)],
    ['list', (store) => store.list().next()],
    ['delete', (store) => store.remove('a/b')],
    ['upload', (store) => store.assertReady()],
  ])('retries a %s request after 503 responses and lost connections until the timeout', async (call, doing) => {
    bucket.faults.plan(call, { kind: 'status', status: 503 })
    bucket.faults.plan(call, { kind: 'silent' })
    if (call !== 'media') bucket.faults.plan(call, { kind: 'cut' })
    await doing(shortRequestStorage)
    bucket.faults.plan(call, { kind: 'silent' }, 50)
    await expect(doing(shortCallStorage)).rejects.toMatchObject(unavailable)
  })

  test('reads an object in each bucket readiness check, but writes it only in the first one', async () => {
    bucket.faults.plan('upload', { kind: 'lost' })
    for (let requested = 0; requested < 5; requested++) await storage.assertReady()
    expect([calls('upload'), calls('media'), calls('delete')]).toEqual([2, 5, 0])
    await shortRequestStorage.assertReady()
    expect(bucket.objects.names).toHaveLength(2)
    expect((await storage.list().next()).value?.path).toBe('a/b')
  })

  test('treats a bucket object as empty if it has no size', async () => {
    bucket.objects.store({ name: 'a/empty' }, Buffer.alloc(0))
    bucket.omitsZeroSize = true
    expect(await storage.getSize('a/empty')).toBe(0)
    const listed = []
    for await (const { path, size } of storage.list()) listed.push([path, size])
    expect(listed).toContainEqual(['a/empty', 0])
    await storage.put('a/another', inMemory(Buffer.alloc(0)), type)
  })

  test('does not affect other readers if a bucket reader stops early', async () => {
    bucket.objects.store({ name: 'a/large' }, large)
    const others = Promise.all(Array.from({ length: 5 }, () => readBack('a/large')))
    const leaving = await storage.open('a/large')
    leaving.destroy()
    for (const bytes of await others) expect(bytes.equals(large)).toBe(true)
    expect(calls('media')).toBe(6)
  })
})

describe('inaccessible buckets', () => {
  test("includes the storage provider's message in the error for a wrong bucket name or a missing permission", async () => {
    const wrong = new GcsStorage({ bucket: 'blobz', emulatorHost: bucket.url, keyFile, limits })
    await expect(wrong.assertReady()).rejects.toMatchObject({
      ...unavailable,
      message: "The bucket 'blobz' rejected the request: The specified bucket does not exist.",
    })
    await wrong.close()
    const body = JSON.stringify({ error: { code: 403, message: 'a@b does not have storage.objects.create access.' } })
    bucket.faults.plan('upload', { kind: 'status', status: 403, headers: {}, body })
    await expect(storage.assertReady()).rejects.toMatchObject({
      message: "The bucket 'blobs' rejected the request: a@b does not have storage.objects.create access.",
    })
    await storage.assertReady()
  })
})

describe('URLs signed with an HMAC key', () => {
  const hmac = { accessId: 'GOOGTS7C7FUP3AIRVJTE2BCD', secret: 'bGoa+V7g/yqDXvKRqq+JTFn4uQZbPiQJo4pf9RzJ' }
  const grant = { tenantId: 't', fileId: 'f', by: 'k', path: 'a/d é', filename: "o'd (1).pdf", contentType: 'application/pdf' }

  test('accepts a URL signed with an HMAC key until it expires', async () => {
    const keyed = await BucketEmulator.start({ name: 'blobs', hmacKeys: { [hmac.accessId]: hmac.secret } })
    const store = new GcsStorage({ bucket: 'blobs', prefix: 'p', emulatorHost: keyed.url, hmac, limits })
    keyed.objects.store({ name: 'p/a/d é' }, Buffer.from('content'))
    const url = await store.signDownload({ ...grant, expiresInSeconds: 60 } as never)
    const response = await fetch(url)
    expect([response.status, await response.text(), response.headers.get('content-type')]).toEqual([
      200,
      'content',
      'application/pdf',
    ])
    expect((await fetch(url.replace('X-Goog-Expires=60', 'X-Goog-Expires=61'))).status).toBe(403)
    const other = new GcsStorage({ bucket: 'blobs', emulatorHost: keyed.url, hmac: { ...hmac, secret: 'x'.repeat(40) }, limits })
    expect((await fetch(await other.signDownload({ ...grant, expiresInSeconds: 60 } as never))).status).toBe(403)
    await Promise.all([store.close(), other.close()])
    await keyed.stop()
  })
})

describe('signed bucket URLs', () => {
  const grant = {
    tenantId: 'ten_1',
    by: 'key_1',
    fileId: newId('file'),
    path: 'ten_a/a b/ü+%20/file_1',
    filename: 'Straße "1".pdf',
    contentType: 'application/pdf',
    expiresInSeconds: 300,
  }
  beforeEach(() => void bucket.objects.store({ name: grant.path, contentType: 'text/html' }, noise(1000)))
  const get = (url: string, headers = {}) => fetch(url, { headers: { connection: 'close', ...headers } })

  test('signs bucket URLs offline with the requested expiry, name and type', async () => {
    const url = await storage.signDownload(grant)
    expect(bucket.calls).toEqual([])
    expect(new URL(url).searchParams.get('X-Goog-Expires')).toBe('300')
    const response = await get(url)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/pdf')
    expect(response.headers.get('content-disposition')).toMatch(
      /^attachment; filename=.*filename\*=UTF-8''Stra%C3%9Fe%20%221%22\.pdf$/,
    )
    expect(Buffer.from(await response.arrayBuffer()).equals(noise(1000))).toBe(true)
    const part = await get(url, { range: 'bytes=0-0' })
    expect([part.status, (await part.arrayBuffer()).byteLength]).toEqual([206, 1])
  })

  test('rejects a bucket URL that is changed, expired or signed with another key', async () => {
    const url = await storage.signDownload(grant)
    const rejection = async (changed: string) => {
      const response = await get(changed)
      return `${response.status} ${((await response.json()) as { error: { message: string } }).error.message}`
    }
    expect(await rejection(url.replace('X-Goog-Expires=300', 'X-Goog-Expires=301'))).toMatch(/403 .*does not match/)
    expect(await rejection(url.replace('attachment', 'inline'))).toMatch(/403 .*does not match/)
    expect(await rejection(url.replace('file_1', 'file_2'))).toMatch(/403 .*does not match/)
    const unknownAccount = join(keys, 'unknown.json')
    await createServiceAccount().writeTo(unknownAccount)
    const other = new GcsStorage({ bucket: 'blobs', emulatorHost: bucket.url, keyFile: unknownAccount, limits })
    expect(await rejection(await other.signDownload(grant))).toMatch(/403 .*does not match/)
    const brief = await storage.signDownload({ ...grant, expiresInSeconds: 1 })
    await new Promise((resolve) => setTimeout(resolve, 1100))
    expect(await rejection(brief)).toMatch(/403 .*expired/)
    await storage.remove(grant.path)
    expect((await get(url)).status).toBe(404)
  })

  test('signs bucket URLs even while the bucket is unavailable', async () => {
    await bucket.stop()
    const url = await storage.signDownload(grant)
    await expect(shortCallStorage.assertReady()).rejects.toMatchObject(unavailable)
    await bucket.start()
    const response = await get(url)
    await response.arrayBuffer()
    expect(response.status).toBe(200)
    await storage.assertReady()
  })

  test('reports an unreadable credentials file as an outage instead of crashing', async () => {
    const damaged = join(keys, 'broken.json')
    await writeFile(damaged, '{')
    const other = new GcsStorage({ bucket: 'blobs', emulatorHost: bucket.url, keyFile: damaged, limits })
    await expect(other.signDownload(grant)).rejects.toMatchObject(unavailable)
  })
})
