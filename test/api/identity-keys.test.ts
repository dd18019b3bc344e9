import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createMultipartBody } from '../support/multipart.js'
import { parseResponse, RawHttp } from '../support/raw-exchange.js'
import { anyId, anyTimestamp, getData, getInvalidFields, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open()
})
afterAll(() => world.close())

const allScopes = ['upload', 'download', 'metadata', 'delete', 'admin']
const move = (tenant: TestTenant, key: Caller, how: string, body?: unknown) =>
  tenant.admin.post(`/api-keys/${key.id}/${how}`, body)
const record = async (tenant: TestTenant, key: Caller) => getData(await tenant.admin.get(`/api-keys/${key.id}`))
const calls = async (tenant: TestTenant, key: Caller) => getItems(await tenant.admin.get(`/stats/logs?api_key_id=${key.id}`))
const listAudits = async (tenant: TestTenant, key: Caller) =>
  getItems(await tenant.admin.get(`/audit-logs/entity/api_key/${key.id}`))

describe('API key life cycle', () => {
  test('returns the prefix of a secret, to help identify a leaked key, but never the complete secret', async () => {
    const tenant = await world.createTenant()
    const created = await tenant.admin.post('/api-keys', { name: 'CI', expires_in_days: 30, metadata: { team: 'a' } })
    const { api_key: secret, api_key_id: id } = getData(created, { status: 201, message: true })
    const fetched = await record(tenant, { id } as Caller)
    expect(fetched).toEqual({
      api_key_id: anyId('key'),
      name: 'CI',
      key_prefix: secret.slice(0, 12),
      scopes: ['upload', 'download'],
      status: 'active',
      expires_at: anyTimestamp,
      last_used_at: null,
      metadata: { team: 'a' },
      created_by: tenant.admin.id,
      created_at: anyTimestamp,
      updated_at: anyTimestamp,
    })
    const listed = await tenant.admin.get('/api-keys')
    expect(getItems(listed)[0]).toEqual(fetched)
    expect(JSON.stringify(listed.body)).not.toContain(secret)
  })

  test('disables, enables and revokes a key immediately and audits the changes', async () => {
    const tenant = await world.createTenant()
    const key = await tenant.createKey(['metadata'])
    expect((await key.get('/files')).status).toBe(200)

    expect(getData(await move(tenant, key, 'disable')).status).toBe('disabled')
    expect(toStatusAndCode(await key.get('/files'))).toEqual([401, 'unauthenticated'])
    expect(toStatusAndCode(await move(tenant, key, 'disable'))).toEqual([409, 'conflict'])
    expect(getData(await move(tenant, key, 'enable')).status).toBe('active')
    expect((await key.get('/files')).status).toBe(200)
    expect(toStatusAndCode(await move(tenant, key, 'enable'))).toEqual([409, 'conflict'])
    expect(getData(await move(tenant, key, 'revoke')).status).toBe('revoked')
    expect(toStatusAndCode(await key.get('/files'))).toEqual([401, 'unauthenticated'])
    for (const how of ['enable', 'disable', 'revoke', 'rotate'])
      expect(toStatusAndCode(await move(tenant, key, how, how === 'rotate' ? {} : undefined))).toEqual([409, 'conflict'])

    const logged = await calls(tenant, key)
    expect(logged.map(({ operation, status }: Record<string, string>) => [operation, status])).toEqual([
      ['metadata', 'failure'],
      ['metadata', 'success'],
      ['metadata', 'failure'],
      ['metadata', 'success'],
    ])
    expect(logged[0].error_message).toBe('This API key is revoked. Use an active API key.')
    expect((await listAudits(tenant, key)).map(({ action, details }: Record<string, unknown>) => [action, details])).toEqual([
      ['revoked', { previous_status: 'active', new_status: 'revoked' }],
      ['enabled', { previous_status: 'disabled', new_status: 'active' }],
      ['disabled', { previous_status: 'active', new_status: 'disabled' }],
      ['created', { scopes: ['metadata'], expires_in_days: null }],
    ])
    expect(getItems(await tenant.admin.get('/api-keys?status=revoked'))).toHaveLength(1)
    expect(getItems(await tenant.admin.get('/api-keys?status=disabled'))).toHaveLength(0)
  })

  test('returns 401 for an expired API key', async () => {
    const tenant = await world.createTenant()
    const key = await tenant.createKey(['metadata'], { expires_in_days: 1 })
    expect((await key.get('/files')).status).toBe(200)
    await world.database.pool.query("UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE api_key_id = $1", [
      key.id,
    ])
    world.app.services.identity.forget('api_key', key.id)
    const rejected = await key.get('/files')
    expect(toStatusAndCode(rejected)).toEqual([401, 'unauthenticated'])
    expect(rejected.body.message).toBe('This API key has expired. Create a new API key.')
    expect((await calls(tenant, key))[0]).toMatchObject({
      status: 'failure',
      error_message: 'This API key has expired. Create a new API key.',
    })
  })

  test("returns the time of a key's last use immediately, but stores it in batches", async () => {
    const tenant = await world.createTenant()
    const key = await tenant.createKey(['metadata'])
    // The service estimates the database clock with an error below this tolerance, even under load.
    const slack = 1000
    const before = Date.now() - slack
    await Promise.all(Array.from({ length: 20 }, () => key.get('/files')))
    const at = Date.parse((await record(tenant, key)).last_used_at)
    expect(at).toBeGreaterThanOrEqual(before)
    expect(at).toBeLessThanOrEqual(Date.now() + slack)
    await world.app.services.identity.lastUsed.flush()
    const { rows } = await world.database.pool.query('SELECT last_used_at FROM api_keys WHERE api_key_id = $1', [key.id])
    expect(rows[0].last_used_at.getTime()).toBe(at)
  })

  test('authenticates a cached API key without a database query', async () => {
    const tenant = await world.createTenant()
    const key = await tenant.createKey(['metadata'])
    const { identity } = world.app.services
    const headers = ['Authorization', `Bearer ${key.credential}`]
    const origin = { ip: '127.0.0.1', userAgent: '' }
    await identity.authenticate(headers, origin)
    const { pool } = world.database
    const { query, connect } = pool
    let queries = 0
    const counted =
      (method: (...args: never[]) => unknown) =>
      (...args: unknown[]) => {
        queries++
        return method.apply(pool, args as never[])
      }
    Object.assign(pool, { query: counted(query as never), connect: counted(connect as never) })
    try {
      for (let call = 0; call < 100; call++)
        expect(await identity.authenticate(headers, origin)).toMatchObject({ outcome: 'actor', actor: { id: key.id } })
    } finally {
      Object.assign(pool, { query, connect })
    }
    // The notification listener and the signing key refresh may execute a few queries.
    expect(queries).toBeLessThanOrEqual(3)
  })
})

