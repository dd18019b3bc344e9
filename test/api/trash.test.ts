import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import { healthyStorage, moveDeletionBack, runExpiry } from '../support/file-lifecycle.js'
import {
  anyTimestamp,
  getData,
  getGraphqlCode,
  getInvalidFields,
  getItems,
  toStatusAndCode,
} from '../support/response-assertions.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open({ SCANNER_URL: 'none:' })
  tenant = await world.createTenant()
})
afterAll(() => world.close())

const created = { status: 201, message: true, timestamp: false }
const bin = { allowed_extensions: ['txt'], scan_for_viruses: false }

/** Creates a context with trash enabled and a deleted file of ten bytes. */
async function createTrashedFile(contextKey: string, policy: object = { trash_days: 7 }): Promise<() => Promise<string>> {
  await tenant.createContext(contextKey, bin)
  getData(await tenant.admin.patch(`/contexts/${contextKey}/policy`, policy))
  return async () => getData(await tenant.admin.upload(contextKey, 'a.txt', 'ten bytes.'), created).file_id
}

const verifyStorage = () => world.app.services.storageHealth.verify({ readBlobs: true })
const usedBytes = async (contextKey: string) => getData(await tenant.admin.get(`/contexts/${contextKey}`)).storage_used_bytes
const countFiles = async (contextKey: string) =>
  getData(await tenant.admin.get(`/files?context=${contextKey}`)).pagination.total_items
const trashOf = async (contextKey: string) => getItems(await tenant.admin.get(`/trash?context=${contextKey}`))
const listAudits = async (fileId: string) =>
  getItems(await tenant.admin.get(`/audit-logs?entity_id=${fileId}`)).map(
    ({ action, performed_by_type, details }: Record<string, never>) => [action, performed_by_type, details],
  )

test('shows a deleted file only in the trash', async () => {
  const upload = await createTrashedFile('gone')
  const fileId = await upload()
  const { download_url: url } = getData(await tenant.admin.get(`/files/${fileId}`), { timestamp: false })
  expect(getData(await tenant.admin.delete(`/files/${fileId}`))).toEqual({ file_id: fileId })
  for (const path of ['', '/metadata', '/validation'])
    expect(toStatusAndCode(await tenant.admin.get(`/files/${fileId}${path}`))).toEqual([404, 'not_found'])
  expect(toStatusAndCode(await tenant.admin.delete(`/files/${fileId}`))).toEqual([404, 'not_found'])
  expect(toStatusAndCode(await tenant.admin.rest('PUT', `/files/${fileId}/hold`, { reason: 'late' }))).toEqual([404, 'not_found'])
  expect((await fetch(url)).status).toBe(404)
  expect(await countFiles('gone')).toBe(0)
  const [item, ...others] = await trashOf('gone')
  expect(others).toEqual([])
  expect(item).toEqual({
    file_id: fileId,
    original_filename: 'a.txt',
    size_bytes: 10,
    context_key: 'gone',
    deleted_at: anyTimestamp,
    purge_at: anyTimestamp,
  })
  expect(Date.parse(item.purge_at) - Date.parse(item.deleted_at)).toBe(7 * 86_400_000)
})

test('counts files in the trash towards the stored bytes, but not towards the number of files', async () => {
  const upload = await createTrashedFile('counted')
  const [remainingFile, fileId] = [await upload(), await upload()]
  getData(await tenant.admin.delete(`/files/${fileId}`))
  expect(await usedBytes('counted')).toBe(20)
  expect(await countFiles('counted')).toBe(1)
  expect(await verifyStorage()).toEqual(healthyStorage)
  getData(await tenant.admin.delete(`/trash/${fileId}`))
  expect(await usedBytes('counted')).toBe(10)
  expect(await verifyStorage()).toEqual(healthyStorage)
  getData(await tenant.admin.delete(`/files/${remainingFile}`))
  getData(await tenant.admin.post(`/trash/${remainingFile}/restore`))
  expect(await verifyStorage()).toEqual(healthyStorage)
})

