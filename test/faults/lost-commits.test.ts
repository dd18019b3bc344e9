import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { overloaded } from '../../src/platform/errors/errors.js'
import { createTestDatabase } from '../support/database.js'
import { DatabaseProxy } from '../support/database-proxy.js'
import { getItems } from '../support/response-assertions.js'
import { Tus } from '../support/tus.js'
import { type ApiResponse, type TestTenant, World } from '../support/world.js'

let proxy: DatabaseProxy
let world: World
let tenant: TestTenant
beforeAll(async () => {
  proxy = await DatabaseProxy.start((await createTestDatabase()).url)
  world = await World.open({ DATABASE_URL: proxy.url, SCANNER_URL: 'none:' })
  tenant = await world.createTenant()
  await tenant.createContext('notes', { scan_for_viruses: false })
  await tenant.admin.patch('/contexts/notes/policy', { trash_days: 7 })
})
afterAll(async () => {
  await world.close()
  await proxy.down()
})

const problem = { accept: 'application/problem+json' }
const upload = async () => (await tenant.admin.upload('notes', 'a.txt', 'text')).body.data.file_id as string
const trashed = async () => {
  const fileId = await upload()
  expect((await tenant.admin.delete(`/files/${fileId}`)).status).toBe(200)
  return fileId
}
const expectUnknown = ({ status, headers, body }: ApiResponse) => {
  expect({ status, body }).toMatchObject({
    status: 503,
    body: {
      message: expect.stringContaining('Idempotency-Key'),
      error: { code: 'database_unavailable', details: { outcome: 'unknown' } },
    },
  })
  expect(headers.get('retry-after')).toBe('5')
}

describe.each(['before', 'after'] as const)('connection lost just %s the COMMIT', (when) => {
  const lose = async (call: () => Promise<ApiResponse>, cut: { text: string; at: 'statement' | 'commit' } | 'move') => {
    if (cut === 'move') proxy.cutAtMove = when
    else proxy.cut = { ...cut, when }
    const response = await call()
    expect([proxy.cut, proxy.cutAtMove]).toEqual([undefined, undefined])
    return response
  }

  test('reports an unknown outcome if the connection is lost during the COMMIT of an upload, rejection or deletion', async () => {
    const fileId = await upload()
    expectUnknown(await lose(() => tenant.admin.upload('notes', 'a.txt', 'text'), 'move'))
    expectUnknown(await lose(() => tenant.admin.upload('notes', 'a.exe', 'text'), 'move'))
    expectUnknown(await lose(() => tenant.admin.delete(`/files/${fileId}`), 'move'))
    const many = [await upload(), await upload()]
    expectUnknown(await lose(() => tenant.admin.post('/files/delete', { file_ids: many }), 'move'))
  })

  test('reports an unknown outcome if the connection is lost while a context, key or webhook is created', async () => {
    const name = `lost_${when}`
    const context = { context_key: name, display_name: 'x', allowed_extensions: ['txt'], max_file_size_mb: 1 }
    expectUnknown(await lose(() => tenant.admin.post('/contexts', context), { text: name, at: 'commit' }))
    expectUnknown(await lose(() => tenant.admin.post('/api-keys', { name }), { text: name, at: 'commit' }))
    const webhook = { url: 'https://8.8.8.8/', types: ['user.*'], description: name }
    expectUnknown(await lose(() => tenant.admin.post('/webhooks', webhook), { text: name, at: 'commit' }))
    const created = (await tenant.admin.get('/contexts')).body.data.data.map((each: { context_key: string }) => each.context_key)
    expect(created.includes(name)).toBe(when === 'after')
    expectUnknown(await lose(() => tenant.admin.post('/log/share', { days: 3 }), { text: 'log_share', at: 'commit' }))
  })

  test('reports an unknown outcome if the connection is lost during the COMMIT of a change, restore or purge', async () => {
    const [restored, purged] = [await trashed(), await trashed()]
    const change = () => tenant.admin.patch('/contexts/notes', { description: `changed ${when}` })
    expectUnknown(await lose(change, { text: `changed ${when}`, at: 'commit' }))
    expectUnknown(await lose(() => tenant.admin.post(`/trash/${restored}/restore`), { text: restored, at: 'commit' }))
    expectUnknown(await lose(() => tenant.admin.delete(`/trash/${purged}`), { text: purged, at: 'commit' }))
  })

  test('reports an unknown outcome as problem+json and in GraphQL', async () => {
    const [first, second] = [await upload(), await upload()]
    const response = await lose(() => tenant.admin.delete(`/files/${first}`, problem), 'move')
    expect(response.headers.get('content-type')).toMatch('application/problem+json')
    expect(response.body).toMatchObject({ status: 503, code: 'database_unavailable', details: { outcome: 'unknown' } })
    const mutation = 'mutation ($fileId: ID!) { deleteFile(fileId: $fileId) { fileId } }'
    const { body } = await lose(() => tenant.admin.graphql(mutation, { fileId: second }), 'move')
    expect(body.errors[0].extensions).toMatchObject({ code: 'DATABASE_UNAVAILABLE', details: { outcome: 'unknown' } })
    const create = 'mutation ($name: String!) { createApiKey(input: { name: $name }) { apiKey } }'
    const name = `graphql-${when}`
    const created = await lose(() => tenant.admin.graphql(create, { name }), { text: name, at: 'commit' })
    expect(created.body.errors[0].extensions).toMatchObject({ code: 'DATABASE_UNAVAILABLE', details: { outcome: 'unknown' } })
  })
})

