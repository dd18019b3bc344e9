import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { BucketCall, Fault } from '../support/bucket/faults.js'
import { type BucketWorld, openBucketWorld } from '../support/bucket/world-env.js'
import { DatabaseProxy } from '../support/database-proxy.js'
import { RawClient } from '../support/raw-client.js'
import { findResidue } from '../support/residue.js'
import { findFreePort, Service } from '../support/service.js'
import { type ApiResponse, Caller, type TestTenant, World } from '../support/world.js'

// One process is exposed to all faults and must never leave residue.
let bucketWorld: BucketWorld
let proxy: DatabaseProxy
let world: World
let tenant: TestTenant
let service: Service
let caller: Caller
let spool: string
let toldToEnd = false

beforeAll(async () => {
  bucketWorld = await openBucketWorld()
  // A second application queries the database directly and manages the tenant.
  world = await World.open({ SCANNER_URL: 'none:', ...bucketWorld.env })
  proxy = await DatabaseProxy.start(world.databaseUrl)
  tenant = await world.createTenant()
  await tenant.createContext('raw', { allowed_extensions: ['bin'], scan_for_viruses: false, max_file_size_mb: 20 })
  spool = join(world.dataDir, 'watched', 'spool')
  service = await Service.start({
    DATABASE_URL: proxy.url,
    MASTER_KEY: world.config.masterKey!.toString('base64'),
    DATA_DIR: join(world.dataDir, 'watched'),
    SCANNER_URL: 'none:',
    STORAGE_DEADLINE_SECONDS: '1',
    UPLOAD_IDLE_SECONDS: '2',
    PORT: await findFreePort(),
    ...bucketWorld.env,
  })
  caller = new Caller(service.url, tenant.admin.credential)
})
afterAll(async () => {
  await service?.stop('SIGKILL')
  await world.close()
  await proxy.down()
  await bucketWorld.close()
})

afterEach(async () => {
  bucketWorld.bucket.faults.clear()
  const { bucket } = bucketWorld
  expect(await findResidue({ spool: [spool], bucket, faults: () => service.faults })).toEqual([])
  expect(service.child.exitCode).toBe(toldToEnd ? 0 : null)
})

const small = 10_000
// Size of an upload that needs two chunks and a temporary file.
const large = 9 * 1024 * 1024
const upload = (bytes: number): Promise<ApiResponse> => caller.upload('raw', 'a.bin', randomBytes(bytes))

/** Checks that the service recovers without a restart. A busy machine may exceed the short deadline once more. */
async function expectRecovery(size: number): Promise<void> {
  for (let tries = 0; tries < 20; tries++) if ((await upload(size)).status === 201) return
  throw new Error(`The service no longer accepts uploads of ${size} bytes: ${service.stderr.slice(-2000)}`)
}

const faults: [string, Fault][] = [
  ['the status 503', { kind: 'status', status: 503 }],
  ['a slow response', { kind: 'slow', ms: 1500 }],
  ['a disconnection', { kind: 'cut' }],
  ['no response after success', { kind: 'lost' }],
  ['no response', { kind: 'silent' }],
  ['half of a response', { kind: 'half' }],
]
const sending: [BucketCall, number][] = [
  ['upload', small],
  ['session', large],
  ['chunk', large],
]

describe.each(sending)('bucket faults during %s (%i bytes)', (call, size) => {
  test.each(faults)('leaves no files or connections behind if the bucket returns %s once or repeatedly', async (_name, fault) => {
    bucketWorld.bucket.faults.plan(call, fault)
    expect([201, 503]).toContain((await upload(size)).status)
    bucketWorld.bucket.faults.clear()
    bucketWorld.bucket.faults.plan(call, fault, 1000)
    const response = await upload(size)
    if (fault.kind === 'status' || fault.kind === 'cut') expect(response.status).toBe(503)
    else expect([201, 503]).toContain(response.status)
  })
})

test('leaves no files or connections behind if the bucket goes down and recovers', async () => {
  await bucketWorld.bucket.stop()
  for (const size of [small, large]) expect((await upload(size)).status).toBe(503)
  await bucketWorld.bucket.start()
  await expectRecovery(large)
})

async function startUpload(size: number): Promise<RawClient> {
  const client = await RawClient.connect(service.url)
  await client.head('POST', '/api/v1/files/upload', {
    Authorization: `Bearer ${caller.credential}`,
    'Content-Type': 'multipart/form-data; boundary=test-boundary',
    'Content-Length': size + 1000,
  })
  const part = (name: string) => `--test-boundary\r\nContent-Disposition: form-data; name="${name}"`
  await client.send(`${part('context')}\r\n\r\nraw\r\n${part('file')}; filename="a.bin"\r\n\r\n`)
  return client
}

test.each([small, large])(
  'leaves no files or connections behind if a client stops sending in the middle of a %i-byte body',
  async (size) => {
    const disconnected = await startUpload(size)
    await disconnected.send(randomBytes(size / 2))
    disconnected.destroy()
    const silent = await startUpload(size)
    await silent.send(randomBytes(size / 2))
    await silent.ended
    silent.destroy()
  },
)

/** Runs an upload that the bucket receives without responding, and repeats it if a busy machine exceeds the deadline. */
async function holdUpload<T>(call: BucketCall, done: boolean, send: () => Promise<T>): Promise<{ response: Promise<T> }> {
  const { faults } = bucketWorld.bucket
  const reached = new Promise<void>((resolve) => faults.plan(call, { kind: 'held', done, reached: resolve }, 1000))
  const isHeld = reached.then(() => true)
  for (;;) {
    const response = send()
    const ended = response.then(() => false)
    if (!(await Promise.race([isHeld, ended]))) continue
    faults.clear()
    return { response }
  }
}

test.each([
  ['upload', small],
  ['chunk', large],
] as const)('leaves no files or connections behind if a client disconnects during a bucket %s request', async (call, size) => {
  const leaving = new AbortController()
  const { response } = await holdUpload(call, false, () => {
    const form = new FormData()
    form.append('context', 'raw')
    form.append('file', new Blob([randomBytes(size)]), 'a.bin')
    return fetch(`${service.url}/api/v1/files/upload`, {
      method: 'POST',
      headers: { authorization: `Bearer ${caller.credential}` },
      body: form,
      signal: leaving.signal,
    })
  })
  leaving.abort()
  await expect(response).rejects.toThrow()
})

test.each([small, large])(
  'leaves no files or connections of a %i-byte upload behind if the database connection is lost',
  async (size) => {
    for (const when of ['before', 'after'] as const) {
      proxy.cutAtMove = when
      expect((await upload(size)).status).toBe(503)
    }
    const { response } = await holdUpload(size === small ? 'upload' : 'chunk', true, () => upload(size))
    await proxy.down()
    expect((await response).status).toBe(503)
    expect((await upload(size)).status).toBe(503)
    await proxy.up()
    await expectRecovery(size)
  },
)

test('closes every connection and deletes the temporary folder at shutdown', async () => {
  await expectRecovery(large)
  expect(bucketWorld.bucket.connections).toBeGreaterThan(0)
  toldToEnd = true
  expect((await service.stop()).status).toBe(0)
  expect(await findResidue({ spool: [spool], faults: () => service.faults })).toEqual([])
  while (bucketWorld.bucket.connections > 0) await new Promise((resolve) => setTimeout(resolve, 10))
  // The garbage journal lists all blobs that remain after the faults.
  expect(await world.app.services.storageHealth.verify()).toMatchObject({
    filesWithoutBlob: 0,
    blobsWithoutFile: 0,
    corrupted: 0,
    journalDrift: 0,
  })
})
