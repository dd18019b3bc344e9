import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { anId, aTime, dataOf, faultyFields, graphqlCode, itemsOf, refusal } from '../support/answers.js'
import { multipart } from '../support/multipart.js'
import { parsed, RawHttp } from '../support/raw-exchange.js'
import { type Answer, type Caller, type TestTenant, World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open()
})
afterAll(() => world.close())

const allScopes = ['upload', 'download', 'metadata', 'delete', 'admin']
const move = (tenant: TestTenant, key: Caller, how: string, body?: unknown) =>
  tenant.admin.post(`/api-keys/${key.id}/${how}`, body)
const record = async (tenant: TestTenant, key: Caller) => dataOf(await tenant.admin.get(`/api-keys/${key.id}`))
const calls = async (tenant: TestTenant, key: Caller) => itemsOf(await tenant.admin.get(`/stats/logs?api_key_id=${key.id}`))
const audits = async (tenant: TestTenant, key: Caller) => itemsOf(await tenant.admin.get(`/audit-logs/entity/api_key/${key.id}`))

describe('the life of a key', () => {
  test('its record shows all but the secret, and a prefix that tells which key leaked', async () => {
    const tenant = await world.tenant()
    const created = await tenant.admin.post('/api-keys', { name: 'CI', expires_in_days: 30, metadata: { team: 'a' } })
    const { api_key: secret, api_key_id: id } = dataOf(created, { status: 201, message: true })
    const fetched = await record(tenant, { id } as Caller)
    expect(fetched).toEqual({
      api_key_id: anId('key'),
      name: 'CI',
      key_prefix: secret.slice(0, 12),
      scopes: ['upload', 'download'],
      status: 'active',
      expires_at: aTime,
      last_used_at: null,
      metadata: { team: 'a' },
      created_by: tenant.admin.id,
      created_at: aTime,
      updated_at: aTime,
    })
    const listed = await tenant.admin.get('/api-keys')
    expect(itemsOf(listed)[0]).toEqual(fetched)
    expect(JSON.stringify(listed.body)).not.toContain(secret)
  })

  test('disabled, enabled, revoked: each at once, each refusal logged, each change audited', async () => {
    const tenant = await world.tenant()
    const key = await tenant.key(['metadata'])
    expect((await key.get('/files')).status).toBe(200)

    expect(dataOf(await move(tenant, key, 'disable')).status).toBe('disabled')
    expect(refusal(await key.get('/files'))).toEqual([401, 'unauthenticated'])
    expect(refusal(await move(tenant, key, 'disable'))).toEqual([409, 'conflict'])
    expect(dataOf(await move(tenant, key, 'enable')).status).toBe('active')
    expect((await key.get('/files')).status).toBe(200)
    expect(refusal(await move(tenant, key, 'enable'))).toEqual([409, 'conflict'])
    expect(dataOf(await move(tenant, key, 'revoke')).status).toBe('revoked')
    expect(refusal(await key.get('/files'))).toEqual([401, 'unauthenticated'])
    for (const how of ['enable', 'disable', 'revoke', 'rotate'])
      expect(refusal(await move(tenant, key, how, how === 'rotate' ? {} : undefined))).toEqual([409, 'conflict'])

    const logged = await calls(tenant, key)
    expect(logged.map(({ operation, status }: Record<string, string>) => [operation, status])).toEqual([
      ['metadata', 'failure'],
      ['metadata', 'success'],
      ['metadata', 'failure'],
      ['metadata', 'success'],
    ])
    expect(logged[0].error_message).toBe('This API key is revoked.')
    expect((await audits(tenant, key)).map(({ action, details }: Record<string, unknown>) => [action, details])).toEqual([
      ['revoked', { previous_status: 'active', new_status: 'revoked' }],
      ['enabled', { previous_status: 'disabled', new_status: 'active' }],
      ['disabled', { previous_status: 'active', new_status: 'disabled' }],
      ['created', { scopes: ['metadata'], expires_in_days: null }],
    ])
    expect(itemsOf(await tenant.admin.get('/api-keys?status=revoked'))).toHaveLength(1)
    expect(itemsOf(await tenant.admin.get('/api-keys?status=disabled'))).toHaveLength(0)
  })

  test('it expires', async () => {
    const tenant = await world.tenant()
    const key = await tenant.key(['metadata'], { expires_in_days: 1 })
    expect((await key.get('/files')).status).toBe(200)
    await world.database.pool.query("UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE api_key_id = $1", [
      key.id,
    ])
    world.app.services.identity.forget('api_key', key.id)
    const refused = await key.get('/files')
    expect(refusal(refused)).toEqual([401, 'unauthenticated'])
    expect(refused.body.message).toBe('This API key has expired.')
    expect((await calls(tenant, key))[0]).toMatchObject({ status: 'failure', error_message: 'This API key has expired.' })
  })

  test('when it was last used is known at once, and written for many calls together', async () => {
    const tenant = await world.tenant()
    const key = await tenant.key(['metadata'])
    const before = Date.now()
    await Promise.all(Array.from({ length: 20 }, () => key.get('/files')))
    const at = Date.parse((await record(tenant, key)).last_used_at)
    expect(at).toBeGreaterThanOrEqual(before)
    expect(at).toBeLessThanOrEqual(Date.now())
    await world.app.services.identity.lastUsed.flush()
    const { rows } = await world.database.pool.query('SELECT last_used_at FROM api_keys WHERE api_key_id = $1', [key.id])
    expect(rows[0].last_used_at.getTime()).toBe(at)
  })

  test('a warm call asks nothing of the database to know who calls', async () => {
    const tenant = await world.tenant()
    const key = await tenant.key(['metadata'])
    const { identity } = world.app.services
    const headers = ['Authorization', `Bearer ${key.credential}`]
    const origin = { ip: '127.0.0.1', userAgent: '' }
    await identity.authenticate(headers, origin)
    const { pool } = world.database
    const { query, connect } = pool
    let asked = 0
    const counted =
      (method: (...args: never[]) => unknown) =>
      (...args: unknown[]) => {
        asked++
        return method.apply(pool, args as never[])
      }
    Object.assign(pool, { query: counted(query as never), connect: counted(connect as never) })
    try {
      for (let call = 0; call < 100; call++)
        expect(await identity.authenticate(headers, origin)).toMatchObject({ outcome: 'actor', actor: { id: key.id } })
    } finally {
      Object.assign(pool, { query, connect })
    }
    // The listener's echo goes over a connection of its own; keys are read again once in a while.
    expect(asked).toBeLessThanOrEqual(3)
  })
})

