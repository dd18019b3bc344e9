import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import { reservedPrefix } from '../../src/platform/storage/blob-path.js'
import type { BucketCall } from '../support/bucket/faults.js'
import { type BucketWorld, openBucketWorld } from '../support/bucket/world-env.js'
import { faultPoints } from '../support/fault-points.js'
import { findFreePort, runCommand, Service } from '../support/service.js'
import { Caller, type TestTenant, World } from '../support/world.js'

// Repeats kill-points.test.ts for a bucket, where uploads and deletions have additional steps.
let bucketWorld: BucketWorld
let world: World
let tenant: TestTenant
let env: NodeJS.ProcessEnv
const acknowledged = new Map<string, Buffer>()
const running: Service[] = []

beforeAll(async () => {
  bucketWorld = await openBucketWorld()
  world = await World.open({ SCANNER_URL: 'none:', ...bucketWorld.env })
  tenant = await world.createTenant()
  await tenant.createContext('raw', { allowed_extensions: ['bin'], scan_for_viruses: false, max_file_size_mb: 20 })
  env = {
    DATABASE_URL: world.databaseUrl,
    MASTER_KEY: world.config.masterKey!.toString('base64'),
    DATA_DIR: join(world.dataDir, 'killed'),
    SCANNER_URL: 'none:',
    ...bucketWorld.env,
  }
})
afterAll(async () => {
  for (const service of running) await service.stop('SIGKILL')
  await world.close()
  await bucketWorld.close()
})

async function start(more: NodeJS.ProcessEnv = {}): Promise<{ service: Service; caller: Caller }> {
  const service = await Service.start({ ...env, PORT: await findFreePort(), ...more })
  running.push(service)
  return { service, caller: new Caller(service.url, tenant.admin.credential) }
}

const upload = (caller: Caller, content: Buffer, key: string) =>
  caller.upload('raw', 'a.bin', content, { headers: { 'idempotency-key': key } })
const countFiles = async () => (await tenant.admin.get('/files')).body.data.pagination.total_items as number
const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }

/** Runs a sweep as if an hour had passed. */
async function sweepLater(): Promise<void> {
  await world.database.pool.query(`UPDATE blob_garbage SET due_at = now() - interval '1 second'`)
  await world.database.pool.query('UPDATE idempotency_keys SET leased_until = now() WHERE response IS NULL')
  await new Sweeper(world.database.pool, world.app.services.storage).sweep()
}

async function expectAgreement(acknowledged: Iterable<[string, Buffer]> = []): Promise<void> {
  expect(await world.app.services.storageHealth.verify({ readBlobs: true })).toEqual(healthy)
  for (const [fileId, content] of acknowledged) {
    const { download_url: url } = (await tenant.admin.get(`/files/${fileId}`)).body.data
    const response = await fetch(url, { headers: { connection: 'close' } })
    expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true)
  }
}

/** Checks that a killed upload is stored completely or not at all and that a retry creates one file. */
async function expectStoredOnceAfterRetry(before: number, content: Buffer, key: string): Promise<void> {
  await sweepLater()
  await expectAgreement()
  expect([before, before + 1]).toContain(await countFiles())
  const again = await upload(tenant.admin, content, key)
  expect(again).toMatchObject({ status: 201 })
  acknowledged.set(again.body.data.file_id, content)
  expect(await countFiles()).toBe(before + 1)
}

const small = 10_000
// Size of an upload that needs two chunks.
const large = 8 * 1024 * 1024 + 1
const uploadSteps: [point: string, size: number][] = [
  ['upload.journaled', small],
  ['bucket.session', large],
  ['bucket.chunk', large],
  ['bucket.stored', small],
  ['bucket.stored', large],
  ['upload.stored', large],
  ['commit.durable', large],
]

test.each(uploadSteps)(
  'stores an upload completely or not at all if the service is killed at %s (%i bytes)',
  async (point, size) => {
    const content = randomBytes(size)
    const before = await countFiles()
    const { service, caller } = await start({ FAULT_POINT: point })
    await expect(upload(caller, content, `${point}-${size}`)).rejects.toThrow()
    expect((await service.ended).status).toBeNull()
    await expectStoredOnceAfterRetry(before, content, `${point}-${size}`)
  },
)

