import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { BlobExistsError } from '../../src/platform/storage/blob-storage.js'
import { GcsStorage } from '../../src/platform/storage/gcs/gcs.js'
import { inMemory, noise, readBytes } from '../contract/contents.js'
import { BucketEmulator } from '../support/bucket/bucket.js'
import type { BucketCall, Fault } from '../support/bucket/faults.js'

// Tests responses that Google should not send or that a proxy sends. Timeouts are long except in tests that wait for one.
const longTimeouts = { requestMs: 20_000, idleMs: 20_000, callMs: 20_000, retryDelayMs: 5 }
const type = { contentType: 'application/pdf' }
const small = noise(100_000)
const large = noise(9 * 1024 * 1024 + 7)
const unavailable = { code: 'storage_unavailable', retryAfter: expect.any(Number) }

let bucket: BucketEmulator
let storage: GcsStorage
/** A store with short timeouts. */
let brief: GcsStorage
beforeEach(async () => {
  bucket = await BucketEmulator.start({ name: 'blobs' })
  storage = new GcsStorage({ bucket: 'blobs', emulatorHost: bucket.url, limits: longTimeouts })
  brief = new GcsStorage({ bucket: 'blobs', emulatorHost: bucket.url, limits: { ...longTimeouts, callMs: 4000 } })
})
afterEach(async () => {
  await Promise.all([storage.close(), brief.close()])
  await bucket.stop()
})

const calls = (kind: BucketCall) => bucket.calls.filter((call) => call === kind).length
const isStored = async (path: string, bytes: Buffer) => (await readBytes(await storage.open(path))).equals(bytes)
const html = '<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>\n'.repeat(50)
const page = (status: number): Fault => ({ kind: 'status', status, headers: { 'Content-Type': 'text/html' }, body: html })

// For this response, Node.js emits neither `response` nor `error` and removes the request timeout.
const switching: Fault = { kind: 'status', status: 101, headers: { Connection: 'Upgrade', Upgrade: 'x' }, body: '' }

const puts: [name: string, call: BucketCall, bytes: Buffer][] = [
  ['small', 'upload', small],
  ['large', 'chunk', large],
]

describe.each(puts)('bucket uploads: %s', (_name, call, bytes) => {
  test.each<[string, Fault]>([
    ['a page of HTML with 502', page(502)],
    ['429 with Retry-After', { kind: 'status', status: 429, headers: { 'Retry-After': '1' }, body: '' }],
    ['truncated JSON after the object is stored', { kind: 'half' }],
    ['a lost response after the object is stored', { kind: 'lost' }],
  ])('stores an object only once in a bucket despite %s', async (_what, fault) => {
    bucket.faults.plan(call, fault)
    await storage.put('a/b', inMemory(bytes), type)
    expect(bucket.objects.names).toEqual(['a/b'])
    expect(await isStored('a/b', bytes)).toBe(true)
  })

  test("waits as long as the bucket's Retry-After header requires", async () => {
    bucket.faults.plan(call, { kind: 'status', status: 429, headers: { 'Retry-After': '1' }, body: '' })
    const began = Date.now()
    await storage.put('a/b', inMemory(bytes), type)
    expect(Date.now() - began).toBeGreaterThanOrEqual(1000)
  })

  test('does not wait for a Retry-After time that exceeds the deadline of a bucket upload', async () => {
    bucket.faults.plan(call, { kind: 'status', status: 429, headers: { 'Retry-After': '86400' }, body: '' }, 1000)
    await expect(storage.put('a/b', inMemory(bytes), type)).rejects.toMatchObject(unavailable)
    expect(calls(call)).toBeLessThanOrEqual(2)
  })

  test.each<[string, Fault]>([
    ['a different CRC32C', { kind: 'wrong-crc32c' }],
    ['a different size', { kind: 'wrong-size' }],
  ])('rejects an upload and deletes its object if the bucket reports %s', async (_what, fault) => {
    bucket.faults.plan(call, fault, 1000)
    await expect(storage.put('a/b', inMemory(bytes), type)).rejects.toMatchObject(unavailable)
    expect(bucket.objects.names).toEqual([])
  })

  test('does not overwrite another object at the path of a bucket upload', async () => {
    for (const there of [noise(50, 9), bytes]) {
      const { generation } = bucket.objects.store({ name: 'a/b' }, there)
      await expect(storage.put('a/b', inMemory(bytes), type)).rejects.toBeInstanceOf(BlobExistsError)
      expect(bucket.objects.get('a/b').generation).toBe(generation)
      expect(await isStored('a/b', there)).toBe(true)
    }
  })

  test('does not overwrite another object if the responses to a bucket upload are lost', async () => {
    // The first upload attempt is lost, and another upload uses the path before the second attempt.
    bucket.faults.plan(call, {
      kind: 'held',
      done: false,
      reached: () => bucket.objects.store({ name: 'a/b', metadata: { upload: 'another' } }, bytes),
    })
    const limits = { ...longTimeouts, idleMs: 2000, callMs: 4000 }
    const impatientStorage = new GcsStorage({ bucket: 'blobs', emulatorHost: bucket.url, limits })
    await expect(impatientStorage.put('a/b', inMemory(bytes), type)).rejects.toThrow()
    await impatientStorage.close()
    expect(bucket.objects.get('a/b').metadata).toEqual({ upload: 'another' })
  })

  test.each<[string, Fault]>([
    ['pages of HTML with 200', page(200)],
    ['pages of HTML with 502', page(502)],
    ['responses with status 101', switching],
    ['a circular redirect', { kind: 'status', status: 307, headers: { Location: '/' }, body: '' }],
  ])('times out a bucket upload that receives only %s', async (_what, fault) => {
    bucket.faults.plan(call, fault, 10_000)
    const failure = await brief.put('a/b', inMemory(bytes), type).catch((error) => error)
    expect(failure).toMatchObject({ ...unavailable, message: "The bucket cannot store 'a/b' at the moment. Retry later." })
    expect(String(failure.cause)).toMatch(/^Error: Cannot store 'a\/b': \S.{0,220}$/)
    expect(bucket.objects.names).toEqual([])
  })
})