describe('rotation', () => {
  test('without grace the old secret dies with it', async () => {
    const tenant = await world.tenant()
    const key = await tenant.key(['metadata'])
    expect((await key.get('/files')).status).toBe(200)
    const rotated = dataOf(await move(tenant, key, 'rotate', {}))
    expect(Object.keys(rotated).sort()).toEqual(['api_key', 'api_key_id', 'expires_at', 'name', 'scopes'])
    expect(rotated).toMatchObject({ api_key_id: key.id, scopes: ['metadata'] })
    expect(rotated.api_key).not.toBe(key.credential)
    expect(refusal(await key.get('/files'))).toEqual([401, 'unauthenticated'])
    expect((await world.as(rotated.api_key).get('/files')).status).toBe(200)
    expect((await record(tenant, key)).key_prefix).toBe(rotated.api_key.slice(0, 12))
    expect((await audits(tenant, key))[0]).toMatchObject({ action: 'updated', details: { rotated: true, grace_seconds: 0 } })
  })

  test('with grace both live, as the same key, until the grace ends', async () => {
    const tenant = await world.tenant()
    const key = await tenant.key(['metadata'])
    const { api_key: secret } = dataOf(await move(tenant, key, 'rotate', { grace_seconds: 3600 }))
    for (const caller of [key, world.as(secret)]) expect((await caller.get('/files')).status).toBe(200)
    expect((await calls(tenant, key)).map(({ api_key_id }: Record<string, string>) => api_key_id)).toEqual([key.id, key.id])
    await world.database.pool.query(
      "UPDATE api_keys SET previous_expires_at = now() - interval '1 second' WHERE api_key_id = $1",
      [key.id],
    )
    world.app.services.identity.forget('api_key', key.id)
    const refused = await key.get('/files')
    expect(refusal(refused)).toEqual([401, 'unauthenticated'])
    expect(refused.body.message).toContain('rotated away')
    expect((await world.as(secret).get('/files')).status).toBe(200)
  })

  test('disabling it disables both secrets', async () => {
    const tenant = await world.tenant()
    const key = await tenant.key(['metadata'])
    const { api_key: secret } = dataOf(await move(tenant, key, 'rotate', { grace_seconds: 3600 }))
    await move(tenant, key, 'disable')
    for (const caller of [key, world.as(secret)]) expect(refusal(await caller.get('/files'))).toEqual([401, 'unauthenticated'])
  })

  test('grace is 0 to 86,400 s', async () => {
    const tenant = await world.tenant()
    const key = await tenant.key(['metadata'])
    for (const grace of [-1, 86_401, 1.5, '60', null, true])
      if (grace !== null)
        expect(faultyFields(await move(tenant, key, 'rotate', { grace_seconds: grace }))).toEqual(['grace_seconds'])
    expect((await key.get('/files')).status).toBe(200)
    expect((await move(tenant, key, 'rotate', { grace_seconds: 86_400 })).status).toBe(200)
  })
})

