import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { describeWith } from '../support/installed-programs.js'
import { type RealClamd, startRealClamd } from '../support/real-clamd.js'
import { findFreePort, Service } from '../support/service.js'
import { newlyInfected, rescanAll, UpdatableClamd } from '../support/updatable-clamd.js'
import { type TestTenant, World } from '../support/world.js'

let clamd: UpdatableClamd
let world: World
let second: World
let tenant: TestTenant
beforeAll(async () => {
  clamd = await UpdatableClamd.start()
  world = await World.open({ SCANNER_URL: clamd.url })
  second = await World.open({ SCANNER_URL: clamd.url }, world)
  tenant = await world.createTenant()
})
afterAll(async () => {
  await second.close()
  await world.close()
  await clamd.daemon.close()
})

async function upload(context: string, count: number): Promise<string[]> {
  await tenant.createContext(context)
  const names = Array.from({ length: count }, (_, n) => `${n}.txt`)
  const files: string[] = []
  for (const name of names) files.push((await tenant.admin.upload(context, name, `${name} of ${context}`)).body.data.file_id)
  return files
}

/** Returns the number of reports per file. */
async function countReports(): Promise<number[]> {
  const { rows } = await world.database.pool.query<{ reports: number }>(
    `SELECT count(*)::int AS reports FROM validation_reports r JOIN files f USING (tenant_id, file_id) WHERE tenant_id = $1 GROUP BY file_id`,
    [tenant.tenantId],
  )
  return [...new Set(rows.map((row) => row.reports))]
}

/** Each replica waits until the other has opened a file, because otherwise the first replica could scan all files. */
async function runOnBothReplicas(work: () => Promise<number[]>): Promise<number[]> {
  const stores = [world, second].map(({ app }) => app.services.storage)
  const open = stores.map((storage) => storage.open)
  const have: Promise<void>[] = stores.map(
    (storage, n) =>
      new Promise((resolve) => {
        storage.open = async (...args) => {
          resolve()
          await Promise.all(have)
          return open[n]!.apply(storage, args)
        }
      }),
  )
  return work().finally(() => {
    for (const [n, storage] of stores.entries()) storage.open = open[n]!
  })
}

test("shares a context's rescan between two replicas without scanning a file twice", async () => {
  await upload('shared', 100)
  await clamd.updateSignatures(world, second)
  const { requests: requested } = clamd.daemon
  const batches = await runOnBothReplicas(() => Promise.all([rescanAll(world), rescanAll(second)]))
  expect(Math.min(...batches)).toBeGreaterThan(0)
  expect(clamd.daemon.requests - requested).toBe(100)
  expect(await countReports()).toEqual([2])
  const { body } = await tenant.admin.get('/contexts/shared/rescan')
  expect(body.data).toMatchObject({ status: 'finished', files: 100, files_done: 100, files_scanned: 100 })
})

test('leaves a rescan to replicas with newer signatures', async () => {
  const old = await UpdatableClamd.start()
  const behind = await World.open({ SCANNER_URL: old.url }, world)
  try {
    await upload('uneven', 3)
    await clamd.updateSignatures(world, second)
    expect(await rescanAll(world)).toBeGreaterThan(0)
    const { requests: requested } = old.daemon
    expect(await rescanAll(behind)).toBe(0)
    expect(old.daemon.requests - requested).toBe(0)
    expect(await rescanAll(world)).toBe(0)
  } finally {
    await behind.close()
    await old.daemon.close()
  }
})

test('continues the rescan of a killed replica on another replica, from its last position', async () => {
  const files = await upload('killed', 60)
  const before = (await countReports())[0]!
  await clamd.updateSignatures(world, second)
  const killed = await Service.run({
    DATABASE_URL: world.databaseUrl,
    MASTER_KEY: world.config.masterKey!.toString('base64'),
    DATA_DIR: join(world.dataDir, 'killed'),
    STORAGE_URL: world.config.storageUrl,
    SCANNER_URL: clamd.url,
    PORT: await findFreePort(),
    FAULT_POINT: 'rescan.scanned',
  })
  await killed.ended
  await world.database.pool.query(`UPDATE rescan_queue SET leased_until = now() - interval '1 second'`)
  await Promise.all([rescanAll(world), rescanAll(second)])
  const { body } = await tenant.admin.get('/contexts/killed/rescan')
  expect(body.data).toMatchObject({ status: 'finished', files: files.length, files_done: files.length, files_failed: 0 })
  expect(before).toBeGreaterThan(0)
  for (const file of files) expect((await tenant.admin.get(`/files/${file}/validations`)).body.data.data).toHaveLength(2)
})

test('scans a restored file if the signatures changed while it was in the trash', async () => {
  const [file] = await upload('trashed', 1)
  expect((await tenant.admin.patch('/contexts/trashed/policy', { trash_days: 1 })).status).toBe(200)
  expect((await tenant.admin.delete(`/files/${file}`)).status).toBe(200)
  await clamd.updateSignatures(world, second)
  await rescanAll(world)
  expect((await tenant.admin.post(`/trash/${file}/restore`)).status).toBe(200)
  await rescanAll(second)
  const reportsOf = async () => (await tenant.admin.get(`/files/${file}/validations`)).body.data.data
  expect(await reportsOf()).toHaveLength(2)
  // The signatures have not changed since the last scan.
  await tenant.admin.delete(`/files/${file}`)
  await tenant.admin.post(`/trash/${file}/restore`)
  await rescanAll(second)
  expect(await reportsOf()).toHaveLength(2)
  expect((await world.database.pool.query('SELECT FROM rescan_queue')).rowCount).toBe(0)
})

describeWith('clamd')('rescans with a real clamd', () => {
  let real: RealClamd
  let scanned: World
  beforeAll(async () => {
    real = await startRealClamd()
    scanned = await World.open({ SCANNER_URL: real.unixUrl })
  })
  afterAll(async () => {
    await scanned.close()
    await real.close()
  })

  test('finds infected files in a requested rescan even if the signature version did not change', async () => {
    const owner = await scanned.createTenant()
    await owner.createContext('notes')
    const hidden = (await owner.admin.upload('notes', 'a.txt', `a note, ${newlyInfected}`)).body.data.file_id
    const clean = (await owner.admin.upload('notes', 'b.txt', 'another note')).body.data.file_id
    await rescanAll(scanned)
    await real.addSignature('Test.Tomorrow', newlyInfected)
    expect(await rescanAll(scanned)).toBe(0)
    expect((await owner.admin.post('/contexts/notes/rescan')).body.data).toMatchObject({
      status: 'running',
      signatures: 'ClamAV unversioned',
    })
    await rescanAll(scanned)
    expect((await owner.admin.get(`/files/${hidden}`)).body.error.code).toBe('quarantined')
    const { data } = (await owner.admin.get('/quarantine')).body.data
    expect(data).toMatchObject([{ file_id: hidden, viruses: ['Test.Tomorrow.UNOFFICIAL'], signatures: 'ClamAV unversioned' }])
    expect((await owner.admin.get(`/files/${clean}/validations`)).body.data.data).toHaveLength(2)
    expect((await owner.admin.get(`/files/${clean}/metadata`)).status).toBe(200)
  })
})
