import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { anId, aTime, dataOf, graphqlCode, itemsOf, refusal } from '../support/answers.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open()
})
afterAll(() => world.close())

const signIn =
  'mutation ($email: String!, $password: String!, $tenantId: ID) { signIn(email: $email, password: $password, tenantId: $tenantId) { token expiresAt user { userId email name scopes status } } }'
const me = '{ me { id type tenantId userId apiKeyId name email scopes } }'
const idOf = async (user: Caller) => (await user.graphql('{ me { userId } }')).body.data.me.userId as string
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
const audits = async (tenant: TestTenant, entityId: string) =>
  itemsOf(await tenant.admin.get(`/audit-logs?entity_id=${entityId}`))

describe('signing in', () => {
  test('gives a session of twelve hours, by REST and by GraphQL, and is audited', async () => {
    const tenant = await world.tenant()
    const user = await tenant.user(['metadata', 'admin'])
    const { body } = await world.stranger.graphql(signIn, { email: user.email.toUpperCase(), password: user.password })
    const { token, expiresAt, user: who } = body.data.signIn
    expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(43_100_000)
    expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(43_201_000)
    expect(who).toMatchObject({ userId: anId('usr'), email: user.email, name: 'Ada', status: 'active' })
    const caller = world.as(token)
    expect((await caller.graphql(me)).body.data.me).toEqual({
      id: who.userId,
      type: 'user',
      tenantId: tenant.tenantId,
      userId: who.userId,
      apiKeyId: null,
      name: 'Ada',
      email: user.email,
      scopes: ['metadata', 'admin'],
    })
    expect((await caller.get('/files')).status).toBe(200)
    const sessions = itemsOf(await caller.get('/audit-logs?action=created&audit_type=tenant')).filter(
      (entry: Record<string, string>) => entry.entity_type === 'session',
    )
    expect(sessions[0]).toMatchObject({
      performed_by_id: who.userId,
      performed_by_type: 'user',
      performed_by_email: user.email,
      details: { user_id: who.userId },
      ip_address: '127.0.0.1',
      created_at: aTime,
    })
  })

  test('tells neither whether the address nor whether the password was wrong', async () => {
    const tenant = await world.tenant()
    const user = await tenant.user(['metadata'])
    const wrong = await world.stranger.graphql(signIn, { email: user.email, password: 'not this one' })
    const unknown = await world.stranger.graphql(signIn, { email: 'nobody@example.com', password: 'not this one' })
    expect(graphqlCode(wrong)).toBe('UNAUTHENTICATED')
    expect(unknown.body).toEqual(wrong.body)
  })

  test('costs the same work for an unknown address, a wrong password and a user of an outside provider', async () => {
    const tenant = await world.tenant()
    const user = await tenant.user(['metadata'])
    await world.database.pool.query(
      "INSERT INTO users (user_id, tenant_id, email, name, scopes, issuer, subject, created_at, updated_at) VALUES ('usr_00000000000000000000000000', $1, 'outside@example.com', 'O', '{}', 'i', 's', now(), now())",
      [tenant.tenantId],
    )
    const worked = async (email: string) => {
      const before = process.cpuUsage()
      await world.stranger.graphql(signIn, { email, password: 'not this one' })
      const { user: spent, system } = process.cpuUsage(before)
      return spent + system
    }
    const median = async (email: string) => {
      const all: number[] = []
      for (let attempt = 0; attempt < 5; attempt++) all.push(await worked(email))
      return all.sort((a, b) => a - b)[2]!
    }
    await worked('warm@example.com')
    const wrong = await median(user.email)
    for (const email of ['nobody@example.com', 'outside@example.com']) {
      // argon2id is nearly all of it: without it an answer would cost less than a tenth.
      const other = await median(email)
      expect(other).toBeGreaterThan(wrong / 3)
      expect(other).toBeLessThan(wrong * 3)
    }
  })

  test('of the same person in two tenants: to the one that is named, each with his password there', async () => {
    const [one, two] = [await world.tenant(), await world.tenant()]
    const email = 'both@example.com'
    const [first, second] = [await one.user(['metadata'], email), await two.user(['metadata'], email)]
    for (const [tenant, { password }] of [
      [one, first],
      [two, second],
    ] as const) {
      const { body } = await world.stranger.graphql(signIn, { email, password })
      expect((await world.as(body.data.signIn.token).graphql(me)).body.data.me.tenantId).toBe(tenant.tenantId)
      const other = tenant === one ? two : one
      expect(graphqlCode(await world.stranger.graphql(signIn, { email, password, tenantId: other.tenantId }))).toBe(
        'UNAUTHENTICATED',
      )
    }
  })

  test('attempts are limited by account, for known and unknown ones alike, and the right ones are not counted', async () => {
    const tenant = await world.tenant()
    const user = await tenant.user(['metadata'])
    for (let time = 0; time < 12; time++)
      expect(graphqlCode(await world.stranger.graphql(signIn, { email: user.email, password: user.password }))).toBeUndefined()
    for (const email of [user.email, 'ghost@example.com']) {
      const codes: (string | undefined)[] = []
      let last: Awaited<ReturnType<Caller['graphql']>> | undefined
      for (let time = 0; time < 11; time++) {
        last = await world.stranger.graphql(signIn, { email, password: 'wrong' })
        codes.push(graphqlCode(last))
      }
      expect(codes.slice(0, 10)).toEqual(Array(10).fill('UNAUTHENTICATED'))
      expect(codes[10]).toBe('RATE_LIMITED')
      expect(last!.body.errors[0].extensions.details.retry_after).toBeGreaterThan(0)
    }
    // Who is signed in already stays so.
    expect((await user.get('/files')).status).toBe(200)
  })
})

