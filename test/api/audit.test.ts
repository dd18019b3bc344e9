import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { anyId, anyTimestamp, getData, getInvalidFields, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant({ name: 'Acme' })
})
afterAll(() => world.close())

const entries = async (query = '', of: TestTenant = tenant) => getItems(await of.admin.get(`/audit-logs?${query}`))
const history = async (type: string, id: string, of: TestTenant = tenant) =>
  getItems(await of.admin.get(`/audit-logs/entity/${type}/${id}`))
const allScopes = ['upload', 'download', 'metadata', 'delete', 'admin']

/** Builds the expected audit entry. By default, the actor is the tenant's admin key. */
const entry = (what: Record<string, unknown>) => ({
  audit_id: anyId('aud'),
  entity_type: what.audit_type,
  performed_by_id: tenant.admin.id,
  performed_by_name: 'Admin',
  performed_by_email: null,
  performed_by_type: 'api_key',
  performed_by_scopes: allScopes,
  ip_address: '127.0.0.1',
  user_agent: expect.any(String),
  created_at: anyTimestamp,
  ...what,
})

test('audits the creation, disabling, enabling, revocation and rotation of API keys', async () => {
  const created = getData(await tenant.admin.post('/api-keys', { name: 'CI', expires_in_days: 30 }), {
    status: 201,
    message: true,
  })
  const id = created.api_key_id
  for (const action of ['disable', 'enable', 'rotate', 'revoke']) await tenant.admin.post(`/api-keys/${id}/${action}`)
  const about = { audit_type: 'api_key', entity_id: id, entity_name: 'CI' }
  expect(await history('api_key', id)).toEqual([
    entry({ ...about, action: 'revoked', details: { previous_status: 'active', new_status: 'revoked' } }),
    entry({ ...about, action: 'updated', details: expect.objectContaining({ rotated: true }) }),
    entry({ ...about, action: 'enabled', details: { previous_status: 'disabled', new_status: 'active' } }),
    entry({ ...about, action: 'disabled', details: { previous_status: 'active', new_status: 'disabled' } }),
    entry({ ...about, action: 'created', details: { scopes: ['upload', 'download'], expires_in_days: 30 } }),
  ])
  const forever = await tenant.createKey(['delete'])
  expect((await history('api_key', forever.id))[0].details).toEqual({ scopes: ['delete'], expires_in_days: null })
})

test('audits the creation, change, disabling, enabling and deletion of contexts', async () => {
  const { context_id } = await tenant.createContext('notes')
  await tenant.admin.patch('/contexts/notes', { display_name: 'Notes', max_file_size_mb: 6 })
  await tenant.admin.patch('/contexts/notes', { status: 'disabled' })
  await tenant.admin.patch('/contexts/notes', { status: 'active', description: 'd' })
  await tenant.admin.patch('/contexts/notes', { description: 'd' })
  await tenant.admin.delete('/contexts/notes')
  const about = { audit_type: 'context', entity_id: context_id, entity_name: 'notes' }
  const found = await history('context', String(context_id))
  expect(found.map(({ action }: { action: string }) => action)).toEqual([
    'deleted',
    'updated',
    'enabled',
    'disabled',
    'updated',
    'created',
  ])
  expect(found[2]).toEqual(entry({ ...about, action: 'enabled', details: { previous_status: 'disabled', new_status: 'active' } }))
  expect(found[3]).toEqual(
    entry({ ...about, action: 'disabled', details: { previous_status: 'active', new_status: 'disabled' } }),
  )
  expect(found[4]).toEqual(
    entry({
      ...about,
      action: 'updated',
      details: { changed: { display_name: { previous: 'notes', new: 'Notes' }, max_file_size_mb: { previous: 5, new: 6 } } },
    }),
  )
  expect(found[5]).toEqual(entry({ ...about, action: 'created', details: expect.any(Object) }))
})

test('audits uploads and deletions of files, but not rejected uploads', async () => {
  await tenant.createContext('files')
  const { file_id } = (await tenant.admin.upload('files', 'a.txt', 'text')).body.data
  await tenant.admin.upload('files', 'a.exe', 'text')
  await tenant.admin.delete(`/files/${file_id}`)
  await tenant.admin.delete(`/files/${file_id}`)
  const about = { audit_type: 'file', entity_id: file_id, entity_name: 'a.txt' }
  expect(await history('file', file_id)).toEqual([
    entry({ ...about, action: 'deleted', details: expect.any(Object) }),
    entry({ ...about, action: 'created', details: expect.objectContaining({ context_key: 'files', size_bytes: 4 }) }),
  ])
  expect(await entries('audit_type=file')).toHaveLength(2)
})

test('audits changes to a tenant, and the creation of a tenant by the system', async () => {
  await tenant.admin.patch('/tenant', { name: 'Acme', storage_quota_mb: 5 })
  const found = await history('tenant', tenant.tenantId)
  expect(found).toEqual([
    entry({
      audit_type: 'tenant',
      action: 'updated',
      entity_id: tenant.tenantId,
      entity_name: 'Acme',
      details: { changed: { storage_quota_mb: { previous: 102_400, new: 5 } } },
    }),
    entry({
      audit_type: 'tenant',
      action: 'created',
      entity_id: tenant.tenantId,
      entity_name: 'Acme',
      details: expect.any(Object),
      performed_by_id: 'system',
      performed_by_name: 'system',
      performed_by_type: 'system',
      performed_by_scopes: ['admin'],
      ip_address: expect.any(String),
    }),
  ])
})

