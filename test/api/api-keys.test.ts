import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { anyId, anyTimestamp, getData, getInvalidFields, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type TestTenant, World } from '../support/world.js'

const day = 86_400_000
let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('notes')
})
afterAll(() => world.close())

const created = { status: 201, message: true }

test('returns the documented fields of a new API key and shows its secret only once', async () => {
  const data = getData(await tenant.admin.post('/api-keys', { name: 'CI' }), created)
  expect(data).toEqual({
    api_key_id: anyId('key'),
    api_key: expect.stringMatching(/^assay_[A-Za-z0-9_-]{43}$/),
    name: 'CI',
    scopes: ['upload', 'download'],
    expires_at: null,
  })
  const record = getData(await tenant.admin.get(`/api-keys/${data.api_key_id}`))
  expect(record).toEqual({
    api_key_id: data.api_key_id,
    name: 'CI',
    key_prefix: expect.stringMatching(/^assay_/),
    scopes: ['upload', 'download'],
    status: 'active',
    expires_at: null,
    last_used_at: null,
    metadata: {},
    created_by: tenant.admin.id,
    created_at: anyTimestamp,
    updated_at: anyTimestamp,
  })
  expect(data.api_key.startsWith(record.key_prefix)).toBe(true)
  expect(record.key_prefix.length).toBeLessThan(20)
  expect(getItems(await tenant.admin.get('/api-keys?page_size=1'))).toEqual([record])
  const everything = JSON.stringify([
    (await tenant.admin.get('/api-keys?page_size=100')).body,
    (await tenant.admin.get('/audit-logs?page_size=100')).body,
  ])
  expect(everything).not.toContain(data.api_key)
})

test('stores the scopes and metadata of a new API key and computes its expiry', async () => {
  // The service estimates the database clock with an error of up to one round trip.
  const slack = 60_000
  const before = Date.now() - slack
  const data = getData(
    await tenant.admin.post('/api-keys', {
      name: 'é'.repeat(255),
      scopes: ['metadata', 'delete', 'metadata'],
      expires_in_days: 365,
      metadata: { owner: 'x' },
    }),
    created,
  )
  expect(data).toMatchObject({ name: 'é'.repeat(255), scopes: ['metadata', 'delete'], expires_at: anyTimestamp })
  const expiry = Date.parse(data.expires_at) - 365 * day
  expect(expiry).toBeGreaterThanOrEqual(before)
  expect(expiry).toBeLessThanOrEqual(Date.now() + slack)
  expect(getData(await tenant.admin.get(`/api-keys/${data.api_key_id}`))).toMatchObject({
    expires_at: data.expires_at,
    metadata: { owner: 'x' },
  })
})

test('treats null fields as omitted when an API key is created', async () => {
  const data = getData(
    await tenant.admin.post('/api-keys', { name: 'n', scopes: null, expires_in_days: null, metadata: null, contexts: null }),
    created,
  )
  expect(data).toMatchObject({ scopes: ['upload', 'download'], expires_at: null })
})

describe('invalid API key fields', () => {
  const invalidValues: [string, unknown][] = [
    ['name', undefined],
    ['name', ''],
    ['name', 'x'.repeat(256)],
    ['name', 5],
    ['name', 'a\0'],
    ['scopes', []],
    ['scopes', 'upload'],
    ['scopes', ['root']],
    ['scopes', ['upload', 1]],
    ['scopes', [null]],
    ['expires_in_days', 0],
    ['expires_in_days', 366],
    ['expires_in_days', -1],
    ['expires_in_days', 1.5],
    ['expires_in_days', '30'],
    ['expires_in_days', true],
    ['metadata', []],
    ['metadata', 'x'],
    ['metadata', { x: 'y'.repeat(17_000) }],
    ['contexts', []],
    ['contexts', ['unknown']],
    ['contexts', 'notes'],
    ['status', 'disabled'],
  ]
  test.each(invalidValues)('returns 400 for a new API key with an invalid %s: %j', async (field, value) => {
    const body = { name: 'k', [field]: value }
    expect(getInvalidFields(await tenant.admin.post('/api-keys', body))).toEqual([field])
  })

  test('reports all invalid fields of a new API key in one response', async () => {
    const response = await tenant.admin.post('/api-keys', { name: '', scopes: ['x'], expires_in_days: 0, metadata: 1, extra: 1 })
    expect(getInvalidFields(response)).toEqual(['expires_in_days', 'extra', 'metadata', 'name', 'scopes'])
  })
})