describe('a session', () => {
  test('ends by signOut, at once, and only that one', async () => {
    const tenant = await world.tenant()
    const user = await tenant.user(['metadata'])
    const { body } = await world.stranger.graphql(signIn, { email: user.email, password: user.password })
    const other = world.as(body.data.signIn.token)
    expect((await user.graphql('mutation { signOut }')).body.data.signOut).toBe(true)
    expect(refusal(await user.get('/files'))).toEqual([401, 'unauthenticated'])
    expect(graphqlCode(await user.graphql(me))).toBe('UNAUTHENTICATED')
    expect((await other.get('/files')).status).toBe(200)
    const entries = itemsOf(await tenant.admin.get('/audit-logs?action=revoked'))
    expect(entries).toMatchObject([{ entity_type: 'session', performed_by_type: 'user', performed_by_email: user.email }])
    expect((await tenant.admin.graphql('mutation { signOut }')).body.data.signOut).toBe(false)
  })

  test('changePassword asks for the old one, and ends all other sessions', async () => {
    const tenant = await world.tenant()
    const user = await tenant.user(['metadata'])
    const { body } = await world.stranger.graphql(signIn, { email: user.email, password: user.password })
    const other = world.as(body.data.signIn.token)
    const changePassword = (by: Caller, currentPassword: string, newPassword: string) =>
      by.graphql('mutation ($a: String!, $b: String!) { changePassword(currentPassword: $a, newPassword: $b) }', {
        a: currentPassword,
        b: newPassword,
      })
    expect(graphqlCode(await changePassword(user, 'wrong', 'a new password'))).toBe('FORBIDDEN')
    expect(graphqlCode(await changePassword(user, user.password, 'short'))).toBe('BAD_USER_INPUT')
    expect(graphqlCode(await changePassword(tenant.admin, 'x', 'a new password'))).toBe('FORBIDDEN')
    expect((await changePassword(user, user.password, 'a new password')).body.data.changePassword).toBe(true)
    expect((await user.get('/files')).status).toBe(200)
    expect(refusal(await other.get('/files'))).toEqual([401, 'unauthenticated'])
    expect(graphqlCode(await world.stranger.graphql(signIn, { email: user.email, password: user.password }))).toBe(
      'UNAUTHENTICATED',
    )
    expect(graphqlCode(await world.stranger.graphql(signIn, { email: user.email, password: 'a new password' }))).toBeUndefined()
    const entries = await audits(tenant, await idOf(user))
    expect(entries[0]).toMatchObject({ action: 'updated', entity_type: 'user', details: { changed: { password: true } } })
    expect(JSON.stringify(entries)).not.toContain('a new password')
  })

  test('begun with the old password while it is being changed does not outlive the change', async () => {
    const tenant = await world.tenant()
    const user = await tenant.user(['metadata'])
    const attempts = Array.from({ length: 8 }, () =>
      world.stranger.graphql(signIn, { email: user.email, password: user.password }),
    )
    const changed = await user.graphql(
      'mutation ($a: String!) { changePassword(currentPassword: $a, newPassword: "a new password") }',
      {
        a: user.password,
      },
    )
    expect(changed.body.data.changePassword).toBe(true)
    for (const { body } of await Promise.all(attempts)) {
      const token = body.data?.signIn.token
      if (token) expect((await world.as(token).get('/files')).status).toBe(401)
    }
    expect((await user.get('/files')).status).toBe(200)
  })

  test('its keys are published, verify its token, and rotate without signing anyone out', async () => {
    const tenant = await world.tenant()
    const user = await tenant.user(['metadata'])
    const published = async () => (await world.stranger.raw('/.well-known/jwks.json')).body as { keys: Record<string, string>[] }
    const before = await published()
    for (const key of before.keys) expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x'])
    const verify = async (token: string) =>
      (await jwtVerify(token, createLocalJWKSet(await published()), { issuer: 'assay', audience: 'assay' })).protectedHeader
    expect(await verify(user.credential!)).toMatchObject({ alg: 'EdDSA', kid: before.keys[0]!.kid })
    const kid = await world.app.services.identity.signing.session.rotate()
    expect((await published()).keys.map((key) => key.kid)).toEqual([kid, before.keys[0]!.kid])
    expect((await user.get('/files')).status).toBe(200)
    const { body } = await world.stranger.graphql(signIn, { email: user.email, password: user.password })
    expect(await verify(body.data.signIn.token)).toMatchObject({ kid })
    expect(await verify(user.credential!)).toMatchObject({ kid: before.keys[0]!.kid })
  })

  test('lasts no longer than its row says', async () => {
    const tenant = await world.tenant()
    const user = await tenant.user(['metadata'])
    await world.database.pool.query("UPDATE sessions SET expires_at = now() - interval '1 second' WHERE user_id = $1", [
      await idOf(user),
    ])
    world.app.services.identity.tokens.clear()
    expect(refusal(await user.get('/files'))).toEqual([401, 'unauthenticated'])
  })
})

