import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type BucketWorld, openBucketWorld } from '../support/bucket/world-env.js'
import { type TestTenant, World } from '../support/world.js'

let bucketWorld: BucketWorld
let world: World
let tenant: TestTenant
beforeAll(async () => {
  bucketWorld = await openBucketWorld()
  world = await World.open(bucketWorld.env)
  // Periodic sweeps are disabled so that only the test sweeps.
  const { setInterval } = globalThis
  globalThis.setInterval = (() => setTimeout(() => {}, 0)) as never
  world.app.startMaintenance()
  globalThis.setInterval = setInterval
  tenant = await world.createTenant()
  await tenant.createContext('notes', { scan_for_viruses: false })
})
afterAll(async () => {
  await world?.close()
  await bucketWorld.close()
})

const upload = async () => (await tenant.admin.upload('notes', 'a.txt', 'some text')).body.data.file_id as string

test('invalidates the bucket URL of a deleted file before the next periodic sweep', async () => {
  const id = await upload()
  const { download_url } = (await tenant.admin.get(`/files/${id}`)).body.data
  expect((await fetch(download_url)).status).toBe(200)
  expect((await tenant.admin.delete(`/files/${id}`)).status).toBe(200)
  while ((await fetch(download_url)).status === 200) await new Promise(setImmediate)
  expect((await fetch(download_url)).status).toBe(404)
})

test('`verify --deep` finds an object that is listed but cannot be read', async () => {
  const id = await upload()
  bucketWorld.bucket.faults.plan('media', { kind: 'status', status: 404 }, 50)
  const found = await world.app.services.storageHealth.verify({ tenantId: tenant.tenantId, readBlobs: true })
  bucketWorld.bucket.faults.clear()
  expect([id.startsWith('file_'), found]).toEqual([
    true,
    { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 1, journalDrift: 0 },
  ])
})

test("includes the storage provider's error message if the bucket does not exist", async () => {
  const wrong = await World.open({ ...bucketWorld.env, STORAGE_URL: 'gs://blobz' })
  const words = "The bucket 'blobz' rejected the request: The specified bucket does not exist."
  expect(wrong.app.descriptions.storage).toContain(`(unavailable: ${words})`)
  expect(wrong.log.lines.some((line) => JSON.stringify(line).includes('The specified bucket does not exist.'))).toBe(true)
  const { status, body } = await wrong.unauthenticated.raw('/health/ready')
  expect([status, body.checks.storage]).toEqual([503, { status: 'down', reason: words }])
  await wrong.close()
})