test('preserves the number of bytes in the trash when counters are repaired', async () => {
  const upload = await createTrashedFile('repaired')
  getData(await tenant.admin.delete(`/files/${await upload()}`))
  await world.database.pool.query('UPDATE file_totals SET bytes = bytes + 7, files = files + 1 WHERE tenant_id = $1', [
    tenant.tenantId,
  ])
  await world.database.pool.query('UPDATE tenant_heads SET bytes = bytes + 7 WHERE tenant_id = $1', [tenant.tenantId])
  await world.app.services.storageHealth.repairCounters()
  expect(await verifyStorage()).toEqual(healthyStorage)
  expect(await usedBytes('repaired')).toBe(10)
})

test('restores a file from the trash unchanged and readable', async () => {
  const upload = await createTrashedFile('back')
  const fileId = await upload()
  const { updated_at: _, ...before } = getData(await tenant.admin.get(`/files/${fileId}/metadata`))
  getData(await tenant.admin.delete(`/files/${fileId}`))
  const { updated_at: _now, ...after } = getData(await tenant.admin.post(`/trash/${fileId}/restore`))
  expect(after).toEqual(before)
  const { download_url: url } = getData(await tenant.admin.get(`/files/${fileId}`), { timestamp: false })
  expect(await (await fetch(url)).text()).toBe('ten bytes.')
  expect(getData(await tenant.admin.get(`/files/${fileId}/validation`)).outcome).toBe('accepted')
  expect(await trashOf('back')).toEqual([])
  expect(await countFiles('back')).toBe(1)
  expect(toStatusAndCode(await tenant.admin.post(`/trash/${fileId}/restore`))).toEqual([404, 'not_found'])
  expect(getData(await tenant.admin.post('/contexts/back/preview', {}))).toMatchObject({ files: 1, undecided: 0 })
})

test('restores a file only to an active context', async () => {
  const upload = await createTrashedFile('closed')
  const fileId = await upload()
  getData(await tenant.admin.delete(`/files/${fileId}`))
  getData(await tenant.admin.patch('/contexts/closed', { status: 'disabled' }))
  expect(toStatusAndCode(await tenant.admin.post(`/trash/${fileId}/restore`))).toEqual([409, 'conflict'])
  getData(await tenant.admin.patch('/contexts/closed', { status: 'active' }))
  getData(await tenant.admin.post(`/trash/${fileId}/restore`))
})

test('applies a shorter trash period to files that are already in the trash', async () => {
  const upload = await createTrashedFile('timed')
  const [early, late] = [await upload(), await upload()]
  for (const fileId of [early, late]) getData(await tenant.admin.delete(`/files/${fileId}`))
  await moveDeletionBack(world, late, 6)
  await runExpiry(world)
  expect(await trashOf('timed')).toHaveLength(2)
  getData(await tenant.admin.patch('/contexts/timed/policy', { trash_days: 6 }))
  await runExpiry(world)
  expect((await trashOf('timed')).map(({ file_id }: { file_id: string }) => file_id)).toEqual([early])
  expect(await listAudits(late)).toEqual([
    ['deleted', 'system', { change: 'purged', size_bytes: 10 }],
    ['deleted', 'api_key', { size_bytes: 10 }],
    ['created', 'api_key', expect.any(Object)],
  ])
  getData(await tenant.admin.patch('/contexts/timed/policy', { trash_days: 0 }))
  await runExpiry(world)
  expect(await trashOf('timed')).toEqual([])
  await new Sweeper(world.database.pool, world.app.services.storage).sweep()
  expect(await verifyStorage()).toEqual(healthyStorage)
  expect(
    (await world.database.pool.query('SELECT 1 FROM validation_reports WHERE file_id = ANY ($1)', [[early, late]])).rowCount,
  ).toBe(0)
})

