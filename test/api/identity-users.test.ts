import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { anyId, anyTimestamp, getData, getGraphqlCode, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open()
})
afterAll(() => world.close())

const signIn =
  'mutation ($email: String!, $password: String!, $tenantId: ID) { signIn(email: $email, password: $password, tenantId: $tenantId) { token expiresAt user { userId email name scopes status } } }'
const me = '{ me { id type tenantId userId apiKeyId name email scopes } }'
const getUserId = async (user: Caller) => (await user.graphql('{ me { userId } }')).body.data.me.userId as string
const change = (by: Caller, mutation: string, userId: string, input?: object) =>
  by.graphql(
    input
      ? `mutation ($userId: ID!, $input: UpdateUserInput!) { ${mutation}(userId: $userId, input: $input) { userId name scopes status } }`
      : `mutation ($userId: ID!) { ${mutation}(userId: $userId) { userId status } }`,
    { userId, input },
  )
const invite = (by: Caller, input: object) =>
  by.graphql(
    'mutation ($input: InviteUserInput!) { inviteUser(input: $input) { password user { userId email name scopes status createdAt } } }',
    { input },
  )
const listAudits = async (tenant: TestTenant, entityId: string) =>
  getItems(await tenant.admin.get(`/audit-logs?entity_id=${entityId}`))

describe('user management by admins', () => {
  test('allows an admin to invite each email address only once', async () => {
    const tenant = await world.createTenant()
    const { body } = await invite(tenant.admin, { email: 'Eve@Example.com', name: 'Eve', scopes: ['metadata', 'metadata'] })
    const { password, user } = body.data.inviteUser
    expect(user).toEqual({
      userId: anyId('usr'),
      email: 'eve@example.com',
      name: 'Eve',
      scopes: ['metadata'],
      status: 'active',
      createdAt: anyTimestamp,
    })
    expect(getGraphqlCode(await world.unauthenticated.graphql(signIn, { email: 'eve@example.com', password }))).toBeUndefined()
    expect(getGraphqlCode(await invite(tenant.admin, { email: 'EVE@example.com', name: 'E', scopes: ['metadata'] }))).toBe(
      'CONFLICT',
    )
    const input = await invite(tenant.admin, {
      email: 'bob@example.com',
      name: 'Bob',
      scopes: ['upload'],
      password: 'his own choice',
    })
    expect(input.body.data.inviteUser.password).toBeNull()
    for (const bad of [{ email: 'no address' }, { name: '' }, { scopes: [] }, { password: 'short' }])
      expect(getGraphqlCode(await invite(tenant.admin, { email: 'x@example.com', name: 'X', scopes: ['upload'], ...bad }))).toBe(
        'BAD_USER_INPUT',
      )
    expect((await listAudits(tenant, user.userId))[0]).toMatchObject({
      audit_type: 'tenant',
      action: 'created',
      entity_type: 'user',
      entity_name: 'Eve',
      performed_by_id: tenant.admin.id,
      performed_by_type: 'api_key',
      performed_by_email: null,
    })
    expect(
      getGraphqlCode(
        await invite(await tenant.createUser(['metadata']), { email: 'z@example.com', name: 'Z', scopes: ['upload'] }),
      ),
    ).toBe('FORBIDDEN')
  })

  test("applies an admin's changes to a user's scopes and status immediately, and audits them", async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['upload'])
    const id = await getUserId(user)
    expect(toStatusAndCode(await user.get('/files'))).toEqual([403, 'forbidden'])
    await change(tenant.admin, 'updateUser', id, { scopes: ['metadata'] })
    expect((await user.get('/files')).status).toBe(200)
    await change(tenant.admin, 'updateUser', id, { scopes: ['metadata'] })
    await change(tenant.admin, 'disableUser', id)
    expect(toStatusAndCode(await user.get('/files'))).toEqual([401, 'unauthenticated'])
    expect(getGraphqlCode(await world.unauthenticated.graphql(signIn, { email: user.email, password: user.password }))).toBe(
      'UNAUTHENTICATED',
    )
    expect(getGraphqlCode(await change(tenant.admin, 'disableUser', id))).toBe('CONFLICT')
    await change(tenant.admin, 'enableUser', id)
    expect((await user.get('/files')).status).toBe(401)
    const entries = (await listAudits(tenant, id))
      .filter(({ audit_type }: Record<string, unknown>) => audit_type !== 'security')
      .map(({ action, details }: Record<string, unknown>) => [action, details])
    // An update that changes nothing is not audited.
    expect(entries.slice(0, 3)).toEqual([
      ['enabled', { previous_status: 'disabled', new_status: 'active' }],
      ['disabled', { previous_status: 'active', new_status: 'disabled' }],
      ['updated', { changed: { scopes: { previous: ['upload'], new: ['metadata'] } } }],
    ])
    expect(entries).toHaveLength(4)
  })

  test("rejects an admin's request to revoke their own access", async () => {
    const tenant = await world.createTenant()
    const admin = await tenant.createUser(['admin'])
    const id = await getUserId(admin)
    expect(getGraphqlCode(await change(admin, 'disableUser', id))).toBe('CONFLICT')
    expect(getGraphqlCode(await change(admin, 'updateUser', id, { scopes: ['metadata'] }))).toBe('CONFLICT')
    expect(
      (await change(admin, 'updateUser', id, { name: 'Root', scopes: ['admin', 'upload'] })).body.data.updateUser,
    ).toMatchObject({
      name: 'Root',
    })
    expect((await change(tenant.admin, 'disableUser', id)).body.data.disableUser.status).toBe('disabled')
  })

  test('lists users for an admin, with an optional status filter', async () => {
    const tenant = await world.createTenant()
    const [one, two] = [await tenant.createUser(['upload']), await tenant.createUser(['upload'])]
    await change(tenant.admin, 'disableUser', await getUserId(one))
    const list = async (status?: string) =>
      (
        await tenant.admin.graphql(
          'query ($status: UserStatus) { users(status: $status) { data { email } pagination { totalItems } } }',
          { status },
        )
      ).body.data.users
    expect(await list()).toMatchObject({ data: [{ email: two.email }, { email: one.email }], pagination: { totalItems: 2 } })
    expect(await list('disabled')).toMatchObject({ data: [{ email: one.email }], pagination: { totalItems: 1 } })
    expect(getGraphqlCode(await one.graphql('{ users { pagination { page } } }'))).toBe('UNAUTHENTICATED')
  })
})

