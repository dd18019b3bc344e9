import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { QuarantineMoves } from '../../src/features/lifecycle/quarantine-moves.js'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import { type BucketWorld, openBucketWorld } from '../support/bucket/world-env.js'
import { findFreePort, Service } from '../support/service.js'
import { newlyInfected, rescanAll, UpdatableClamd } from '../support/updatable-clamd.js'
import { type TestTenant, World } from '../support/world.js'

// A quarantined object is moved because bucket URLs bypass the service.
let bucketWorld: BucketWorld
let clamd: UpdatableClamd
let world: World
let tenant: TestTenant

beforeAll(async () => {
  bucketWorld = await openBucketWorld()
  clamd = await UpdatableClamd.start()
  world = await World.open({ ...bucketWorld.env, SCANNER_URL: clamd.url })
  tenant = await world.createTenant()
  await tenant.createContext('notes')
})
afterAll(async () => {
  await world.close()
  await clamd.daemon.close()
  await bucketWorld.close()
})

async function createInfectedFile(): Promise<{ fileId: string; url: string; path: string }> {
  clamd.stopDetecting()
  const fileId = (await tenant.admin.upload('notes', 'a.txt', `${randomBytes(4).toString('hex')} ${newlyInfected}`)).body.data
    .file_id
  const url = (await tenant.admin.get(`/files/${fileId}`)).body.data.download_url
  expect((await fetch(url)).status).toBe(200)
  return { fileId, url, path: await pathOf(fileId) }
}

async function pathOf(fileId: string): Promise<string> {
  const { rows } = await world.database.pool.query<{ path: string }>('SELECT blob_path AS path FROM files WHERE file_id = $1', [
    fileId,
  ])
  return rows[0]!.path
}

const sweep = () => new Sweeper(world.database.pool, world.app.services.storage).sweep()
const moves = () => new QuarantineMoves({ ...world.app.services, db: world.database, onError: notFailing })
const notFailing = (error: unknown) => {
  throw error
}

/** Simulates the passage of a minute so that a dead process's work is due. */
async function makeWorkDue(): Promise<void> {
  await world.database.pool.query(`UPDATE rescan_queue SET leased_until = now() - interval '1 second'`)
  await world.database.pool.query(`UPDATE quarantine SET move_due_at = now() - interval '1 second' WHERE move_due_at IS NOT NULL`)
  await world.database.pool.query(`UPDATE blob_garbage SET due_at = now() - interval '1 second'`)
}

async function expectInaccessible({ fileId, url, path }: { fileId: string; url: string; path: string }): Promise<void> {
  expect((await fetch(url)).status).toBe(404)
  expect((await tenant.admin.get(`/files/${fileId}`)).body.error.code).toBe('quarantined')
  expect(await pathOf(fileId)).not.toBe(path)
  expect(await world.app.services.storageHealth.verify({ readBlobs: true })).toEqual(
    expect.objectContaining({ countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0 }),
  )
  const reports = (await tenant.admin.get(`/files/${fileId}/validations`)).body.data
  expect(reports.data.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['rejected', 'accepted'])
}

test('invalidates the bucket URLs of a quarantined file and restores access after its release', async () => {
  const file = await createInfectedFile()
  await clamd.updateSignatures(world)
  await rescanAll(world)
  await sweep()
  await expectInaccessible(file)
  expect((await tenant.admin.post(`/quarantine/${file.fileId}/release`, { reason: 'Known to us.' })).status).toBe(200)
  const again = (await tenant.admin.get(`/files/${file.fileId}`)).body.data.download_url
  expect(await (await fetch(again)).text()).toContain(newlyInfected)
})

test('retries the quarantine of a file in an unavailable bucket', async () => {
  const file = await createInfectedFile()
  await clamd.updateSignatures(world)
  bucketWorld.bucket.faults.plan('copy', { kind: 'status', status: 403 })
  await rescanAll(world)
  expect((await tenant.admin.get(`/files/${file.fileId}`)).body.error.code).toBe('quarantined')
  expect((await fetch(file.url)).status).toBe(200)
  await makeWorkDue()
  expect(await moves().completeDueMoves()).toBe(1)
  await sweep()
  await expectInaccessible(file)
})

test("quarantines a file even if the bucket's response to the copy is lost", async () => {
  const file = await createInfectedFile()
  await clamd.updateSignatures(world)
  bucketWorld.bucket.faults.plan('copy', { kind: 'lost' })
  await rescanAll(world)
  await sweep()
  await expectInaccessible(file)
})

test('deletes a purged quarantined file from the bucket', async () => {
  const file = await createInfectedFile()
  await clamd.updateSignatures(world)
  await rescanAll(world)
  const moved = await pathOf(file.fileId)
  expect((await tenant.admin.delete(`/quarantine/${file.fileId}`)).status).toBe(200)
  await sweep()
  expect(bucketWorld.bucket.objects.names.filter((name) => [file.path, moved].includes(name))).toEqual([])
})

test.each(['rescan.scanned', 'quarantine.marked', 'quarantine.copied', 'quarantine.moved'])(
  'completes a quarantine on another replica if the first replica is killed at %s',
  async (faultPoint) => {
    const file = await createInfectedFile()
    await clamd.updateSignatures(world)
    const killed = Service.run({
      DATABASE_URL: world.databaseUrl,
      MASTER_KEY: world.config.masterKey!.toString('base64'),
      DATA_DIR: join(world.dataDir, 'killed'),
      SCANNER_URL: clamd.url,
      ...bucketWorld.env,
      PORT: await findFreePort(),
      FAULT_POINT: faultPoint,
    })
    await killed.ended
    await makeWorkDue()
    await rescanAll(world)
    await moves().completeDueMoves()
    await makeWorkDue()
    await sweep()
    await expectInaccessible(file)
  },
)