describe('a key that is restricted to some contexts', () => {
  let tenant: TestTenant
  let key: Caller
  const files: Record<string, string> = {}
  beforeAll(async () => {
    tenant = await world.tenant()
    await tenant.context('mine')
    await tenant.context('other')
    for (const context of ['mine', 'other'])
      files[context] = dataOf(await tenant.admin.upload(context, 'a.txt', context), {
        status: 201,
        message: true,
        timestamp: false,
      }).file_id
    key = await tenant.key(['upload', 'download', 'metadata', 'delete'], { contexts: ['mine'] })
  })

  test('sees that context and its files', async () => {
    expect(itemsOf(await key.get('/contexts')).map((context: Record<string, string>) => context.context_key)).toEqual(['mine'])
    expect((await key.get('/contexts')).body.data.pagination.total_items).toBe(1)
    expect((await key.get('/contexts/mine')).status).toBe(200)
    const listed = await key.get('/files')
    expect(itemsOf(listed).map((file: Record<string, string>) => file.file_id)).toEqual([files.mine])
    expect(listed.body.data.pagination.total_items).toBe(1)
    for (const path of [`/files/${files.mine}`, `/files/${files.mine}/metadata`, `/files/${files.mine}/validation`])
      expect((await key.get(path)).status).toBe(200)
    expect((await key.upload('mine', 'b.txt', 'b')).status).toBe(201)
    for (const path of ['/stats/by-context/files', '/stats/by-context/api-calls'])
      expect(dataOf(await key.get(path)).map((row: Record<string, string>) => row.context_key)).toEqual(['mine'])
  })

  test('reads every other exactly as what there is not', async () => {
    const nowhere = `file_${files.other!.slice(5, -4)}zzzz`
    const same = (other: Answer, unknown: Answer, [id, ghost]: [string, string]) => {
      expect(refusal(other)).toEqual([404, 'not_found'])
      const told = ({ body: { message, error } }: Answer) => JSON.stringify({ message, error })
      expect(told(other).replaceAll(id, 'ID')).toBe(told(unknown).replaceAll(ghost, 'ID'))
    }
    const contexts: [string, string] = ['other', 'ghost']
    same(await key.get('/contexts/other'), await key.get('/contexts/ghost'), contexts)
    for (const path of ['/files/upload', '/files/validate'])
      same(await key.upload('other', 'a.txt', 'a', { path }), await key.upload('ghost', 'a.txt', 'a', { path }), contexts)
    const ids: [string, string] = [files.other!, nowhere]
    for (const rest of ['', '/metadata', '/validation'])
      same(await key.get(`/files/${ids[0]}${rest}`), await key.get(`/files/${ids[1]}${rest}`), ids)
    same(await key.delete(`/files/${ids[0]}`), await key.delete(`/files/${ids[1]}`), ids)
    expect((await key.get('/files?context=other')).body.data).toEqual((await key.get('/files?context=ghost')).body.data)
    expect((await tenant.admin.get(`/files/${files.other}`)).status).toBe(200)
  })

  test('by GraphQL as well, relations and connections included', async () => {
    const seen = await key.graphql(
      `{ contexts { data { contextKey } } files { data { fileId context { contextKey } } } filesConnection { edges { node { contextKey } } }
         filesByContext { contextKey } apiCallsByContext { contextKey } }`,
    )
    expect(seen.body.errors).toBeUndefined()
    expect(JSON.stringify(seen.body)).not.toContain('other')
    expect(graphqlCode(await key.graphql('{ context(contextKey: "other") { contextId } }'))).toBe('NOT_FOUND')
    expect(graphqlCode(await key.graphql('query ($id: ID!) { file(fileId: $id) { fileId } }', { id: files.other }))).toBe(
      'NOT_FOUND',
    )
    const refusedMutations = ['createDownloadUrl(fileId: $id) { downloadUrl }', 'deleteFile(fileId: $id) { fileId }']
    for (const mutation of refusedMutations)
      expect(graphqlCode(await key.graphql(`mutation ($id: ID!) { ${mutation} }`, { id: files.other }))).toBe('NOT_FOUND')
  })

  test('is told nothing of the whole tenant', async () => {
    const paths = ['/stats', '/stats/logs', '/stats/charts/api-calls', '/stats/charts/storage', '/stats/charts/uploads']
    for (const path of paths) expect(refusal(await key.get(path))).toEqual([403, 'forbidden'])
  })

  test('is made by an admin for contexts that there are, and is none itself', async () => {
    const make = (more: object) => tenant.admin.post('/api-keys', { name: 'x', ...more })
    expect(faultyFields(await make({ contexts: ['mine', 'ghost'] }))).toEqual(['contexts'])
    expect(faultyFields(await make({ contexts: [] }))).toEqual(['contexts'])
    expect(faultyFields(await make({ contexts: 'mine' }))).toEqual(['contexts'])
    expect(faultyFields(await make({ contexts: ['mine'], scopes: ['admin'] }))).toEqual(['contexts'])
  })

  test('a context of the same name that is made later is another one', async () => {
    await tenant.context('passing')
    const passing = await tenant.key(['metadata', 'upload'], { contexts: ['passing'] })
    await tenant.admin.delete('/contexts/passing')
    expect(itemsOf(await passing.get('/contexts'))).toEqual([])
    await tenant.context('passing')
    expect(refusal(await passing.get('/contexts/passing'))).toEqual([404, 'not_found'])
    expect(itemsOf(await passing.get('/files'))).toEqual([])
  })
})

