import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type ApiResponse, type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('notes', { max_file_size_mb: 1 })
  await tenant.createContext('other')
})
afterAll(() => world.close())

let count = 0
const createKeyHeader = () => ({ 'idempotency-key': `key-${++count}` })
const upload = (caller: Caller, content: string, headers: Record<string, string>, more: object = {}, context = 'notes') =>
  caller.upload(context, 'a.txt', content, { headers, ...more })
const countFiles = async (caller: Caller): Promise<number> => (await caller.get('/files')).body.data.pagination.total_items

/** Removes the request id and timestamp from a response. */
const toComparable = ({ status, body: { request_id: _id, timestamp: _time, ...body } }: ApiResponse) => ({ status, body })

describe('Idempotency-Key for POST /files/upload', () => {
  test('stores one file for repeated uploads with the same Idempotency-Key', async () => {
    const key = createKeyHeader()
    const before = await countFiles(tenant.admin)
    const first = await upload(tenant.admin, 'once', key, { metadata: { a: 1, b: 2 } })
    expect(first.status).toBe(201)
    // A request whose metadata differs only in formatting counts as a repetition.
    const second = await upload(tenant.admin, 'once', key, { metadata: '{ "b": 2, "a": 1 }' })
    expect(toComparable(second)).toEqual(toComparable(first))
    expect(await countFiles(tenant.admin)).toBe(before + 1)
    const { data } = (await tenant.admin.get('/stats/logs?operation=upload&page_size=2')).body.data
    expect(data.map(({ file_id, status }: { file_id: string; status: string }) => [file_id, status])).toEqual([
      [first.body.data.file_id, 'success'],
      [first.body.data.file_id, 'success'],
    ])
  })

  test('returns 409 for a reused Idempotency-Key with different content, name, context or metadata', async () => {
    const key = createKeyHeader()
    expect((await upload(tenant.admin, 'one', key)).status).toBe(201)
    const mismatch = { status: 409, body: { error: { code: 'idempotency_mismatch' } } }
    expect(await upload(tenant.admin, 'two', key)).toMatchObject(mismatch)
    expect(await tenant.admin.upload('notes', 'b.txt', 'one', { headers: key })).toMatchObject(mismatch)
    expect(await upload(tenant.admin, 'one', key, {}, 'other')).toMatchObject(mismatch)
    expect(await upload(tenant.admin, 'one', key, { metadata: { a: 1 } })).toMatchObject(mismatch)
    expect(await tenant.admin.post('/contexts', createContextBody('mismatch'), key)).toMatchObject(mismatch)
  })

  test('executes only one of many concurrent uploads with the same Idempotency-Key', async () => {
    const key = createKeyHeader()
    const before = await countFiles(tenant.admin)
    const responses = await Promise.all(Array.from({ length: 8 }, () => upload(tenant.admin, 'at once', key)))
    expect(new Set(responses.map((response) => JSON.stringify(toComparable(response)))).size).toBe(1)
    expect(responses[0]!.status).toBe(201)
    expect(await countFiles(tenant.admin)).toBe(before + 1)
  })

  test('allows any other request to reuse the Idempotency-Key of a failed upload', async () => {
    const key = createKeyHeader()
    expect((await tenant.admin.upload('notes', 'a.exe', 'one', { headers: key })).status).toBe(422)
    expect((await upload(tenant.admin, 'x'.repeat(1_048_577), key)).status).toBe(413)
    expect((await upload(tenant.admin, 'one', key)).status).toBe(201)
  })

  test('scopes idempotency keys to the tenant and the API key', async () => {
    const key = createKeyHeader()
    const otherTenant = await world.createTenant()
    await otherTenant.createContext('notes')
    const colleague = await tenant.createKey(['upload'])
    const responses = [
      await upload(tenant.admin, 'mine', key),
      await upload(otherTenant.admin, 'theirs', key),
      await upload(colleague, 'ours', key),
    ]
    expect(responses.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(new Set(responses.map(({ body }) => body.data.file_id)).size).toBe(3)
  })

  test.each([
    ['', 'empty'],
    ['x'.repeat(256), '256 characters'],
    ['a b', 'contains a space'],
  ])('returns 400 for the Idempotency-Key %j (%s)', async (value) => {
    expect(await upload(tenant.admin, 'x', { 'idempotency-key': value })).toMatchObject({
      status: 400,
      body: { error: { details: { fields: [{ field: 'Idempotency-Key' }] } } },
    })
  })

  test('returns the original response to a repeated upload even if its file has been deleted', async () => {
    const key = createKeyHeader()
    const first = await upload(tenant.admin, 'gone', key)
    await tenant.admin.delete(`/files/${first.body.data.file_id}`)
    expect(toComparable(await upload(tenant.admin, 'gone', key))).toEqual(toComparable(first))
  })

  test('accepts a reused Idempotency-Key after 24 hours', async () => {
    const key = createKeyHeader()
    const first = await upload(tenant.admin, 'daily', key)
    await expireKey(key['idempotency-key'], '23 hours 59 minutes')
    expect(toComparable(await upload(tenant.admin, 'daily', key))).toEqual(toComparable(first))
    await expireKey(key['idempotency-key'], '24 hours 1 second')
    const next = await upload(tenant.admin, 'another body', key)
    expect(next.status).toBe(201)
    expect(next.body.data.file_id).not.toBe(first.body.data.file_id)
    await expireKey(key['idempotency-key'], '25 hours')
    expect(await world.app.services.idempotency.deleteExpiredKeys()).toBe(1)
  })

  test('accepts an Idempotency-Key again after the lease of a killed process expires', async () => {
    const key = createKeyHeader()
    await upload(tenant.admin, 'killed', key)
    await world.database.pool.query(
      `UPDATE idempotency_keys SET response = NULL, leased_until = now() + interval '400 ms' WHERE key = $1`,
      [key['idempotency-key']],
    )
    const before = await countFiles(tenant.admin)
    expect((await upload(tenant.admin, 'killed', key)).status).toBe(201)
    expect(await countFiles(tenant.admin)).toBe(before + 1)
  })

  test('returns the response that another replica stored for an Idempotency-Key', async () => {
    const key = createKeyHeader()
    const first = await upload(tenant.admin, 'anywhere', key)
    const replica = await World.open({}, world)
    try {
      const again = await upload(replica.createCaller(tenant.admin.credential), 'anywhere', key)
      expect(toComparable(again)).toEqual(toComparable(first))
    } finally {
      await replica.close()
    }
  })
})

const expireKey = (key: string, by: string) =>
  world.database.pool.query(`UPDATE idempotency_keys SET created_at = now() - $2::interval WHERE key = $1`, [key, by])

const createContextBody = (key: string) => ({
  context_key: key,
  display_name: key,
  allowed_extensions: ['txt'],
  max_file_size_mb: 1,
})

describe('Idempotency-Key for POST /contexts and POST /api-keys', () => {
  test('returns the original response to a repeated request to create a context', async () => {
    const key = createKeyHeader()
    const first = await tenant.admin.post('/contexts', createContextBody('twice'), key)
    expect(first.status).toBe(201)
    expect(toComparable(await tenant.admin.post('/contexts', createContextBody('twice'), key))).toEqual(toComparable(first))
    expect(await tenant.admin.post('/contexts', createContextBody('twice'))).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict' } },
    })
  })

  test('returns 409 with the key id for a repeated request to create an API key', async () => {
    const key = createKeyHeader()
    const first = await tenant.admin.post('/api-keys', { name: 'Robot' }, key)
    const { api_key_id: id, api_key: secret } = first.body.data
    expect(await tenant.admin.post('/api-keys', { name: 'Robot' }, key)).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict', details: { api_key_id: id } }, message: expect.stringContaining(id) },
    })
    const { rows } = await world.database.pool.query('SELECT response::text AS text FROM idempotency_keys WHERE key = $1', [
      key['idempotency-key'],
    ])
    expect(rows[0].text).not.toContain(secret)
    const named = (await tenant.admin.get('/api-keys?page_size=100')).body.data.data.filter(
      ({ name }: { name: string }) => name === 'Robot',
    )
    expect(named).toHaveLength(1)
  })

  test('ignores the Idempotency-Key header of a GET request', async () => {
    expect((await tenant.admin.get('/files', { 'idempotency-key': 'a b' })).status).toBe(200)
  })
})