test('does not list or restore a file whose trash period has ended', async () => {
  const upload = await createTrashedFile('ended')
  const [first, second, third] = [await upload(), await upload(), await upload()]
  for (const fileId of [first, second, third]) getData(await tenant.admin.delete(`/files/${fileId}`))
  const trash = async (query = '') => {
    const { data, pagination } = getData(await tenant.admin.get(`/trash?context=ended${query}`))
    return [data.map(({ file_id }: { file_id: string }) => file_id), pagination.total_items, pagination.has_next]
  }
  await moveDeletionBack(world, second, 7)
  expect(await trash()).toEqual([[third, first], 2, false])
  expect(await trash('&page_size=1')).toEqual([[third], 2, true])
  expect(await trash('&page_size=1&page=2')).toEqual([[first], 2, false])
  const unknown = await tenant.admin.post(`/trash/${second.replace(/.{6}$/, 'aaaaaa')}/restore`)
  const ended = await tenant.admin.post(`/trash/${second}/restore`)
  expect(toStatusAndCode(ended)).toEqual([404, 'not_found'])
  expect(Object.keys(ended.body.error.details)).toEqual(Object.keys(unknown.body.error.details))
  const restore = 'mutation ($fileId: ID!) { restoreFile(fileId: $fileId) { fileId } }'
  expect(getGraphqlCode(await tenant.admin.graphql(restore, { fileId: second }))).toBe('NOT_FOUND')

  getData(await tenant.admin.patch('/contexts/ended/policy', { trash_days: 0 }))
  expect(await trash()).toEqual([[], 0, false])
  expect(toStatusAndCode(await tenant.admin.post(`/trash/${first}/restore`))).toEqual([404, 'not_found'])
  const listed = await tenant.admin.graphql('{ trash(context: "ended") { data { fileId } pagination { totalItems } } }')
  expect(listed.body.data.trash).toEqual({ data: [], pagination: { totalItems: 0 } })
  // Bytes of a file whose trash period has ended still count until a sweep or a purge.
  expect(await usedBytes('ended')).toBe(30)
  getData(await tenant.admin.delete(`/trash/${first}`))
  await runExpiry(world)
  expect(await usedBytes('ended')).toBe(0)
  expect(await verifyStorage()).toEqual(healthyStorage)
})

test('keeps the blob of a file in the trash even if the garbage journal lists it', async () => {
  const upload = await createTrashedFile('swept')
  const fileId = await upload()
  getData(await tenant.admin.delete(`/files/${fileId}`))
  await world.database.pool.query(
    `INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT tenant_id, blob_path, now() - interval '1 day' FROM trash WHERE file_id = $1`,
    [fileId],
  )
  await new Sweeper(world.database.pool, world.app.services.storage).sweep()
  getData(await tenant.admin.post(`/trash/${fileId}/restore`))
  await world.database.pool.query('DELETE FROM blob_garbage WHERE tenant_id = $1 AND NOT taken', [tenant.tenantId])
  expect(await verifyStorage()).toEqual(healthyStorage)
})

test('audits restores and purges, and creates events for them', async () => {
  const upload = await createTrashedFile('told')
  const fileId = await upload()
  getData(await tenant.admin.delete(`/files/${fileId}`))
  getData(await tenant.admin.post(`/trash/${fileId}/restore`))
  getData(await tenant.admin.delete(`/files/${fileId}`))
  getData(await tenant.admin.delete(`/trash/${fileId}`))
  expect(await listAudits(fileId)).toEqual([
    ['deleted', 'api_key', { change: 'purged', size_bytes: 10 }],
    ['deleted', 'api_key', { size_bytes: 10 }],
    ['updated', 'api_key', { change: 'restored' }],
    ['deleted', 'api_key', { size_bytes: 10 }],
    ['created', 'api_key', expect.any(Object)],
  ])
  const { rows } = await world.database.pool.query('SELECT type FROM journal WHERE subject = $1 ORDER BY sequence', [fileId])
  expect(rows.map(({ type }) => type)).toEqual(['file.accepted', 'file.deleted', 'file.restored', 'file.deleted', 'file.purged'])
})

