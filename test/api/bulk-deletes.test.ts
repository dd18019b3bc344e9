import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createClient } from '../../packages/client/src/index.js'
import { newId } from '../../src/platform/ids.js'
import { getData, getInvalidFields, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('notes')
  await tenant.createContext('letters')
})
afterAll(() => world.close())

// Maximum number of concurrent requests per credential.
const maxConcurrent = 50
const upload = async (count: number, context = 'notes'): Promise<string[]> => {
  const fileIds: string[] = []
  while (fileIds.length < count) {
    const some = Array.from({ length: Math.min(maxConcurrent, count - fileIds.length) }, (_, at) =>
      tenant.admin.upload(context, `${at}.txt`, 'text'),
    )
    for (const { body } of await Promise.all(some)) fileIds.push(body.data.file_id)
  }
  return fileIds
}
const toDeletedResult = (fileId: string) => ({ file_id: fileId, deleted: true, error: null })
const unknown = (fileId: string) => ({
  file_id: fileId,
  deleted: false,
  error: { code: 'not_found', message: `File '${fileId}' was not found.` },
})

test('deletes a hundred files in one request and returns the results in request order', async () => {
  const key = await tenant.createKey(['delete'])
  const fileIds = await upload(100)
  const before = getData(await tenant.admin.get('/stats')).overview.total_files
  expect(getData(await key.post('/files/delete', { file_ids: fileIds }))).toEqual(fileIds.map(toDeletedResult))
  expect(getData(await tenant.admin.get('/stats')).overview.total_files).toBe(before - 100)
  expect(toStatusAndCode(await tenant.admin.get(`/files/${fileIds[7]}/metadata`))).toEqual([404, 'not_found'])
})

test('deletes the files with valid ids even if a bulk deletion also contains invalid ids', async () => {
  const other = await world.createTenant()
  await other.createContext('notes')
  const foreign = (await other.admin.upload('notes', 'a.txt', 'text')).body.data.file_id
  const [own, deleted] = await upload(2)
  await tenant.admin.delete(`/files/${deleted}`)
  const fileIds = [newId('file'), 'x', foreign, deleted!, own!]
  expect(getData(await tenant.admin.post('/files/delete', { file_ids: fileIds }))).toEqual([
    ...fileIds.slice(0, 4).map(unknown),
    toDeletedResult(own!),
  ])
  expect(getItems(await other.admin.get('/files'))).toHaveLength(1)
})

test('rejects the deletion of files in a context that the API key cannot access', async () => {
  const restricted = await tenant.createKey(['delete'], { contexts: ['letters'] })
  const fileIds = [...(await upload(1)), ...(await upload(1, 'letters'))]
  const outcomes = getData(await restricted.post('/files/delete', { file_ids: fileIds }))
  expect(outcomes).toEqual([unknown(fileIds[0]!), toDeletedResult(fileIds[1]!)])
})

test('deletes each file only once despite repeated ids and concurrent bulk deletions', async () => {
  const [fileId] = await upload(1)
  const request = () => tenant.admin.post('/files/delete', { file_ids: [fileId, fileId] })
  const outcomes = (await Promise.all([request(), request()])).map((response) => getData(response))
  expect(outcomes.map((outcome) => outcome.length)).toEqual([1, 1])
  expect(outcomes.filter(([outcome]) => outcome.deleted)).toHaveLength(1)
})

test('logs one call per bulk deletion and one audit entry per deleted file', async () => {
  const key = await tenant.createKey(['delete'])
  const fileIds = await upload(3)
  await key.post('/files/delete', { file_ids: [...fileIds, 'x'] })
  const calls = getItems(await tenant.admin.get(`/stats/logs?api_key_id=${key.id}`))
  expect(calls).toMatchObject([{ operation: 'delete', status: 'success', file_id: null }])
  for (const fileId of fileIds)
    expect(getItems(await tenant.admin.get(`/audit-logs/entity/file/${fileId}`))[0]).toMatchObject({
      action: 'deleted',
      performed_by_id: key.id,
    })
})

test('rejects a bulk deletion if the API key lacks the delete scope', async () => {
  const [fileId] = await upload(1)
  const key = await tenant.createKey(['upload', 'download', 'metadata'])
  expect(toStatusAndCode(await key.post('/files/delete', { file_ids: [fileId] }))).toEqual([403, 'forbidden'])
  expect((await tenant.admin.get(`/files/${fileId}/metadata`)).status).toBe(200)
})

test.each([
  ['an empty list', []],
  ['a list of more than a hundred ids', Array.from({ length: 101 }, () => 'file_x')],
  ['a malformed id', ['x'.repeat(256)]],
  ['a list of numbers', [1]],
  ['a value that is not a list', 'file_x'],
])('rejects a bulk deletion with %s and names the file_ids field', async (_, fileIds) => {
  expect(getInvalidFields(await tenant.admin.post('/files/delete', { file_ids: fileIds }))).toEqual(['file_ids'])
})

test('deletes files in bulk through GraphQL and the client library', async () => {
  const [first, second] = await upload(2)
  const { body } = await tenant.admin.graphql(
    'mutation ($ids: [ID!]!) { deleteFiles(fileIds: $ids) { fileId deleted error { code message } } }',
    { ids: [first, 'x'] },
  )
  expect(body.data.deleteFiles).toEqual([
    { fileId: first, deleted: true, error: null },
    { fileId: 'x', deleted: false, error: { code: 'not_found', message: "File 'x' was not found." } },
  ])
  const client = createClient({ baseUrl: world.url, apiKey: tenant.admin.credential! })
  expect(await client.files.deleteMany([second!, first!])).toEqual([toDeletedResult(second!), unknown(first!)])
})