describe('idempotencyKey in GraphQL', () => {
  test('returns the stored response to a GraphQL upload that repeats a REST upload', async () => {
    const key = createKeyHeader()
    const first = await upload(tenant.admin, 'both doors', key)
    const mutation =
      'mutation ($file: Upload!, $key: String) { uploadFile(file: $file, context: "notes", idempotencyKey: $key) { fileId createdAt } }'
    const again = await tenant.admin.graphqlUpload(mutation, { key: key['idempotency-key'] }, 'a.txt', 'both doors')
    expect(again.body.data.uploadFile.fileId).toBe(first.body.data.file_id)
    const other = await tenant.admin.graphqlUpload(mutation, { key: key['idempotency-key'] }, 'a.txt', 'another')
    expect(other.body.errors[0].extensions.code).toBe('IDEMPOTENCY_MISMATCH')
  })

  test('creates only one context or API key for a repeated idempotencyKey', async () => {
    const create =
      'mutation ($key: String) { createContext(idempotencyKey: $key, input: { contextKey: "once", displayName: "Once", allowedExtensions: ["txt"], maxFileSizeMb: 1 }) { contextId } }'
    const first = await tenant.admin.graphql(create, { key: 'graphql-context' })
    expect(first.body.errors).toBeUndefined()
    expect((await tenant.admin.graphql(create, { key: 'graphql-context' })).body).toEqual(first.body)
    const createKey = 'mutation ($key: String) { createApiKey(idempotencyKey: $key, input: { name: "Once" }) { apiKeyId } }'
    const created = await tenant.admin.graphql(createKey, { key: 'graphql-key' })
    const { errors } = (await tenant.admin.graphql(createKey, { key: 'graphql-key' })).body
    expect(errors[0].extensions).toMatchObject({
      code: 'CONFLICT',
      details: { api_key_id: created.body.data.createApiKey.apiKeyId },
    })
  })
})