describe('audited user actions, tenant suspension and tenant deletion', () => {
  test("audits user actions with the user's name and email address at the time of the action", async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['admin'])
    const id = await getUserId(user)
    const uploaded = async (name: string) =>
      getData(await user.upload('inbox', name, name), { status: 201, message: true, timestamp: false })
    getData(
      await user.post('/contexts', {
        context_key: 'inbox',
        display_name: 'In',
        allowed_extensions: ['txt'],
        max_file_size_mb: 1,
      }),
      { status: 201 },
    )
    const file = await uploaded('a.txt')
    const created = await user.graphql('mutation { createApiKey(input: { name: "K" }) { apiKeyId apiKey } }')
    await user.delete(`/files/${(await uploaded('b.txt')).file_id}`)
    const { apiKeyId } = created.body.data.createApiKey
    expect(getData(await user.get(`/api-keys/${apiKeyId}`)).created_by).toBe(id)

    const before = getItems(await tenant.admin.get('/audit-logs?page_size=100')).filter(
      (entry: Record<string, string>) => entry.performed_by_id === id,
    )
    expect(before.map(({ entity_type, action }: Record<string, string>) => `${entity_type} ${action}`)).toEqual([
      'file deleted',
      'file created',
      'api_key created',
      'file created',
      'context created',
      'session created',
    ])
    for (const entry of before)
      expect(entry).toMatchObject({
        performed_by_type: 'user',
        performed_by_name: 'Ada',
        performed_by_email: user.email,
        performed_by_scopes: ['admin'],
      })
    await change(tenant.admin, 'updateUser', id, { name: 'Grace', scopes: ['metadata'] })
    const after = getItems(await tenant.admin.get('/audit-logs?page_size=100')).filter(
      (entry: Record<string, string>) => entry.performed_by_id === id,
    )
    expect(after).toEqual(before)
    expect(getItems(await user.get(`/files?uploaded_by=${id}`))).toMatchObject([
      { file_id: file.file_id, uploaded_by: id, uploaded_by_name: null },
    ])
    // Only requests with API keys are logged as calls.
    expect(
      getItems(await user.get('/stats/logs')).filter((call: Record<string, string>) => call.operation !== 'metadata'),
    ).toEqual([])
  })
})

