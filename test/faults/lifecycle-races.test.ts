import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { healthyStorage, moveDeletionBack, moveUploadBack, runExpiry } from '../support/file-lifecycle.js'
import { getItems } from '../support/response-assertions.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let other: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open({ SCANNER_URL: 'none:' })
  other = await World.open({ SCANNER_URL: 'none:' }, world)
  tenant = await world.createTenant()
})
afterAll(async () => {
  await other.close()
  await world.close()
})
afterEach(async () => expect(await world.app.services.storageHealth.verify()).toMatchObject({ countersDrift: 0 }))

const rounds = Array.from({ length: 12 }, (_, at) => at)

/** Creates a context with a policy and returns a function that uploads to alternating replicas. */
async function context(contextKey: string, policy: object) {
  await tenant.createContext(contextKey, { scan_for_viruses: false })
  expect((await tenant.admin.patch(`/contexts/${contextKey}/policy`, policy)).status).toBe(200)
  return async () => (await tenant.admin.upload(contextKey, 'a.txt', 'ten bytes.')).body.data.file_id as string
}

/** Returns a caller with the same credential for the other replica. */
const elsewhere = () => other.createCaller(tenant.admin.credential)
const getPlaces = async (fileId: string): Promise<string[]> => {
  const { rows } = await world.database.pool.query<{ place: string }>(
    `SELECT 'files' AS place FROM files WHERE file_id = $1 UNION ALL SELECT 'trash' FROM trash WHERE file_id = $1 UNION ALL SELECT 'holds' FROM holds WHERE file_id = $1`,
    [fileId],
  )
  return rows.map(({ place }) => place)
}

test.each([7, 0])('never allows both a hold and a concurrent deletion of the same file (trash period: %i days)', async (days) => {
  const upload = await context(`hold_${days}`, { trash_days: days })
  for (const at of rounds) {
    const id = await upload()
    const hold = () => tenant.admin.rest('PUT', `/files/${id}/hold`, { reason: 'Case' })
    const remove = () => elsewhere().delete(`/files/${id}`)
    const [held, deleted] =
      at % 2 === 0 ? await Promise.all([hold(), remove()]) : (await Promise.all([remove(), hold()])).reverse()
    expect([
      [200, 409],
      [404, 200],
    ]).toContainEqual([held!.status, deleted!.status])
    expect(await getPlaces(id)).toEqual(held!.status === 200 ? ['files', 'holds'] : days > 0 ? ['trash'] : [])
  }
})

test('prevents all replicas from deleting an expired file that is on hold', async () => {
  const upload = await context('due', { retention_days: 1 })
  const ids = await Promise.all(rounds.map(async () => moveUploadBack(world, await upload(), 2)))
  const holds = ids.map((id) => tenant.admin.rest('PUT', `/files/${id}/hold`, { reason: 'Case' }))
  await Promise.all([runExpiry(world), runExpiry(other), ...holds])
  for (const [at, id] of ids.entries())
    expect(await getPlaces(id)).toEqual((await holds[at]!).status === 200 ? ['files', 'holds'] : [])
})

test('accepts exactly one of two concurrent requests to restore and to purge a file', async () => {
  const upload = await context('purged', { trash_days: 7 })
  for (const _ of rounds) {
    const id = await upload()
    await tenant.admin.delete(`/files/${id}`)
    const [restored, purged] = await Promise.all([tenant.admin.post(`/trash/${id}/restore`), elsewhere().delete(`/trash/${id}`)])
    expect([restored.status, purged.status].sort()).toEqual([200, 404])
    expect(await getPlaces(id)).toEqual(restored.status === 200 ? ['files'] : [])
  }
})

test('leaves a concurrently deleted and restored file in exactly one state', async () => {
  const upload = await context('moved', { trash_days: 7 })
  for (const _ of rounds) {
    const id = await upload()
    await tenant.admin.delete(`/files/${id}`)
    await Promise.all([
      tenant.admin.post(`/trash/${id}/restore`),
      elsewhere().delete(`/files/${id}`),
      elsewhere().post(`/trash/${id}/restore`),
      tenant.admin.delete(`/files/${id}`),
    ])
    expect(await getPlaces(id)).toHaveLength(1)
  }
})

test('keeps a restored file during a concurrent trash purge', async () => {
  const upload = await context('lowered', { trash_days: 7 })
  for (const _ of rounds.slice(0, 4)) {
    const id = await upload()
    await tenant.admin.delete(`/files/${id}`)
    const lower = tenant.admin.patch('/contexts/lowered/policy', { trash_days: 0 }).then(() => runExpiry(other))
    const [restored] = await Promise.all([tenant.admin.post(`/trash/${id}/restore`), lower])
    expect(await getPlaces(id)).toEqual(restored.status === 200 ? ['files'] : [])
    await tenant.admin.patch('/contexts/lowered/policy', { trash_days: 7 })
  }
})

test('applies an acknowledged increase in the trash period to all files in the trash', async () => {
  const upload = await context('raised', { trash_days: 1 })
  const ids = await Promise.all(rounds.map(() => upload()))
  await tenant.admin.post('/files/delete', { file_ids: ids })
  for (const id of ids) await moveDeletionBack(world, id, 2)
  const raise = async () => {
    await tenant.admin.patch('/contexts/raised/policy', { trash_days: 30 })
    return getItems(await tenant.admin.get('/trash?context=raised')).length as number
  }
  const [remaining] = await Promise.all([raise(), runExpiry(other)])
  expect(getItems(await tenant.admin.get('/trash?context=raised'))).toHaveLength(remaining)
})

test('deletes a context only if it and its trash contain no files', async () => {
  for (const at of rounds.slice(0, 6)) {
    const upload = await context(`dropped_${at}`, { trash_days: 7 })
    const id = await upload()
    await tenant.admin.delete(`/files/${id}`)
    const [purged, restored, dropped] = await Promise.all([
      tenant.admin.delete(`/trash/${id}`),
      elsewhere().post(`/trash/${id}/restore`),
      elsewhere().delete(`/contexts/dropped_${at}`),
    ])
    if (dropped.status === 200) expect([purged.status, restored.status]).toEqual([200, 404])
    else expect(dropped.status).toBe(409)
    expect(await getPlaces(id)).toEqual(restored.status === 200 ? ['files'] : [])
  }
})

test('database rows and blobs match after all concurrency tests', async () => {
  expect(await world.app.services.storageHealth.verify({ readBlobs: true })).toEqual(healthyStorage)
})