describe('an upload under way', () => {
  const body = multipart([
    { name: 'context', content: 'inbox' },
    { name: 'file', filename: 'slow.txt', content: `begin ${'x'.repeat(2000)} end` },
  ])

  async function begun(path: string, credential: string, headers: Record<string, string> = {}): Promise<RawHttp> {
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
    await raw.says('100 Continue')
    raw.write(body.body.subarray(0, 1000))
    return raw
  }

  async function ended(raw: RawHttp) {
    raw.write(body.body.subarray(1000))
    const { status, body: text } = parsed(await raw.whole())
    return { status, code: JSON.parse(text).error?.code }
  }

  test('is kept where nothing happens meanwhile', async () => {
    const tenant = await world.tenant()
    await tenant.context('inbox')
    const key = await tenant.key(['upload'])
    expect(await ended(await begun('/api/v1/files/upload', key.credential!))).toMatchObject({ status: 201 })
  })

  test.each([
    ['disable', 401, 'unauthenticated'],
    ['revoke', 401, 'unauthenticated'],
    ['suspend', 403, 'forbidden'],
  ])('is not kept after %s', async (how, status, code) => {
    const tenant = await world.tenant()
    await tenant.context('inbox')
    const key = await tenant.key(['upload'])
    const raw = await begun('/api/v1/files/upload', key.credential!)
    if (how === 'suspend') await world.app.services.tenants.suspend(tenant.tenantId)
    else expect((await move(tenant, key, how)).status).toBe(200)
    expect(await ended(raw)).toEqual({ status, code })
    if (how === 'suspend') {
      await world.app.services.tenants.resume(tenant.tenantId)
      world.app.services.identity.forget('tenant', tenant.tenantId)
    }
    expect(itemsOf(await tenant.admin.get('/files'))).toEqual([])
    expect(dataOf(await tenant.admin.get('/contexts/inbox')).storage_used_bytes).toBe(0)
    expect(await calls(tenant, key)).toMatchObject([{ operation: 'upload', status: 'failure', context_key: 'inbox' }])
    // What was written of it is on its way out.
    const { rows } = await world.database.pool.query(
      "SELECT count(*) FROM blob_garbage WHERE blob_path LIKE $1 || '/%' AND due_at <= now()",
      [tenant.tenantId],
    )
    expect(Number(rows[0].count)).toBe(1)
  })

  test('of a user who is disabled meanwhile is not kept', async () => {
    const tenant = await world.tenant()
    await tenant.context('inbox')
    const user = await tenant.user(['upload'])
    const me = await user.graphql('{ me { userId } }')
    const raw = await begun('/api/v1/files/upload', user.credential!)
    await tenant.admin.graphql('mutation ($id: ID!) { disableUser(userId: $id) { status } }', { id: me.body.data.me.userId })
    expect(await ended(raw)).toEqual({ status: 401, code: 'unauthenticated' })
    expect(itemsOf(await tenant.admin.get('/files'))).toEqual([])
  })
})

test('creation is refused where a field is at fault, all faults at once', async () => {
  const tenant = await world.tenant()
  const bad = { name: '', scopes: ['root'], expires_in_days: 366, metadata: [], contexts: {}, colour: 'red' }
  expect(faultyFields(await tenant.admin.post('/api-keys', bad))).toEqual(Object.keys(bad).sort())
  expect(faultyFields(await tenant.admin.post('/api-keys', {}))).toEqual(['name'])
  for (const name of ['x'.repeat(256), 'a\0b', 7, null])
    expect(faultyFields(await tenant.admin.post('/api-keys', { name }))).toEqual(['name'])
  expect((await tenant.admin.post('/api-keys', { name: '😀'.repeat(255), scopes: allScopes })).status).toBe(201)
})