describe('large bucket uploads', () => {
  test.each<[string, Record<string, string>]>([
    ['reports no received bytes', {}],
    ['reports half of the first chunk', { Range: 'bytes=0-4194303' }],
  ])('stops a large bucket upload if the bucket always returns 308 and %s', async (_what, headers) => {
    bucket.faults.plan('chunk', { kind: 'status', status: 308, headers, body: '' }, 10_000)
    const failure = await storage.put('a/b', inMemory(large), type).catch((error) => error)
    expect(failure).toMatchObject(unavailable)
    expect(String(failure.cause)).toMatch(/makes no progress beyond byte/)
    expect(calls('chunk')).toBeLessThan(12)
  })

  test('stops a large bucket upload if the bucket reports more bytes than were sent', async () => {
    bucket.faults.plan('chunk', { kind: 'status', status: 308, headers: { Range: 'bytes=0-999999999' }, body: '' })
    await expect(storage.put('a/b', inMemory(large), type)).rejects.toMatchObject(unavailable)
    expect(bucket.sessions.open).toBe(0)
  })

  test.each([404, 410, 412])(
    'finds the object of a large upload even if a response is lost and the session ends with status %i',
    async (status) => {
      bucket.faults.plan('chunk', { kind: 'slow', ms: 0 })
      bucket.faults.plan('chunk', { kind: 'lost' })
      bucket.faults.plan('chunk', { kind: 'status', status })
      await storage.put('a/b', inMemory(large), type)
      expect(await isStored('a/b', large)).toBe(true)
    },
  )

  test.each([404, 410])('fails a large upload if its sessions end with status %i before the last byte', async (status) => {
    for (const _session of [1, 2]) {
      bucket.faults.plan('chunk', { kind: 'slow', ms: 0 })
      bucket.faults.plan('chunk', { kind: 'status', status })
    }
    await expect(storage.put('a/b', inMemory(large), type)).rejects.toMatchObject(unavailable)
    expect(bucket.objects.names).toEqual([])
  })
})

describe('bucket requests', () => {
  const asking: [BucketCall, (store: GcsStorage) => Promise<unknown>][] = [
    ['metadata', (store) => store.getSize('a/b')],
    ['media', async (store) => readBytes(await store.open('a/b'))],
    ['list', async (store) => (await store.list().next()).value?.path],
    ['delete', (store) => store.remove('a/b')],
  ]
  const truth: Partial<Record<BucketCall, unknown>> = { metadata: 100_000, media: small, list: 'a/b' }

  test.each(asking)('repeats a %s request if the bucket responds with HTML, 429 or truncated JSON', async (call, request) => {
    bucket.objects.store({ name: 'a/b' }, small)
    bucket.faults.plan(call, page(502))
    bucket.faults.plan(call, { kind: 'status', status: 429, headers: { 'Retry-After': '0' }, body: html })
    if (call === 'list') bucket.faults.plan(call, { kind: 'half' })
    if (call === 'metadata') {
      bucket.faults.plan(call, page(200))
      bucket.faults.plan(call, { kind: 'half' })
    }
    expect(await request(storage)).toEqual(truth[call])
    if (call === 'delete') expect(bucket.objects.names).toEqual([])
  })

  test.each(asking)('reports a permanent rejection (403) of a %s bucket request immediately', async (call, request) => {
    bucket.faults.plan(call, { kind: 'status', status: 403 }, 1000)
    await expect(request(storage)).rejects.toMatchObject(unavailable)
    expect(calls(call)).toBe(1)
  })

  test.each(asking)('fails a %s request within its timeout if the bucket responds with 101', async (call, request) => {
    bucket.faults.plan(call, switching, 10_000)
    await expect(request(brief)).rejects.toMatchObject(unavailable)
  })

  test.each(asking)('times out a %s request if the bucket always fails', async (call, request) => {
    bucket.faults.plan(call, page(502), 10_000)
    await expect(request(brief)).rejects.toMatchObject(unavailable)
    expect(calls(call)).toBeGreaterThan(1)
  })
})