describe('API key rotation', () => {
  test('revokes the old secret immediately if an API key is rotated without a grace period', async () => {
    const tenant = await world.createTenant()
    const key = await tenant.createKey(['metadata'])
    expect((await key.get('/files')).status).toBe(200)
    const rotated = getData(await move(tenant, key, 'rotate', {}), { message: true })
    expect(Object.keys(rotated).sort()).toEqual(['api_key', 'api_key_id', 'expires_at', 'name', 'scopes'])
    expect(rotated).toMatchObject({ api_key_id: key.id, scopes: ['metadata'] })
    expect(rotated.api_key).not.toBe(key.credential)
    expect(toStatusAndCode(await key.get('/files'))).toEqual([401, 'unauthenticated'])
    expect((await world.createCaller(rotated.api_key).get('/files')).status).toBe(200)
    expect((await record(tenant, key)).key_prefix).toBe(rotated.api_key.slice(0, 12))
    expect((await listAudits(tenant, key))[0]).toMatchObject({ action: 'updated', details: { rotated: true, grace_seconds: 0 } })
  })

  test('accepts both secrets of a rotated key until the grace period ends', async () => {
    const tenant = await world.createTenant()
    const key = await tenant.createKey(['metadata'])
    const { api_key: secret } = getData(await move(tenant, key, 'rotate', { grace_seconds: 3600 }), { message: true })
    for (const caller of [key, world.createCaller(secret)]) expect((await caller.get('/files')).status).toBe(200)
    expect((await calls(tenant, key)).map(({ api_key_id }: Record<string, string>) => api_key_id)).toEqual([key.id, key.id])
    await world.database.pool.query(
      "UPDATE api_keys SET previous_expires_at = now() - interval '1 second' WHERE api_key_id = $1",
      [key.id],
    )
    world.app.services.identity.forget('api_key', key.id)
    const rejected = await key.get('/files')
    expect(toStatusAndCode(rejected)).toEqual([401, 'unauthenticated'])
    expect(rejected.body.message).toContain('was rotated')
    expect((await world.createCaller(secret).get('/files')).status).toBe(200)
  })

  test('disables both secrets of a rotated key', async () => {
    const tenant = await world.createTenant()
    const key = await tenant.createKey(['metadata'])
    const { api_key: secret } = getData(await move(tenant, key, 'rotate', { grace_seconds: 3600 }), { message: true })
    await move(tenant, key, 'disable')
    for (const caller of [key, world.createCaller(secret)])
      expect(toStatusAndCode(await caller.get('/files'))).toEqual([401, 'unauthenticated'])
  })

  test('accepts a grace period of 0 to 86,400 seconds and rejects other values', async () => {
    const tenant = await world.createTenant()
    const key = await tenant.createKey(['metadata'])
    for (const grace of [-1, 86_401, 1.5, '60', null, true])
      if (grace !== null)
        expect(getInvalidFields(await move(tenant, key, 'rotate', { grace_seconds: grace }))).toEqual(['grace_seconds'])
    expect((await key.get('/files')).status).toBe(200)
    expect((await move(tenant, key, 'rotate', { grace_seconds: 86_400 })).status).toBe(200)
  })
})