describe('an admin', () => {
  test('invites users, with or without a password, once per address', async () => {
    const tenant = await world.tenant()
    const { body } = await invite(tenant.admin, { email: 'Eve@Example.com', name: 'Eve', scopes: ['metadata', 'metadata'] })
    const { password, user } = body.data.inviteUser
    expect(user).toEqual({
      userId: anId('usr'),
      email: 'eve@example.com',
      name: 'Eve',
      scopes: ['metadata'],
      status: 'active',
      createdAt: aTime,
    })
    expect(graphqlCode(await world.stranger.graphql(signIn, { email: 'eve@example.com', password }))).toBeUndefined()
    expect(graphqlCode(await invite(tenant.admin, { email: 'EVE@example.com', name: 'E', scopes: ['metadata'] }))).toBe(
      'CONFLICT',
    )
    const given = await invite(tenant.admin, {
      email: 'bob@example.com',
      name: 'Bob',
      scopes: ['upload'],
      password: 'his own choice',
    })
    expect(given.body.data.inviteUser.password).toBeNull()
    for (const bad of [{ email: 'no address' }, { name: '' }, { scopes: [] }, { password: 'short' }])
      expect(graphqlCode(await invite(tenant.admin, { email: 'x@example.com', name: 'X', scopes: ['upload'], ...bad }))).toBe(
        'BAD_USER_INPUT',
      )
    expect((await audits(tenant, user.userId))[0]).toMatchObject({
      audit_type: 'tenant',
      action: 'created',
      entity_type: 'user',
      entity_name: 'Eve',
      performed_by_id: tenant.admin.id,
      performed_by_type: 'api_key',
      performed_by_email: null,
    })
    expect(
      graphqlCode(await invite(await tenant.user(['metadata']), { email: 'z@example.com', name: 'Z', scopes: ['upload'] })),
    ).toBe('FORBIDDEN')
  })

  test('changes scopes and disables, effective at once, each audited', async () => {
    const tenant = await world.tenant()
    const user = await tenant.user(['upload'])
    const id = await idOf(user)
    expect(refusal(await user.get('/files'))).toEqual([403, 'forbidden'])
    await change(tenant.admin, 'updateUser', id, { scopes: ['metadata'] })
    expect((await user.get('/files')).status).toBe(200)
    await change(tenant.admin, 'updateUser', id, { scopes: ['metadata'] })
    await change(tenant.admin, 'disableUser', id)
    expect(refusal(await user.get('/files'))).toEqual([401, 'unauthenticated'])
    expect(graphqlCode(await world.stranger.graphql(signIn, { email: user.email, password: user.password }))).toBe(
      'UNAUTHENTICATED',
    )
    expect(graphqlCode(await change(tenant.admin, 'disableUser', id))).toBe('CONFLICT')
    await change(tenant.admin, 'enableUser', id)
    expect((await user.get('/files')).status).toBe(200)
    const entries = (await audits(tenant, id)).map(({ action, details }: Record<string, unknown>) => [action, details])
    // What changes nothing is no change.
    expect(entries.slice(0, 3)).toEqual([
      ['enabled', { previous_status: 'disabled', new_status: 'active' }],
      ['disabled', { previous_status: 'active', new_status: 'disabled' }],
      ['updated', { changed: { scopes: { previous: ['upload'], new: ['metadata'] } } }],
    ])
    expect(entries).toHaveLength(4)
  })

  test('cannot lock himself out', async () => {
    const tenant = await world.tenant()
    const admin = await tenant.user(['admin'])
    const id = await idOf(admin)
    expect(graphqlCode(await change(admin, 'disableUser', id))).toBe('CONFLICT')
    expect(graphqlCode(await change(admin, 'updateUser', id, { scopes: ['metadata'] }))).toBe('CONFLICT')
    expect(
      (await change(admin, 'updateUser', id, { name: 'Root', scopes: ['admin', 'upload'] })).body.data.updateUser,
    ).toMatchObject({
      name: 'Root',
    })
    expect((await change(tenant.admin, 'disableUser', id)).body.data.disableUser.status).toBe('disabled')
  })

  test('lists users by status', async () => {
    const tenant = await world.tenant()
    const [one, two] = [await tenant.user(['upload']), await tenant.user(['upload'])]
    await change(tenant.admin, 'disableUser', await idOf(one))
    const list = async (status?: string) =>
      (
        await tenant.admin.graphql(
          'query ($status: UserStatus) { users(status: $status) { data { email } pagination { totalItems } } }',
          { status },
        )
      ).body.data.users
    expect(await list()).toMatchObject({ data: [{ email: two.email }, { email: one.email }], pagination: { totalItems: 2 } })
    expect(await list('disabled')).toMatchObject({ data: [{ email: one.email }], pagination: { totalItems: 1 } })
    expect(graphqlCode(await one.graphql('{ users { pagination { page } } }'))).toBe('UNAUTHENTICATED')
  })
})

