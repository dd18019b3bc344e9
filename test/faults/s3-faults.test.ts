import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { BlobExistsError } from '../../src/platform/storage/blob-storage.js'
import { S3Storage } from '../../src/platform/storage/s3/s3.js'
import { inMemory, noise, readBytes } from '../contract/contents.js'
import { FakeS3, type S3Call, type S3Fault } from '../support/s3/fake-s3.js'

// The fake server responds immediately, so timeouts are long except in tests that wait for one.
const longTimeouts = { requestMs: 20_000, idleMs: 20_000, callMs: 20_000, retryDelayMs: 5 }
const type = { contentType: 'application/pdf' }
const small = noise(100_000)
const large = noise(17 * 1024 * 1024 + 7)
const unavailable = { code: 'storage_unavailable', retryAfter: expect.any(Number) }

let fakeS3: FakeS3
let storage: S3Storage
/** A store with short timeouts. */
let brief: S3Storage
beforeEach(async () => {
  fakeS3 = await FakeS3.start()
  storage = openStore(longTimeouts)
  brief = openStore({ ...longTimeouts, callMs: 2000 })
})
afterEach(async () => {
  await Promise.all([storage.close(), brief.close()])
  await fakeS3.stop()
})

const openStore = (limits: typeof longTimeouts, more: { unconditionalWrites?: boolean; requireProof?: boolean } = {}) =>
  new S3Storage({
    bucket: 'blobs',
    prefix: undefined,
    region: 'us-east-1',
    endpoint: fakeS3.url,
    pathStyle: true,
    credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
    limits,
    ...more,
  })
const count = (call: S3Call) => fakeS3.calls.filter((each) => each === call).length
const stored = (path: string) => fakeS3.objects.get(path)?.bytes
const status = (number: number, code?: string): S3Fault => ({ kind: 'status', status: number, ...(code && { code }) })

const puts: [name: string, call: S3Call, bytes: Buffer][] = [
  ['small', 'put', small],
  ['large', 'part', large],
  ['large (last request)', 'complete', large],
]

describe.each(puts)('S3 uploads: %s', (_name, call, bytes) => {
  test.each<[string, S3Fault]>([
    ['503', status(503, 'SlowDown')],
    ['429 with Retry-After', { kind: 'status', status: 429, headers: { 'Retry-After': '1' } }],
    ['a conflict of concurrent conditional writes (409)', status(409, 'ConditionalRequestConflict')],
    ['a closed connection', { kind: 'cut' }],
    ['a slow response', { kind: 'slow', ms: 200 }],
    ['a lost response', { kind: 'lost' }],
  ])('stores an object only once in S3 despite %s', async (_what, fault) => {
    fakeS3.plan(call, fault)
    await storage.put('a/b', inMemory(bytes), type)
    expect([...fakeS3.objects.keys()]).toEqual(['a/b'])
    expect(stored('a/b')!.equals(bytes)).toBe(true)
    expect(fakeS3.uploads.size).toBe(0)
  })

  test.each<[string, S3Fault]>([
    ['responds with 503', status(503)],
    ['closes all connections', { kind: 'cut' }],
    ['never responds', { kind: 'silent' }],
  ])('fails an S3 upload within its timeout if the store %s', async (_what, fault) => {
    fakeS3.plan(call, fault, 1000)
    await expect(brief.put('a/b', inMemory(bytes), type)).rejects.toMatchObject(unavailable)
    expect(stored('a/b')).toBeUndefined()
    expect(fakeS3.uploads.size).toBe(0)
  })

  test('reports a permanent rejection (403) of an S3 upload immediately', async () => {
    fakeS3.plan(call, status(403, 'AccessDenied'))
    await expect(storage.put('a/b', inMemory(bytes), type)).rejects.toMatchObject(unavailable)
    expect(count(call)).toBe(1)
  })

  test('neither overwrites nor claims another object at the path of an S3 upload', async () => {
    fakeS3.objects.set('a/b', { bytes: Buffer.from('other'), headers: {}, storedAt: new Date() })
    await expect(storage.put('a/b', inMemory(bytes), type)).rejects.toBeInstanceOf(BlobExistsError)
    expect(stored('a/b')!.toString()).toBe('other')
  })
})

test('retries an S3 upload only once if its content changes during the transfer', async () => {
  fakeS3.plan('put', status(400, 'XAmzContentSHA256Mismatch'))
  await storage.put('a/b', inMemory(small), type)
  expect(count('put')).toBe(2)
  const damaged = { ...inMemory(small), sha256: '0'.repeat(64) }
  await expect(storage.put('a/damaged', damaged, type)).rejects.toMatchObject(unavailable)
  expect(stored('a/damaged')).toBeUndefined()
})

const reads: [S3Call, () => Promise<unknown>][] = [
  ['get', async () => readBytes(await storage.open('a/b'))],
  ['head', () => storage.getSize('a/b')],
  ['list', () => storage.list().next()],
  ['copy', () => storage.copy('a/b', 'c/d')],
]

