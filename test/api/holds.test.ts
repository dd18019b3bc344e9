import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { healthyStorage, moveUploadBack, runExpiry } from '../support/file-lifecycle.js'
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

const upload = async (contextKey: string): Promise<string> =>
  (await tenant.admin.upload(contextKey, 'a.txt', 'ten bytes.')).body.data.file_id
const hold = (fileId: string, reason: unknown = 'Case 7') => tenant.admin.rest('PUT', `/files/${fileId}/hold`, { reason })
const createContext = (contextKey: string) => tenant.createContext(contextKey, { scan_for_viruses: false })

test('rejects single and bulk deletions of a file on hold until the hold is released', async () => {
  await createContext('held')
  const [held, free] = [await upload('held'), await upload('held')]
  expect(getData(await hold(held))).toEqual({ file_id: held, reason: 'Case 7', held_by: tenant.admin.id, held_at: anyTimestamp })
  expect(toStatusAndCode(await tenant.admin.delete(`/files/${held}`))).toEqual([409, 'on_hold'])
  expect(getData(await tenant.admin.post('/files/delete', { file_ids: [held, free] }))).toEqual([
    { file_id: held, deleted: false, error: { code: 'on_hold', message: expect.stringContaining(held) } },
    { file_id: free, deleted: true, error: null },
  ])
  expect(getData(await tenant.admin.delete(`/files/${held}/hold`))).toEqual({ file_id: held })
  expect(toStatusAndCode(await tenant.admin.delete(`/files/${held}/hold`))).toEqual([404, 'not_found'])
  getData(await tenant.admin.delete(`/files/${held}`))
  expect(await world.app.services.storageHealth.verify()).toEqual(healthyStorage)
})

test('deletes an expired file on hold only after the hold is released', async () => {
  await createContext('aging')
  getData(await tenant.admin.patch('/contexts/aging/policy', { retention_days: 1 }))
  const fileId = await moveUploadBack(world, await upload('aging'), 2)
  getData(await hold(fileId))
  await runExpiry(world)
  getData(await tenant.admin.get(`/files/${fileId}/metadata`))
  getData(await tenant.admin.delete(`/files/${fileId}/hold`))
  await runExpiry(world)
  expect(toStatusAndCode(await tenant.admin.get(`/files/${fileId}/metadata`))).toEqual([404, 'not_found'])
})

test('replaces the reason for a hold only if the new reason is different', async () => {
  await createContext('again')
  const fileId = await upload('again')
  const first = getData(await hold(fileId, 'One'))
  expect(getData(await hold(fileId, 'One'))).toEqual(first)
  expect(getData(await hold(fileId, 'Two'))).toMatchObject({ reason: 'Two' })
  getData(await tenant.admin.delete(`/files/${fileId}/hold`))
  const entries = getItems(await tenant.admin.get(`/audit-logs?entity_id=${fileId}&action=updated`))
  expect(entries.map(({ details }: { details: object }) => details)).toEqual([
    { change: 'unheld', reason: 'Two' },
    { change: 'held', reason: 'Two' },
    { change: 'held', reason: 'One' },
  ])
  const { rows } = await world.database.pool.query(
    `SELECT type FROM journal WHERE subject = $1 AND type LIKE 'file.h%' ORDER BY sequence`,
    [fileId],
  )
  expect(rows.map(({ type }) => type)).toEqual(['file.held', 'file.held', 'file.hold_released'])
})

test('rejects a hold on an unknown file and a hold without a reason', async () => {
  await createContext('needy')
  const fileId = await upload('needy')
  expect(getInvalidFields(await hold(fileId, ''))).toEqual(['reason'])
  expect(getInvalidFields(await hold(fileId, 'x'.repeat(1025)))).toEqual(['reason'])
  expect(getInvalidFields(await tenant.admin.rest('PUT', `/files/${fileId}/hold`, {}))).toEqual(['reason'])
  expect(toStatusAndCode(await hold('file_00000000000000000000000000'))).toEqual([404, 'not_found'])
  expect(toStatusAndCode(await tenant.admin.delete(`/files/${fileId}/hold`))).toEqual([404, 'not_found'])
})

test('lists holds newest first, and returns a next-page link', async () => {
  await createContext('listed')
  const ids = [await upload('listed'), await upload('listed'), await upload('listed')]
  for (const fileId of ids) getData(await hold(fileId))
  const first = await tenant.admin.get('/holds?context=listed&page_size=2')
  const [, next] = /<\/api\/v1([^>]+)>/.exec(first.headers.get('link')!)!
  const observed = [...getItems(first), ...getItems(await tenant.admin.get(next!))]
  expect(observed.map(({ file_id }: { file_id: string }) => file_id)).toEqual(ids.reverse())
})

test('creates and releases holds over GraphQL, and returns holds with their files', async () => {
  await createContext('queried')
  const fileId = await upload('queried')
  const put = await tenant.admin.graphql(`mutation { holdFile(fileId: "${fileId}", reason: "Case 8") { fileId reason } }`)
  expect(put.body.data.holdFile).toEqual({ fileId, reason: 'Case 8' })
  const read = await tenant.admin.graphql(
    `{ file(fileId: "${fileId}") { hold { reason heldBy } } holds(context: "queried") { data { fileId } } }`,
  )
  expect(read.body.data).toEqual({ file: { hold: { reason: 'Case 8', heldBy: tenant.admin.id } }, holds: { data: [{ fileId }] } })
  expect(getGraphqlCode(await tenant.admin.graphql(`mutation { deleteFile(fileId: "${fileId}") { fileId } }`))).toBe('ON_HOLD')
  const lifted = await tenant.admin.graphql(`mutation { releaseHold(fileId: "${fileId}") { fileId } }`)
  expect(lifted.body.data.releaseHold).toEqual({ fileId })
})