test("stores a snapshot of the dashboard user's name and email in the audit log", async () => {
  const user = await tenant.createUser(['admin', 'metadata'], 'ada@example.com')
  const { api_key_id } = getData(await user.post('/api-keys', { name: 'by Ada' }, { 'user-agent': 'browser' }), {
    status: 201,
    message: true,
  })
  const before = await history('api_key', api_key_id)
  expect(before).toEqual([
    entry({
      audit_type: 'api_key',
      action: 'created',
      entity_id: api_key_id,
      entity_name: 'by Ada',
      details: expect.any(Object),
      performed_by_id: anyId('usr'),
      performed_by_name: 'Ada',
      performed_by_email: 'ada@example.com',
      performed_by_type: 'user',
      performed_by_scopes: ['admin', 'metadata'],
      user_agent: 'browser',
    }),
  ])
  const change = 'mutation ($id: ID!) { updateUser(userId: $id, input: { name: "Grace", scopes: [metadata] }) { name } }'
  expect((await tenant.admin.graphql(change, { id: before[0].performed_by_id })).body.errors).toBeUndefined()
  await tenant.admin.graphql('mutation ($id: ID!) { disableUser(userId: $id) { status } }', { id: before[0].performed_by_id })
  expect(await history('api_key', api_key_id)).toEqual(before)
  expect(getData(await tenant.admin.get(`/api-keys/${api_key_id}`)).created_by).toBe(before[0].performed_by_id)
})

test('preserves the scopes of a revoked key in earlier audit entries', async () => {
  const key = await tenant.createKey(['admin'])
  const { api_key_id } = getData(await key.post('/api-keys', { name: 'x' }), { status: 201, message: true })
  await tenant.admin.post(`/api-keys/${key.id}/revoke`)
  expect((await history('api_key', api_key_id))[0]).toMatchObject({
    performed_by_id: key.id,
    performed_by_name: 'admin',
    performed_by_scopes: ['admin'],
  })
})

test('records a rejected request only as a security entry in the audit log', async () => {
  // Excludes security entries because they are written after the response.
  const count = async () => {
    const sql = "SELECT count(*)::int AS entries FROM audit_logs WHERE tenant_id = $1 AND audit_type <> 'security'"
    return (await world.database.pool.query(sql, [tenant.tenantId])).rows[0].entries as number
  }
  const before = await count()
  await tenant.admin.post('/api-keys', { name: '' })
  await tenant.admin.post(`/api-keys/${tenant.admin.id}/enable`)
  await tenant.admin.patch('/contexts/unknown', { display_name: 'x' })
  await tenant.admin.patch('/tenant', { name: 'Acme' })
  await tenant.admin.delete('/files/file_x')
  await (await tenant.createUser(['metadata'])).delete('/files/file_x')
  // User creation and sign-in each create one audit entry.
  expect(await count()).toBe(before + 2)
})

describe('audit entry lists', () => {
  let own: TestTenant
  let key: Caller
  beforeAll(async () => {
    own = await world.createTenant()
    await own.createContext('notes')
    key = await own.createKey(['metadata'])
    await own.admin.post(`/api-keys/${key.id}/disable`)
    await own.admin.post(`/api-keys/${key.id}/enable`)
  })
  const list = async (query: string) => {
    const { data, pagination } = getData(await own.admin.get(`/audit-logs${query}`))
    expect(pagination.total_items).toBe(data.length)
    return data.map((found: { audit_type: string; action: string }) => `${found.audit_type} ${found.action}`)
  }

  test('lists audit entries newest first and combines filters for type, action and entity', async () => {
    expect(await list('')).toEqual([
      'api_key enabled',
      'api_key disabled',
      'api_key created',
      'context created',
      'api_key created',
      'tenant created',
    ])
    expect(await list('?audit_type=context')).toEqual(['context created'])
    expect(await list('?action=created')).toHaveLength(4)
    expect(await list(`?entity_id=${key.id}`)).toEqual(['api_key enabled', 'api_key disabled', 'api_key created'])
    expect(await list(`?entity_id=${key.id}&audit_type=api_key&action=disabled`)).toEqual(['api_key disabled'])
    expect(await list(`?entity_id=${key.id}&audit_type=file`)).toEqual([])
  })

  test('returns no audit entries for an unknown id, a malformed id or an unaudited entity', async () => {
    expect(await list('?entity_id=')).toEqual([])
    for (const id of ['x', '%00', 'key_00000000000000000000000000', tenant.admin.id]) {
      expect(await list(`?entity_id=${id}`)).toEqual([])
      expect(await history('api_key', id, own)).toEqual([])
    }
    expect(await history('file', key.id, own)).toEqual([])
  })

  test('pages through the audit entries for one entity', async () => {
    const first = getData(await own.admin.get(`/audit-logs/entity/api_key/${key.id}?page_size=2`))
    expect(first.pagination).toEqual({
      page: 1,
      page_size: 2,
      total_items: 3,
      total_pages: 2,
      has_next: true,
      has_previous: false,
    })
    const second = getData(await own.admin.get(`/audit-logs/entity/api_key/${key.id}?page_size=2&page=2`))
    expect([...first.data, ...second.data].map(({ action }) => action)).toEqual(['enabled', 'disabled', 'created'])
    expect(getData(await own.admin.get('/audit-logs?page=2147483647&page_size=100')).data).toEqual([])
  })

  test('returns 400 for invalid audit filters', async () => {
    expect(getInvalidFields(await own.admin.get('/audit-logs?audit_type=key&action=made&page=0&page_size=101'))).toEqual([
      'action',
      'audit_type',
      'page',
      'page_size',
    ])
    expect(getInvalidFields(await own.admin.get(`/audit-logs/entity/door/${key.id}?page=x`))).toEqual(['entity_type', 'page'])
    expect(toStatusAndCode(await own.admin.get('/audit-logs/entity/api_key/'))).toEqual([404, 'not_found'])
  })
})
