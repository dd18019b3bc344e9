import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { healthyStorage, moveDeletionBack, moveUploadBack, runExpiry } from '../support/file-lifecycle.js'
import { getData, getItems, toStatusAndCode } from '../support/response-assertions.js'
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

const upload = async (contextKey: string): Promise<string> =>
  (await tenant.admin.upload(contextKey, 'a.txt', 'ten bytes.')).body.data.file_id
const createContext = async (contextKey: string, policy: object) => {
  await tenant.createContext(contextKey, { scan_for_viruses: false })
  getData(await tenant.admin.patch(`/contexts/${contextKey}/policy`, policy))
}
const getStatus = async (fileId: string) => (await tenant.admin.get(`/files/${fileId}/metadata`)).status
const listIds = async (path: string) => getItems(await tenant.admin.get(path)).map(({ file_id }: { file_id: string }) => file_id)

/** Creates ten-byte files with an upload time two days ago. */
const seed = async (contextKey: string, files: number) => {
  const template = await moveUploadBack(world, await upload(contextKey), 2)
  await world.database.pool.query(
    `INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, uploaded_by, created_at, updated_at)
     SELECT left(file_id, 21) || lpad(i::text, 10, '0'), tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path || i, uploaded_by, created_at, updated_at
     FROM files, generate_series(2, $2::int) i WHERE file_id = $1`,
    [template, files],
  )
  await world.app.services.storageHealth.repairCounters()
}

test('deletes only files past their retention period, and records the system as the actor', async () => {
  await createContext('short', { retention_days: 30 })
  await createContext('endless', { trash_days: 3 })
  const [young, almost, old] = [
    await upload('short'),
    await moveUploadBack(world, await upload('short'), 29.9),
    await moveUploadBack(world, await upload('short'), 30.1),
  ]
  const retained = await moveUploadBack(world, await upload('endless'), 400)
  expect(await runExpiry(world)).toEqual({ deleted: 1, purged: 0 })
  expect(await Promise.all([young, almost, old, retained].map(getStatus))).toEqual([200, 200, 404, 200])
  const [entry] = getItems(await tenant.admin.get(`/audit-logs?entity_id=${old}`))
  expect(entry).toMatchObject({ action: 'deleted', performed_by_type: 'system', details: { size_bytes: 10, retention_days: 30 } })
  expect(await listIds('/trash')).toEqual([])
})

test('moves expired files to the trash if the trash is enabled', async () => {
  await createContext('both', { retention_days: 30, trash_days: 5 })
  const fileId = await moveUploadBack(world, await upload('both'), 31)
  await runExpiry(world)
  expect(await listIds('/trash?context=both')).toEqual([fileId])
  await moveDeletionBack(world, fileId, 5)
  expect(await runExpiry(world)).toEqual({ deleted: 0, purged: 1 })
  const { rows } = await world.database.pool.query(
    `SELECT type, entry FROM journal WHERE subject = $1 AND type <> 'file.accepted' ORDER BY sequence`,
    [fileId],
  )
  expect(rows.map(({ type }) => type)).toEqual(['file.deleted', 'file.purged'])
  for (const { entry } of rows) expect(JSON.parse(entry).data).toMatchObject({ file_id: fileId, performed_by_id: 'system' })
})

test('expires a restored file again if it is past its retention period', async () => {
  await createContext('again', { retention_days: 30, trash_days: 5 })
  const fileId = await moveUploadBack(world, await upload('again'), 31)
  await runExpiry(world)
  getData(await tenant.admin.post(`/trash/${fileId}/restore`))
  await runExpiry(world)
  expect(await listIds('/trash?context=again')).toEqual([fileId])
})

test('deletes each expired file only once, even during uploads on two replicas', async () => {
  await createContext('many', { retention_days: 1 })
  await seed('many', 450)
  const uploads = (async () => {
    const retainedIds: string[] = []
    for (let at = 0; at < 20; at++) retainedIds.push(await upload('many'))
    return retainedIds
  })()
  const turns = await Promise.all([runExpiry(world), runExpiry(other)])
  expect(turns.reduce((sum, { deleted }) => sum + deleted, 0)).toBe(450)
  const uploadedIds = await uploads
  expect((await listIds('/files?context=many&page_size=100')).sort()).toEqual(uploadedIds.sort())
  const { rows } = await world.database.pool.query(
    `SELECT count(*)::int AS events, count(DISTINCT subject)::int AS files FROM journal WHERE type = 'file.deleted' AND context_key = 'many'`,
  )
  expect(rows).toEqual([{ events: 450, files: 450 }])
  expect((await world.app.services.storageHealth.verify()).countersDrift).toBe(0)
})

test('resumes an interrupted retention run, and skips files on hold', async () => {
  await createContext('resumed', { retention_days: 1 })
  await seed('resumed', 250)
  const ids = (
    await world.database.pool.query<{ file_id: string }>(
      'SELECT file_id FROM files WHERE tenant_id = $1 ORDER BY file_id LIMIT 120',
      [tenant.tenantId],
    )
  ).rows
  for (const { file_id } of ids.slice(0, 3)) getData(await tenant.admin.rest('PUT', `/files/${file_id}/hold`, { reason: 'x' }))
  let batches = 0
  await world.app.services.expiry.expireFiles({
    shouldContinue: () => ++batches <= 2,
    onFailed: (_, error) => {
      throw error
    },
  })
  expect(getData(await tenant.admin.get('/files?context=resumed')).pagination.total_items).toBeGreaterThan(100)
  await runExpiry(world)
  expect((await listIds('/files?context=resumed&page_size=100')).length).toBe(
    (
      await world.database.pool.query(
        'SELECT 1 FROM holds h JOIN files f USING (tenant_id, file_id) WHERE f.original_filename = $1 AND f.context_id = (SELECT context_id FROM file_contexts WHERE tenant_id = $2 AND context_key = $3)',
        ['a.txt', tenant.tenantId, 'resumed'],
      )
    ).rowCount,
  )
})

test('does not delete files if retention is disabled before the run', async () => {
  await createContext('off', { retention_days: 30 })
  const fileId = await moveUploadBack(world, await upload('off'), 60)
  getData(await tenant.admin.patch('/contexts/off/policy', { retention_days: null }))
  await runExpiry(world)
  expect(await getStatus(fileId)).toBe(200)
  getData(await tenant.admin.patch('/contexts/off/policy', { retention_days: 30 }))
  await runExpiry(world)
  expect(toStatusAndCode(await tenant.admin.get(`/files/${fileId}/metadata`))).toEqual([404, 'not_found'])
})

test('continues retention in other contexts if one context fails', async () => {
  await createContext('broken', { retention_days: 30 })
  await createContext('sound', { retention_days: 30 })
  const [stuck, deleted] = [
    await moveUploadBack(world, await upload('broken'), 60),
    await moveUploadBack(world, await upload('sound'), 60),
  ]
  await world.database.pool.query(
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$;
     CREATE TRIGGER refused BEFORE DELETE ON files FOR EACH ROW WHEN (OLD.file_id = '${stuck}') EXECUTE FUNCTION refuse()`,
  )
  const failed: string[] = []
  await world.app.services.expiry.expireFiles({ onFailed: (context) => failed.push(context) })
  await world.database.pool.query('DROP FUNCTION refuse CASCADE')
  expect(failed).toHaveLength(1)
  expect([await getStatus(stuck), await getStatus(deleted)]).toEqual([200, 404])
  await runExpiry(world)
  expect(await getStatus(stuck)).toBe(404)
  expect(healthyStorage.countersDrift).toBe((await world.app.services.storageHealth.verify()).countersDrift)
})