describe('key and user changes during an upload', () => {
  const body = createMultipartBody([
    { name: 'context', content: 'inbox' },
    { name: 'file', filename: 'slow.txt', content: `begin ${'x'.repeat(2000)} end` },
  ])

  async function startUpload(path: string, credential: string, headers: Record<string, string> = {}): Promise<RawHttp> {
    const raw = await RawHttp.open(world.url)
    const head = {
      Host: 'x',
      Authorization: `Bearer ${credential}`,
      'Content-Length': String(body.body.length),
      ...body.headers,
      ...headers,
    }
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
    raw.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}Expect: 100-continue\r\nConnection: close\r\n\r\n`)
    await raw.waitForText('100 Continue')
    raw.write(body.body.subarray(0, 1000))
    return raw
  }

  async function ended(raw: RawHttp) {
    raw.write(body.body.subarray(1000))
    const { status, body: text } = parseResponse(await raw.readAll())
    return { status, code: JSON.parse(text).error?.code }
  }

  test('stores an upload if its key remains valid throughout the upload', async () => {
    const tenant = await world.createTenant()
    await tenant.createContext('inbox')
    const key = await tenant.createKey(['upload'])
    expect(await ended(await startUpload('/api/v1/files/upload', key.credential!))).toMatchObject({ status: 201 })
  })

  test.each([
    ['disable', 401, 'unauthenticated'],
    ['revoke', 401, 'unauthenticated'],
    ['suspend', 403, 'forbidden'],
  ])('rejects an upload in progress after a `%s` operation on its key or tenant', async (how, status, code) => {
    const tenant = await world.createTenant()
    await tenant.createContext('inbox')
    const key = await tenant.createKey(['upload'])
    const raw = await startUpload('/api/v1/files/upload', key.credential!)
    if (how === 'suspend') await world.app.services.tenants.suspend(tenant.tenantId)
    else expect((await move(tenant, key, how)).status).toBe(200)
    expect(await ended(raw)).toEqual({ status, code })
    if (how === 'suspend') {
      await world.app.services.tenants.resume(tenant.tenantId)
      world.app.services.identity.forget('tenant', tenant.tenantId)
    }
    expect(getItems(await tenant.admin.get('/files'))).toEqual([])
    expect(getData(await tenant.admin.get('/contexts/inbox')).storage_used_bytes).toBe(0)
    expect(await calls(tenant, key)).toMatchObject([{ operation: 'upload', status: 'failure', context_key: 'inbox' }])
    // A batch that writes the last use may still be in progress.
    const { rows } = await world.database.pool.query(
      "SELECT count(*) FROM blob_garbage WHERE blob_path LIKE $1 || '/%' AND due_at <= now()",
      [tenant.tenantId],
    )
    expect(Number(rows[0].count)).toBe(1)
  })

  test('rejects an upload in progress if the uploading user is disabled', async () => {
    const tenant = await world.createTenant()
    await tenant.createContext('inbox')
    const user = await tenant.createUser(['upload'])
    const me = await user.graphql('{ me { userId } }')
    const raw = await startUpload('/api/v1/files/upload', user.credential!)
    await tenant.admin.graphql('mutation ($id: ID!) { disableUser(userId: $id) { status } }', { id: me.body.data.me.userId })
    expect(await ended(raw)).toEqual({ status: 401, code: 'unauthenticated' })
    expect(getItems(await tenant.admin.get('/files'))).toEqual([])
  })
})

test('reports all invalid fields of a new API key in one response', async () => {
  const tenant = await world.createTenant()
  const bad = { name: '', scopes: ['root'], expires_in_days: 366, metadata: [], contexts: {}, colour: 'red' }
  expect(getInvalidFields(await tenant.admin.post('/api-keys', bad))).toEqual(Object.keys(bad).sort())
  expect(getInvalidFields(await tenant.admin.post('/api-keys', {}))).toEqual(['name'])
  for (const name of ['x'.repeat(256), 'a\0b', 7, null])
    expect(getInvalidFields(await tenant.admin.post('/api-keys', { name }))).toEqual(['name'])
  expect((await tenant.admin.post('/api-keys', { name: '😀'.repeat(255), scopes: allScopes })).status).toBe(201)
})