test('reports an unknown outcome if the connection is lost while a resumable upload is created', async () => {
  const filename = 'lost-creation.txt'
  proxy.cut = { text: filename, at: 'statement', when: 'after' }
  expectUnknown(await new Tus(tenant.admin).create('notes', filename, 4))
})

test('reports an unknown outcome if the database connection is lost while a single-use download URL is being used', async () => {
  const fileId = await upload()
  const { download_url: url } = (await tenant.admin.get(`/files/${fileId}?once=true`)).body.data
  proxy.cut = { text: 'INSERT INTO spent_downloads', at: 'statement', when: 'after' }
  expectUnknown(await world.unauthenticated.raw(url.slice(world.url.length)))
  expect((await fetch(url)).status).toBe(403)
})

test('stores a file only once if an upload with an unknown outcome is retried', async () => {
  const before = getItems(await tenant.admin.get('/files')).length
  const headers = { 'idempotency-key': 'again' }
  proxy.cutAtMove = 'after'
  expectUnknown(await tenant.admin.upload('notes', 'b.txt', 'text', { headers }))
  expect((await tenant.admin.upload('notes', 'b.txt', 'text', { headers })).status).toBe(201)
  expect(getItems(await tenant.admin.get('/files'))).toHaveLength(before + 1)
})

test('reports an unknown outcome if a change is committed but its call cannot be logged', async () => {
  const { ledger } = world.app.services
  const { commit } = ledger
  const many = [await upload(), await upload()]
  const fileId = await trashed()
  ledger.commit = (entry) => (entry.call ? Promise.reject(overloaded('full')) : commit.call(ledger, entry))
  try {
    expectUnknown(await tenant.admin.post(`/trash/${fileId}/restore`))
    expectUnknown(await tenant.admin.post('/files/delete', { file_ids: many }))
    expectUnknown(await tenant.admin.delete(`/trash/${many[0]}`))
    // A failed read has no unknown outcome.
    expect((await tenant.admin.get('/trash')).body.error).toEqual({ code: 'overloaded', details: {} })
  } finally {
    ledger.commit = commit
  }
  expect((await tenant.admin.get(`/files/${fileId}/metadata`)).status).toBe(200)
})

test('reports that nothing was stored if the connection is lost before COMMIT', async () => {
  const name = 'lost early'
  proxy.cut = { text: name, at: 'statement', when: 'after' }
  const response = await tenant.admin.post('/api-keys', { name })
  expect([response.status, response.body.error]).toEqual([503, { code: 'database_unavailable', details: {} }])
  await proxy.down()
  for (const call of [() => tenant.admin.upload('notes', 'c.txt', 'text'), () => tenant.admin.post('/api-keys', { name })])
    expect((await call()).body.error).toEqual({ code: 'database_unavailable', details: {} })
  await proxy.up()
  expect(getItems(await tenant.admin.get('/api-keys')).map((key: { name: string }) => key.name)).not.toContain(name)
})