test('returns 403 for all credentials of a suspended tenant until it is resumed', async () => {
  const tenant = await world.createTenant()
  await tenant.createContext('inbox')
  const { file_id: fileId } = getData(await tenant.admin.upload('inbox', 'a.txt', 'kept'), {
    status: 201,
    message: true,
    timestamp: false,
  })
  const user = await tenant.createUser(['metadata'])
  const { download_url: url } = getData(await tenant.admin.get(`/files/${fileId}`), { timestamp: false })
  const { tenants, identity } = world.app.services
  await tenants.suspend(tenant.tenantId)
  identity.forget('tenant', tenant.tenantId)
  for (const caller of [tenant.admin, user]) {
    const rejected = await caller.get('/files')
    expect(toStatusAndCode(rejected)).toEqual([403, 'forbidden'])
    expect(rejected.body.message).toMatch(/suspended/)
    expect(getGraphqlCode(await caller.graphql(me))).toBe('FORBIDDEN')
  }
  expect(getGraphqlCode(await world.unauthenticated.graphql(signIn, { email: user.email, password: user.password }))).toBe(
    'FORBIDDEN',
  )
  expect(getGraphqlCode(await world.unauthenticated.graphql(signIn, { email: user.email, password: 'wrong' }))).toBe(
    'UNAUTHENTICATED',
  )
  expect((await fetch(url)).status).toBe(403)
  await tenants.resume(tenant.tenantId)
  identity.forget('tenant', tenant.tenantId)
  for (const caller of [tenant.admin, user]) expect(getItems(await caller.get('/files'))).toHaveLength(1)
  expect(await (await fetch(url)).text()).toBe('kept')
  expect(
    getItems(await tenant.admin.get(`/audit-logs?entity_id=${tenant.tenantId}`)).map(
      (entry: Record<string, string>) => entry.action,
    ),
  ).toEqual(['enabled', 'disabled', 'created'])
  expect(getItems(await tenant.admin.get('/stats/logs?status=failure'))).toMatchObject([
    { operation: 'metadata', status: 'failure', error_message: expect.stringMatching(/suspended/) },
  ])
})

test("deletes a tenant with all its data only if the request repeats the tenant's name", async () => {
  const tenant = await world.createTenant({ name: 'Doomed' })
  const bystander = await world.createTenant()
  for (const { createContext, admin } of [tenant, bystander]) {
    await createContext('inbox')
    expect((await admin.upload('inbox', 'a.txt', 'a')).status).toBe(201)
  }
  const user = await tenant.createUser(['metadata'])
  const { tenants, identity } = world.app.services
  await expect(tenants.delete(tenant.tenantId, 'doomed')).rejects.toMatchObject({ code: 'conflict' })
  await expect(tenants.delete('ten_nonsense', 'Doomed')).rejects.toMatchObject({ code: 'not_found' })
  expect(await tenants.delete(tenant.tenantId, 'Doomed')).toEqual({ tenantId: tenant.tenantId, files: 1 })
  identity.forget('tenant', tenant.tenantId)
  for (const caller of [tenant.admin, user]) expect(toStatusAndCode(await caller.get('/files'))).toEqual([401, 'unauthenticated'])
  expect(getItems(await bystander.admin.get('/files'))).toHaveLength(1)
  const { rows } = await world.database.pool.query<{ table: string }>(
    `SELECT table_name AS table FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'tenant_id' AND table_name <> 'blob_garbage'`,
  )
  for (const { table } of rows) {
    const remaining = await world.database.pool.query(`SELECT count(*) FROM ${table} WHERE tenant_id = $1`, [tenant.tenantId])
    expect([table, Number(remaining.rows[0].count)]).toEqual([table, 0])
  }
  // The deleted file's blob is due for removal, while leased paths become due later.
  const garbage = await world.database.pool.query('SELECT count(*) FROM blob_garbage WHERE tenant_id = $1 AND due_at <= now()', [
    tenant.tenantId,
  ])
  expect(Number(garbage.rows[0].count)).toBe(1)
})