describe('API key status transitions', () => {
  const move = (id: string, action: string) => tenant.admin.post(`/api-keys/${id}/${action}`)
  const conflict = [409, 'conflict']

  test('returns 409 if an API key already has the requested status', async () => {
    const key = await tenant.createKey(['metadata'])
    expect(toStatusAndCode(await move(key.id, 'enable'))).toEqual(conflict)
    const disabled = getData(await move(key.id, 'disable'))
    expect(disabled).toEqual({ ...getData(await tenant.admin.get(`/api-keys/${key.id}`)), status: 'disabled' })
    expect(toStatusAndCode(await key.get('/files'))).toEqual([401, 'unauthenticated'])
    expect(toStatusAndCode(await move(key.id, 'disable'))).toEqual(conflict)
    expect(getData(await move(key.id, 'enable')).status).toBe('active')
    getData(await key.get('/files'))
  })

  test('rejects a request to enable a revoked API key', async () => {
    const key = await tenant.createKey(['metadata'])
    await move(key.id, 'disable')
    expect(getData(await move(key.id, 'revoke')).status).toBe('revoked')
    for (const action of ['enable', 'disable', 'revoke', 'rotate'])
      expect(toStatusAndCode(await move(key.id, action))).toEqual(conflict)
    expect(toStatusAndCode(await key.get('/files'))).toEqual([401, 'unauthenticated'])
  })

  test('rejects an expired API key', async () => {
    const key = await tenant.createKey(['metadata'], { expires_in_days: 1 })
    await world.database.pool.query("UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE api_key_id = $1", [
      key.id,
    ])
    expect(toStatusAndCode(await key.get('/files'))).toEqual([401, 'unauthenticated'])
  })

  test('keeps the old secret of a rotated API key valid during the grace period', async () => {
    const key = await tenant.createKey(['metadata'])
    const rotated = getData(await tenant.admin.post(`/api-keys/${key.id}/rotate`, { grace_seconds: 60 }), { message: true })
    expect(Object.keys(rotated).sort()).toEqual(['api_key', 'api_key_id', 'expires_at', 'name', 'scopes'])
    getData(await world.createCaller(rotated.api_key).get('/files'))
    getData(await key.get('/files'))
    const again = getData(await tenant.admin.post(`/api-keys/${key.id}/rotate`), { message: true })
    expect(toStatusAndCode(await world.createCaller(rotated.api_key).get('/files'))).toEqual([401, 'unauthenticated'])
    getData(await world.createCaller(again.api_key).get('/files'))
    expect(getInvalidFields(await tenant.admin.post(`/api-keys/${key.id}/rotate`, { grace_seconds: 86_401 }))).toEqual([
      'grace_seconds',
    ])
  })

  test.each(['key_00000000000000000000000000', 'key_short', 'file_00000000000000000000000000', '%00', '%F0%9F%98%80', 'KEY'])(
    'returns 404 for the unknown API key id %s',
    async (id) => {
      expect(toStatusAndCode(await tenant.admin.get(`/api-keys/${id}`))).toEqual([404, 'not_found'])
      for (const action of ['enable', 'disable', 'revoke', 'rotate'])
        expect(toStatusAndCode(await move(id, action))).toEqual([404, 'not_found'])
    },
  )
})

test('lists API keys newest first, with paging and a status filter', async () => {
  const own = await world.createTenant()
  const keys = [own.admin.id]
  for (const name of ['a', 'b', 'c']) keys.push((await own.createKey(['upload'], { name })).id)
  await own.admin.post(`/api-keys/${keys[1]}/disable`)
  await own.admin.post(`/api-keys/${keys[2]}/revoke`)
  const ids = async (query: string) =>
    getItems(await own.admin.get(`/api-keys${query}`)).map((key: { api_key_id: string }) => key.api_key_id)
  expect(await ids('')).toEqual([...keys].reverse())
  expect(await ids('?page=2&page_size=3')).toEqual([keys[0]])
  expect(await ids('?status=disabled')).toEqual([keys[1]])
  expect(await ids('?status=revoked')).toEqual([keys[2]])
  expect(await ids('?status=active')).toEqual([keys[3], keys[0]])
  expect(await ids('?page=2147483647&page_size=100')).toEqual([])
  expect(getInvalidFields(await own.admin.get('/api-keys?status=expired&page=0'))).toEqual(['page', 'status'])
})

test('returns 404 for contexts that an API key cannot access', async () => {
  const own = await world.createTenant()
  await own.createContext('open')
  await own.createContext('closed')
  const hidden = (await own.admin.upload('closed', 'a.txt', 'text')).body.data.file_id
  const key = await own.createKey(['upload', 'download', 'metadata', 'delete'], { contexts: ['open'] })
  const observed = (await key.upload('open', 'a.txt', 'text')).body.data.file_id
  const notFound = [404, 'not_found']
  expect(toStatusAndCode(await key.upload('closed', 'b.txt', 'text'))).toEqual(notFound)
  expect(toStatusAndCode(await key.get('/contexts/closed'))).toEqual(notFound)
  expect(getItems(await key.get('/contexts'))).toHaveLength(1)
  expect(getItems(await key.get('/files')).map((file: { file_id: string }) => file.file_id)).toEqual([observed])
  expect(getItems(await key.get('/files?context=closed'))).toEqual([])
  for (const path of ['', '/metadata', '/validation'])
    expect(toStatusAndCode(await key.get(`/files/${hidden}${path}`))).toEqual(notFound)
  expect(toStatusAndCode(await key.delete(`/files/${hidden}`))).toEqual(notFound)
  expect(getData(await key.get('/stats/by-context/files'))).toHaveLength(1)
  expect(toStatusAndCode(await key.get('/stats'))).toEqual([403, 'forbidden'])
  expect(getInvalidFields(await own.admin.post('/api-keys', { name: 'x', scopes: ['admin'], contexts: ['open'] }))).toEqual([
    'contexts',
  ])
})