test('deletes a file immediately and permanently if the trash is disabled', async () => {
  const upload = await createTrashedFile('plain', { trash_days: 0 })
  const fileId = await upload()
  getData(await tenant.admin.delete(`/files/${fileId}`))
  expect(await trashOf('plain')).toEqual([])
  expect(toStatusAndCode(await tenant.admin.post(`/trash/${fileId}/restore`))).toEqual([404, 'not_found'])
  expect((await listAudits(fileId)).map(([action]: [string]) => action)).toEqual(['deleted', 'created'])
})

test('rejects a request to delete a context that has files in the trash', async () => {
  const upload = await createTrashedFile('clinging')
  const fileId = await upload()
  getData(await tenant.admin.delete(`/files/${fileId}`))
  const response = await tenant.admin.delete('/contexts/clinging')
  expect(toStatusAndCode(response)).toEqual([409, 'conflict'])
  expect(response.body.error.details).toEqual({ context_key: 'clinging', files: 0, trashed: 1 })
  getData(await tenant.admin.delete(`/trash/${fileId}`))
  getData(await tenant.admin.delete('/contexts/clinging'))
})

test('moves files to the trash in a bulk deletion', async () => {
  const upload = await createTrashedFile('many')
  const ids = [await upload(), await upload(), await upload()]
  getData(await tenant.admin.post('/files/delete', { file_ids: ids }))
  const observed: string[] = []
  for (let path: string | undefined = '/trash?context=many&page_size=2'; path; ) {
    const response = await tenant.admin.get(path)
    observed.push(...getItems(response).map(({ file_id }: { file_id: string }) => file_id))
    path = /<\/api\/v1([^>]+)>/.exec(response.headers.get('link') ?? '')?.[1]
  }
  expect(observed.sort()).toEqual([...ids].sort())
  expect(getItems(await tenant.admin.get('/trash?context=unknown'))).toEqual([])
  expect(getInvalidFields(await tenant.admin.get('/trash?after=nonsense'))).toEqual(['after'])
})

test('hides files in the trash from a key restricted to other contexts', async () => {
  const upload = await createTrashedFile('hidden')
  await tenant.createContext('elsewhere', bin)
  const fileId = await upload()
  getData(await tenant.admin.delete(`/files/${fileId}`))
  const key = await tenant.createKey(['delete'], { contexts: ['elsewhere'] })
  expect(getItems(await key.get('/trash'))).toEqual([])
  expect(toStatusAndCode(await key.post(`/trash/${fileId}/restore`))).toEqual([404, 'not_found'])
  expect(toStatusAndCode(await key.delete(`/trash/${fileId}`))).toEqual([404, 'not_found'])
  expect(await trashOf('hidden')).toHaveLength(1)
})

test('offers the same trash operations over GraphQL as over REST', async () => {
  const upload = await createTrashedFile('queried')
  const fileId = await upload()
  getData(await tenant.admin.delete(`/files/${fileId}`))
  const { body } = await tenant.admin.graphql(
    '{ trash(context: "queried") { data { fileId sizeBytes contextKey } pagination { totalItems } } }',
  )
  expect(body.data.trash).toEqual({ data: [{ fileId, sizeBytes: 10, contextKey: 'queried' }], pagination: { totalItems: 1 } })
  const back = await tenant.admin.graphql(`mutation { restoreFile(fileId: "${fileId}") { fileId originalFilename } }`)
  expect(back.body.data.restoreFile).toEqual({ fileId, originalFilename: 'a.txt' })
  expect(getGraphqlCode(await tenant.admin.graphql(`mutation { purgeFile(fileId: "${fileId}") { fileId } }`))).toBe('NOT_FOUND')
})
