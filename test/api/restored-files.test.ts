import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import { openBucketWorld } from '../support/bucket/world-env.js'
import { healthyStorage } from '../support/file-lifecycle.js'
import { findFreePort } from '../support/free-port.js'
import { getData, toStatusAndCode } from '../support/response-assertions.js'
import { newlyInfected, rescanAll, UpdatableClamd } from '../support/updatable-clamd.js'
import { type TestTenant, World } from '../support/world.js'

// A file restored after a signature change stays in quarantine until a scan finds it clean.
let clamd: UpdatableClamd
let world: World
let tenant: TestTenant
beforeAll(async () => {
  clamd = await UpdatableClamd.start()
  world = await World.open({ SCANNER_URL: clamd.url })
})
afterAll(async () => {
  await world.close()
  await clamd.daemon.close()
})
beforeEach(async () => {
  tenant = await createTenantWithTrash(world)
})

async function createTenantWithTrash(of: World): Promise<TestTenant> {
  const created = await of.createTenant()
  await created.createContext('notes')
  getData(await created.admin.patch('/contexts/notes/policy', { trash_days: 7 }))
  return created
}

/** Creates a file in the trash and a download URL that predates its deletion. */
async function createTrashedFile(content: string): Promise<{ fileId: string; url: string }> {
  clamd.stopDetecting()
  const fileId = (await tenant.admin.upload('notes', 'a.txt', `${randomBytes(4).toString('hex')} ${content}`)).body.data.file_id
  const url = (await tenant.admin.get(`/files/${fileId}`)).body.data.download_url
  expect((await fetch(url)).status).toBe(200)
  getData(await tenant.admin.delete(`/files/${fileId}`))
  return { fileId, url }
}

const restored = async (fileId: string) => getData(await tenant.admin.post(`/trash/${fileId}/restore`))

async function expectServed({ fileId, url }: { fileId: string; url: string }): Promise<void> {
  expect((await tenant.admin.get(`/files/${fileId}`)).status).toBe(200)
  expect((await fetch(url)).status).toBe(200)
}

async function expectQuarantined({ fileId, url }: { fileId: string; url: string }): Promise<void> {
  expect(toStatusAndCode(await tenant.admin.get(`/files/${fileId}`))).toEqual([403, 'quarantined'])
  expect((await fetch(url)).status).toBe(403)
}