const held: [size: number, call: BucketCall, passing: number, done: boolean][] = [
  [small, 'upload', 0, false],
  [small, 'upload', 0, true],
  [large, 'chunk', 0, true],
  // The last chunk of a large upload.
  [large, 'chunk', 1, false],
  [large, 'chunk', 1, true],
]

test('stores an upload completely or not at all if the service is killed during a bucket request', async () => {
  const before = await countFiles()
  const { service, caller } = await start()
  const { faults, objects } = bucketWorld.bucket
  const there = objects.names.length
  const uploads: { content: Buffer; key: string; sending: Promise<number | undefined> }[] = []
  for (const [size, call, passing, done] of held) {
    const content = randomBytes(size)
    const key = `held-${call}-${passing}-${done}`
    faults.clear()
    faults.plan(call, { kind: 'slow', ms: 0 }, passing)
    // The bucket receives the complete request, executes it or not, and never responds.
    const reached = new Promise<void>((resolve) => faults.plan(call, { kind: 'held', done, reached: resolve }))
    // A slow machine may retry the upload, so the bucket does not respond to retries either.
    for (const each of ['upload', 'chunk'] as const) faults.plan(each, { kind: 'silent' }, 100)
    const sending = upload(caller, content, key).then(
      ({ status }) => status,
      () => undefined,
    )
    uploads.push({ content, key, sending })
    await reached
  }
  await service.stop('SIGKILL')
  faults.clear()
  const responses = await Promise.all(uploads.map(({ sending }) => sending))
  // On a slow machine, the service may abandon and delete some uploads.
  for (const status of responses) expect([undefined, 503]).toContain(status)
  // Objects of unacknowledged uploads may exist without rows.
  if (!responses.includes(503)) expect(objects.names).toHaveLength(there + 2)
  expect(await countFiles()).toBe(before)
  for (const [at, { content, key }] of uploads.entries()) await expectStoredOnceAfterRetry(before + at, content, key)
  // Deep verification of five delayed uploads takes more than two minutes at a load of 40.
}, 300_000)

const sweepSteps = ['sweep.taken', 'bucket.removing', 'bucket.removed', 'sweep.removed', 'sweep.forgotten']

test.each(sweepSteps)('completes a bucket deletion in the next sweep if the previous one was killed at %s', async (point) => {
  const { body } = await upload(tenant.admin, randomBytes(small), `swept-${point}`)
  expect((await tenant.admin.delete(`/files/${body.data.file_id}`)).status).toBe(200)
  expect(await runCommand(['admin', 'sweep'], { ...env, FAULT_POINT: point })).toMatchObject({ status: null, stdout: '' })
  await expectAgreement()
  await sweepLater()
  await expectAgreement()
  expect((await world.database.pool.query('SELECT 1 FROM blob_garbage')).rowCount).toBe(0)
})

// Kill points before this step do not use the store (kill-points.test.ts).
test('completes a bucket deletion if the service is killed at `delete.committed`', async () => {
  const { body } = await upload(tenant.admin, randomBytes(small), 'deleted')
  const { service, caller } = await start({ FAULT_POINT: 'delete.committed' })
  await expect(caller.delete(`/files/${body.data.file_id}`)).rejects.toThrow()
  await service.ended
  await sweepLater()
  await expectAgreement()
  expect((await tenant.admin.delete(`/files/${body.data.file_id}`)).status).toBe(404)
})

test('keeps acknowledged files intact and leaves no orphans after all kill-point tests', async () => {
  await sweepLater()
  await expectAgreement(acknowledged)
  expect((await world.database.pool.query('SELECT 1 FROM blob_garbage')).rowCount).toBe(0)
  const blobs = bucketWorld.bucket.objects.names.filter((name) => !name.startsWith(reservedPrefix))
  expect(blobs).toHaveLength(await countFiles())
  const verified = await runCommand(['admin', 'verify', '--deep'], env)
  expect(verified).toMatchObject({ status: 0 })
  expect(JSON.parse(verified.stdout)).toEqual({
    counters_drift: 0,
    files_without_blob: 0,
    blobs_without_file: 0,
    corrupted: 0,
    journal_drift: 0,
  })
})

test('tests every kill point in the bucket code', () => {
  const tested = [...uploadSteps.map(([point]) => point), ...sweepSteps]
  expect(faultPoints.filter((point) => point.startsWith('bucket.') && !tested.includes(point))).toEqual([])
})