describe('what a user does', () => {
  test('by REST and by GraphQL is his, with his name and e-mail as they were', async () => {
    const tenant = await world.tenant()
    const user = await tenant.user(['admin'])
    const id = await idOf(user)
    const uploaded = async (name: string) =>
      dataOf(await user.upload('inbox', name, name), { status: 201, message: true, timestamp: false })
    dataOf(
      await user.post('/contexts', {
        context_key: 'inbox',
        display_name: 'In',
        allowed_extensions: ['txt'],
        max_file_size_mb: 1,
      }),
      { status: 201 },
    )
    const file = await uploaded('a.txt')
    const made = await user.graphql('mutation { createApiKey(input: { name: "K" }) { apiKeyId apiKey } }')
    await user.delete(`/files/${(await uploaded('b.txt')).file_id}`)
    const { apiKeyId } = made.body.data.createApiKey
    expect(dataOf(await user.get(`/api-keys/${apiKeyId}`)).created_by).toBe(id)

    const before = itemsOf(await tenant.admin.get('/audit-logs?page_size=100')).filter(
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
    const after = itemsOf(await tenant.admin.get('/audit-logs?page_size=100')).filter(
      (entry: Record<string, string>) => entry.performed_by_id === id,
    )
    expect(after).toEqual(before)
    expect(itemsOf(await user.get(`/files?uploaded_by=${id}`))).toMatchObject([
      { file_id: file.file_id, uploaded_by: id, uploaded_by_name: null },
    ])
    // Calls are what API keys do.
    expect(
      itemsOf(await user.get('/stats/logs')).filter((call: Record<string, string>) => call.operation !== 'metadata'),
    ).toEqual([])
  })
})

test('a suspended tenant: a clear 403 for keys, users, sign-in and signed URLs; resumed, all is as it was', async () => {
  const tenant = await world.tenant()
  await tenant.context('inbox')
  const { file_id: fileId } = dataOf(await tenant.admin.upload('inbox', 'a.txt', 'kept'), {
    status: 201,
    message: true,
    timestamp: false,
  })
  const user = await tenant.user(['metadata'])
  const { download_url: url } = dataOf(await tenant.admin.get(`/files/${fileId}`), { timestamp: false })
  const { tenants, identity } = world.app.services
  await tenants.suspend(tenant.tenantId)
  identity.forget('tenant', tenant.tenantId)
  for (const caller of [tenant.admin, user]) {
    const refused = await caller.get('/files')
    expect(refusal(refused)).toEqual([403, 'forbidden'])
    expect(refused.body.message).toMatch(/suspended/)
    expect(graphqlCode(await caller.graphql(me))).toBe('FORBIDDEN')
  }
  expect(graphqlCode(await world.stranger.graphql(signIn, { email: user.email, password: user.password }))).toBe('FORBIDDEN')
  expect(graphqlCode(await world.stranger.graphql(signIn, { email: user.email, password: 'wrong' }))).toBe('UNAUTHENTICATED')
  expect((await fetch(url)).status).toBe(403)
  await tenants.resume(tenant.tenantId)
  identity.forget('tenant', tenant.tenantId)
  for (const caller of [tenant.admin, user]) expect(itemsOf(await caller.get('/files'))).toHaveLength(1)
  expect(await (await fetch(url)).text()).toBe('kept')
  expect(
    itemsOf(await tenant.admin.get(`/audit-logs?entity_id=${tenant.tenantId}`)).map(
      (entry: Record<string, string>) => entry.action,
    ),
  ).toEqual(['enabled', 'disabled', 'created'])
  expect(itemsOf(await tenant.admin.get('/stats/logs?status=failure'))).toMatchObject([
    { operation: 'metadata', status: 'failure', error_message: expect.stringMatching(/suspended/) },
  ])
})

test('a tenant is deleted with all it owns, only when its name is typed again', async () => {
  const tenant = await world.tenant({ name: 'Doomed' })
  const bystander = await world.tenant()
  for (const { context, admin } of [tenant, bystander]) {
    await context('inbox')
    expect((await admin.upload('inbox', 'a.txt', 'a')).status).toBe(201)
  }
  const user = await tenant.user(['metadata'])
  const { tenants, identity } = world.app.services
  await expect(tenants.delete(tenant.tenantId, 'doomed')).rejects.toMatchObject({ code: 'conflict' })
  await expect(tenants.delete('ten_nonsense', 'Doomed')).rejects.toMatchObject({ code: 'not_found' })
  expect(await tenants.delete(tenant.tenantId, 'Doomed')).toEqual({ tenantId: tenant.tenantId, files: 1 })
  identity.forget('tenant', tenant.tenantId)
  for (const caller of [tenant.admin, user]) expect(refusal(await caller.get('/files'))).toEqual([401, 'unauthenticated'])
  expect(itemsOf(await bystander.admin.get('/files'))).toHaveLength(1)
  const { rows } = await world.database.pool.query<{ table: string }>(
    `SELECT table_name AS table FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'tenant_id'`,
  )
  for (const { table } of rows) {
    const left = await world.database.pool.query(`SELECT count(*) FROM ${table} WHERE tenant_id = $1`, [tenant.tenantId])
    expect([table, Number(left.rows[0].count)]).toEqual([table, 0])
  }
  const garbage = await world.database.pool.query("SELECT count(*) FROM blob_garbage WHERE blob_path LIKE $1 || '/%'", [
    tenant.tenantId,
  ])
  expect(Number(garbage.rows[0].count)).toBe(1)
})