describe('restored files', () => {
  test('serves a restored file immediately if the scanner signatures have not changed', async () => {
    const file = await createTrashedFile('a note')
    await restored(file.fileId)
    await expectServed(file)
    expect(getData(await tenant.admin.get('/quarantine')).data).toEqual([])
  })

  test('quarantines a restored file whose scan is outdated, and serves it after a clean scan', async () => {
    const file = await createTrashedFile('a note')
    const version = await clamd.updateSignatures(world)
    await rescanAll(world)
    await restored(file.fileId)
    await expectQuarantined(file)
    expect(toStatusAndCode(await tenant.admin.delete(`/files/${file.fileId}`))).toEqual([403, 'quarantined'])
    expect(getData(await tenant.admin.get('/quarantine')).data).toEqual([
      expect.objectContaining({ file_id: file.fileId, viruses: [], signatures: `ClamAV ${version}` }),
    ])
    const verify = () => world.app.services.storageHealth.verify({ tenantId: tenant.tenantId })
    expect(await verify()).toMatchObject(healthyStorage)
    await rescanAll(world)
    await expectServed(file)
    expect(getData(await tenant.admin.get('/quarantine')).data).toEqual([])
    expect(await verify()).toMatchObject(healthyStorage)
    // The signatures have not changed since the last scan.
    getData(await tenant.admin.delete(`/files/${file.fileId}`))
    await restored(file.fileId)
    await expectServed(file)
  })

  test('keeps a restored infected file in quarantine', async () => {
    const file = await createTrashedFile(newlyInfected)
    await clamd.updateSignatures(world)
    await rescanAll(world)
    await restored(file.fileId)
    await expectQuarantined(file)
    await rescanAll(world)
    await expectQuarantined(file)
    expect(getData(await tenant.admin.get('/quarantine')).data).toMatchObject([{ viruses: ['Test.Tomorrow'] }])
    const changes = getData(await tenant.admin.get(`/audit-logs/entity/file/${file.fileId}`)).data
    expect(changes.map(({ details }: { details: { change?: string } }) => details.change).slice(0, 2)).toEqual([
      'quarantined',
      'restored',
    ])
    const events = getData(await tenant.admin.get('/events?types=file.quarantined')).data
    expect(events).toMatchObject([{ data: { file_id: file.fileId } }])
  })

  test('quarantines a restored file even if no rescan has run since the signatures changed', async () => {
    const file = await createTrashedFile('a note')
    await clamd.updateSignatures(world)
    await restored(file.fileId)
    await expectQuarantined(file)
    await rescanAll(world)
    await expectServed(file)
  })

  test('quarantines a restored file on a replica without a working scanner', async () => {
    const file = await createTrashedFile('a note')
    await clamd.updateSignatures(world)
    await rescanAll(world)
    const other = await World.open({ SCANNER_URL: `clamd://127.0.0.1:${await findFreePort()}` }, world)
    try {
      expect((await other.createCaller(tenant.admin.credential).post(`/trash/${file.fileId}/restore`)).status).toBe(200)
    } finally {
      await other.close()
    }
    await expectQuarantined(file)
    await rescanAll(world)
    await expectServed(file)
  })

  test('scans a restored file even if its context disables rescans for new signatures', async () => {
    await clamd.updateSignatures(world)
    await rescanAll(world)
    getData(await tenant.admin.patch('/contexts/notes/policy', { rescan: false }))
    const file = await createTrashedFile('a note')
    await clamd.updateSignatures(world)
    await rescanAll(world)
    await restored(file.fileId)
    await expectQuarantined(file)
    await rescanAll(world)
    await expectServed(file)
  })

  test('keeps a restored file in quarantine until a replica with the new signatures scans it', async () => {
    const older = await UpdatableClamd.start()
    await clamd.updateSignatures(world)
    await rescanAll(world)
    const behind = await World.open({ SCANNER_URL: older.url }, world)
    try {
      const own = behind.createCaller(tenant.admin.credential)
      const fileId = (await own.upload('notes', 'a.txt', `${randomBytes(4).toString('hex')} a note`)).body.data.file_id
      getData(await tenant.admin.delete(`/files/${fileId}`))
      await restored(fileId)
      await rescanAll(behind)
      expect(toStatusAndCode(await tenant.admin.get(`/files/${fileId}`))).toEqual([403, 'quarantined'])
      await rescanAll(world)
      expect((await tenant.admin.get(`/files/${fileId}`)).status).toBe(200)
    } finally {
      await behind.close()
      await older.daemon.close()
    }
  })

  test('scans a restored file again if its scan was interrupted by its deletion', async () => {
    const file = await createTrashedFile('a note')
    await world.database.pool.query(
      `INSERT INTO rescan_queue (tenant_id, file_id, context_id, leased_until, lease_token, attempts)
       SELECT tenant_id, file_id, context_id, now() + interval '1 hour', 'req_before', 1 FROM trash WHERE tenant_id = $1 AND file_id = $2`,
      [tenant.tenantId, file.fileId],
    )
    await clamd.updateSignatures(world)
    await restored(file.fileId)
    await expectQuarantined(file)
    await rescanAll(world)
    await expectServed(file)
  })

  test('keeps a restored file in quarantine if every scan fails, until an admin releases it', async () => {
    const file = await createTrashedFile('a note')
    await clamd.updateSignatures(world)
    await rescanAll(world)
    await restored(file.fileId)
    const { version } = clamd.daemon.script
    clamd.daemon.script = { version: version!, response: 'stream: Can not allocate memory ERROR\0' }
    for (let attempt = 0; attempt < 3; attempt++) {
      await rescanAll(world)
      await world.database.pool.query(`UPDATE rescan_queue SET leased_until = now() - interval '1 second'`)
    }
    const report = getData(await tenant.admin.get(`/files/${file.fileId}/validation`))
    expect(report.checks.at(-1)).toMatchObject({ outcome: 'incomplete', evidence: { scan_failed: true } })
    await expectQuarantined(file)
    getData(await tenant.admin.post(`/quarantine/${file.fileId}/release`, { reason: 'We know this file.' }))
    await expectServed(file)
  })

  test('serves a restored file if its context no longer scans files', async () => {
    const [before, after] = [await createTrashedFile('one'), await createTrashedFile('two')]
    await clamd.updateSignatures(world)
    await restored(after.fileId)
    getData(await tenant.admin.patch('/contexts/notes', { scan_for_viruses: false }))
    await restored(before.fileId)
    await expectServed(before)
    await expectQuarantined(after)
    await rescanAll(world)
    await expectServed(after)
  })
})

test('moves a restored file to a new bucket path, so that its old URLs stop working', async () => {
  const bucketWorld = await openBucketWorld()
  const own = await World.open({ ...bucketWorld.env, SCANNER_URL: clamd.url })
  try {
    tenant = await createTenantWithTrash(own)
    const { fileId, url } = await createTrashedFile('a note in a bucket')
    await clamd.updateSignatures(own)
    await restored(fileId)
    await new Sweeper(own.database.pool, own.app.services.storage).sweep()
    expect((await fetch(url)).status).toBe(404)
    expect(toStatusAndCode(await tenant.admin.get(`/files/${fileId}`))).toEqual([403, 'quarantined'])
    await rescanAll(own)
    const again = getData(await tenant.admin.get(`/files/${fileId}`), { timestamp: false }).download_url
    expect(await (await fetch(again)).text()).toContain('a note in a bucket')
    expect(await own.app.services.storageHealth.verify({ readBlobs: true })).toMatchObject(healthyStorage)
  } finally {
    await own.close()
    await bucketWorld.close()
  }
})