describe.each(reads)('S3 %s requests', (call, send) => {
  test.each<[string, S3Fault]>([
    ['503', status(503)],
    ['429', status(429)],
    ['a lost response', { kind: 'lost' }],
  ])('completes an S3 request despite %s', async (_what, fault) => {
    await storage.put('a/b', inMemory(small), type)
    fakeS3.plan(call, fault)
    await send()
    expect(count(call)).toBe(2)
  })
})

test.each<S3Call>(['list', 'create', 'complete', 'copy'])('repeats an S3 %s request if the XML is truncated', async (call) => {
  await storage.put('a/b', inMemory(small), type)
  fakeS3.plan(call, { kind: 'half' })
  if (call === 'list') await storage.list().next()
  else if (call === 'copy') await storage.copy('a/b', 'c/d')
  else await storage.put('a/large', inMemory(large), type)
  expect(count(call)).toBeGreaterThanOrEqual(2)
})

test('reports an error for a truncated S3 download instead of ending it normally', async () => {
  await storage.put('a/b', inMemory(large), type)
  fakeS3.plan('get', { kind: 'cut' })
  await expect(readBytes(await storage.open('a/b'))).rejects.toMatchObject(unavailable)
})

test('reads an S3 object that the store does not list yet', async () => {
  fakeS3.unlisted.add('a/b')
  await storage.put('a/b', inMemory(small), type)
  expect((await storage.list().next()).done).toBe(true)
  expect(await storage.getSize('a/b')).toBe(small.length)
  fakeS3.unlisted.clear()
  expect((await storage.list().next()).value).toMatchObject({ path: 'a/b', size: small.length })
})

test('aborts only unfinished S3 uploads that started more than a day ago', async () => {
  const initiated = (hours: number) => ({
    name: 'a/b',
    headers: {},
    parts: new Map(),
    initiated: new Date(Date.now() - hours * 3_600_000),
  })
  fakeS3.uploads.set('old', initiated(25)).set('new', initiated(23))
  expect(await storage.abortUploads()).toBe(1)
  expect([...fakeS3.uploads.keys()]).toEqual(['new'])
})

describe('verification of S3 stores', () => {
  test.each([
    ['ignores the condition of a write', { ignoresConditions: true }, 'ignores write conditions and overwrites objects'],
    ['does not verify checksums', { ignoresHashes: true }, 'stores content that does not match its checksum'],
  ])('rejects an S3 store that %s', async (_what, flaw, problem) => {
    Object.assign(fakeS3, flaw)
    const proved = openStore(longTimeouts, { requireProof: true })
    await expect(proved.put('a/b', inMemory(small), type)).rejects.toThrow(problem)
    await expect(proved.assertReady()).rejects.toThrow(problem)
    expect([...fakeS3.objects.keys()]).toEqual(['.assay/ready'])
    await proved.close()
  })

  test('verifies an S3 store again after an outage, but not after a successful verification', async () => {
    const proved = openStore({ ...longTimeouts, callMs: 1000 }, { requireProof: true })
    await fakeS3.stop()
    await expect(proved.put('a/b', inMemory(small), type)).rejects.toMatchObject(unavailable)
    await fakeS3.start()
    await proved.put('a/b', inMemory(small), type)
    await proved.put('a/c', inMemory(small), type)
    // Three of the five writes belong to the store proof.
    expect(count('put')).toBe(5)
    await proved.close()
  })
})

test('reports a clock difference between the service and the S3 store', async () => {
  fakeS3.clockOffsetMs = 3_600_000
  const problem = /^This machine's clock is 3(600|599|601) s behind the bucket's clock\. Synchronize the clock with NTP\./
  await expect(storage.assertReady()).rejects.toThrow(problem)
  fakeS3.plan('put', status(403, 'RequestTimeTooSkewed'))
  await expect(storage.put('a/b', inMemory(small), type)).rejects.toMatchObject({
    cause: { message: expect.stringMatching(/This machine's clock is 3\d{3} s behind/) },
  })
  fakeS3.clockOffsetMs = 0
  await storage.assertReady()
})

test('reports missing S3 credentials and names the variables that set them', async () => {
  const names = ['AWS_EC2_METADATA_DISABLED', 'AWS_SHARED_CREDENTIALS_FILE', 'AWS_CONFIG_FILE'] as const
  const before = names.map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, {
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    AWS_CONFIG_FILE: '/dev/null',
  })
  const bare = new S3Storage({
    bucket: 'blobs',
    prefix: undefined,
    region: 'us-east-1',
    endpoint: fakeS3.url,
    pathStyle: true,
    limits: longTimeouts,
  })
  await expect(bare.assertReady()).rejects.toThrow(
    'No credentials for the bucket were found. Set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY',
  )
  await bare.close()
  for (const [name, value] of before)
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
})
