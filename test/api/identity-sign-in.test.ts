import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { Passwords } from '../../src/access/passwords.js'
import { anyId, anyTimestamp, getGraphqlCode, getItems, toStatusAndCode } from '../support/response-assertions.js'
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
const listAudits = async (tenant: TestTenant, entityId: string) =>
  getItems(await tenant.admin.get(`/audit-logs?entity_id=${entityId}`))

describe('sign-in', () => {
  test('starts a twelve-hour session over REST and GraphQL and audits the sign-in', async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata', 'admin'])
    const { body } = await world.unauthenticated.graphql(signIn, { email: user.email.toUpperCase(), password: user.password })
    const { token, expiresAt, user: who } = body.data.signIn
    expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(43_100_000)
    expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(43_201_000)
    expect(who).toMatchObject({ userId: anyId('usr'), email: user.email, name: 'Ada', status: 'active' })
    const caller = world.createCaller(token)
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
    const sessions = getItems(await caller.get('/audit-logs?action=created&audit_type=tenant')).filter(
      (entry: Record<string, string>) => entry.entity_type === 'session',
    )
    expect(sessions[0]).toMatchObject({
      performed_by_id: who.userId,
      performed_by_type: 'user',
      performed_by_email: user.email,
      details: { user_id: who.userId },
      ip_address: '127.0.0.1',
      created_at: anyTimestamp,
    })
  })

  test('does not reveal whether a sign-in failed because of the email address or the password', async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    const wrong = await world.unauthenticated.graphql(signIn, { email: user.email, password: 'not this one' })
    const unknown = await world.unauthenticated.graphql(signIn, { email: 'nobody@example.com', password: 'not this one' })
    expect(getGraphqlCode(wrong)).toBe('UNAUTHENTICATED')
    expect(unknown.body).toEqual(wrong.body)
  })

  test('uses a similar amount of CPU time for sign-in attempts with known and unknown accounts', async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    await world.database.pool.query(
      "INSERT INTO users (user_id, tenant_id, email, name, scopes, issuer, subject, created_at, updated_at) VALUES ('usr_00000000000000000000000000', $1, 'outside@example.com', 'O', '{}', 'i', 's', now(), now())",
      [tenant.tenantId],
    )
    for (let tenants = 0; tenants < 8; tenants++) await (await world.createTenant()).createUser(['metadata'], 'many@example.com')
    const worked = async (email: string) => {
      const before = process.cpuUsage()
      await world.unauthenticated.graphql(signIn, { email, password: 'not this one' })
      const { user: spent, system } = process.cpuUsage(before)
      return spent + system
    }
    await worked('warm@example.com')
    const emails = [user.email, 'nobody@example.com', 'outside@example.com', 'many@example.com']
    // Compares minimum durations because other load only adds time.
    const least = emails.map(() => Number.POSITIVE_INFINITY)
    for (let round = 0; round < 5; round++)
      for (const [at, email] of emails.entries()) least[at] = Math.min(least[at]!, await worked(email))
    const [wrong, ...others] = least
    for (const other of others) {
      // Password hashing takes nearly all of the time, so skipping it would reduce the duration to below a tenth.
      expect(other).toBeGreaterThan(wrong! / 3)
      expect(other).toBeLessThan(wrong! * 3)
    }
  })

  test('signs in to the correct tenant if two tenants have a user with the same email address', async () => {
    const [one, two] = [await world.createTenant(), await world.createTenant()]
    const email = 'both@example.com'
    const [first, second] = [await one.createUser(['metadata'], email), await two.createUser(['metadata'], email)]
    for (const [tenant, { password }] of [
      [one, first],
      [two, second],
    ] as const) {
      const { body } = await world.unauthenticated.graphql(signIn, { email, password })
      expect((await world.createCaller(body.data.signIn.token).graphql(me)).body.data.me.tenantId).toBe(tenant.tenantId)
      const other = tenant === one ? two : one
      expect(getGraphqlCode(await world.unauthenticated.graphql(signIn, { email, password, tenantId: other.tenantId }))).toBe(
        'UNAUTHENTICATED',
      )
    }
  })

  test("accepts each account's own password even though accounts with the same email address share a salt", async () => {
    const email = 'everywhere@example.com'
    const tenants = await Promise.all(Array.from({ length: 8 }, () => world.createTenant()))
    const users: (Caller & { password: string })[] = []
    for (const tenant of tenants) users.push(await tenant.createUser(['metadata'], email))
    const { rows } = await world.database.pool.query('SELECT password_hash FROM users WHERE email = $1', [email])
    const hashes = rows.map((row) => row.password_hash as string)
    expect(new Set(hashes.map((each) => each.split('$')[4])).size).toBe(1)
    expect(new Set(hashes).size).toBe(8)
    const { body } = await world.unauthenticated.graphql(signIn, { email, password: users[5]!.password })
    expect((await world.createCaller(body.data.signIn.token).graphql(me)).body.data.me.tenantId).toBe(tenants[5]!.tenantId)
  })

  test('rehashes the passwords of accounts with the same email address so that they share one salt', async () => {
    const email = 'moved@example.com'
    const [one, two] = [await world.createTenant(), await world.createTenant()]
    await one.createUser(['metadata'], email)
    const { id, password } = await two
      .createUser(['metadata'], email)
      .then(async (user) => ({ id: await getUserId(user), password: user.password }))
    await world.database.pool.query('UPDATE users SET password_hash = $2 WHERE user_id = $1', [
      id,
      await new Passwords().hash(password),
    ])
    const salts = async () =>
      new Set(
        (await world.database.pool.query('SELECT password_hash FROM users WHERE email = $1', [email])).rows.map(
          (row) => row.password_hash.split('$')[4],
        ),
      ).size
    expect(await salts()).toBe(2)
    expect(getGraphqlCode(await world.unauthenticated.graphql(signIn, { email, password }))).toBeUndefined()
    expect(await salts()).toBe(1)
    expect(getGraphqlCode(await world.unauthenticated.graphql(signIn, { email, password }))).toBeUndefined()
  })

  test('neither locks out a user nor reveals an account after wrong passwords', async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    for (const email of [user.email, 'ghost@example.com']) {
      const codes: (string | undefined)[] = []
      for (let time = 0; time < 12; time++)
        codes.push(getGraphqlCode(await world.unauthenticated.graphql(signIn, { email, password: 'wrong' })))
      expect(codes).toEqual(Array(12).fill('UNAUTHENTICATED'))
    }
    expect(
      getGraphqlCode(await world.unauthenticated.graphql(signIn, { email: user.email, password: user.password })),
    ).toBeUndefined()
    expect((await user.get('/files')).status).toBe(200)
  })
})

describe('user sessions', () => {
  test('ends only the current session at sign-out', async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    const { body } = await world.unauthenticated.graphql(signIn, { email: user.email, password: user.password })
    const other = world.createCaller(body.data.signIn.token)
    expect((await user.graphql('mutation { signOut }')).body.data.signOut).toBe(true)
    expect(toStatusAndCode(await user.get('/files'))).toEqual([401, 'unauthenticated'])
    expect(getGraphqlCode(await user.graphql(me))).toBe('UNAUTHENTICATED')
    expect((await other.get('/files')).status).toBe(200)
    const entries = getItems(await tenant.admin.get('/audit-logs?action=revoked'))
    expect(entries).toMatchObject([{ entity_type: 'session', performed_by_type: 'user', performed_by_email: user.email }])
    expect((await tenant.admin.graphql('mutation { signOut }')).body.data.signOut).toBe(false)
  })

  test('ends all other sessions of a user who changes their password', async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    const { body } = await world.unauthenticated.graphql(signIn, { email: user.email, password: user.password })
    const other = world.createCaller(body.data.signIn.token)
    const changePassword = (by: Caller, currentPassword: string, newPassword: string) =>
      by.graphql('mutation ($a: String!, $b: String!) { changePassword(currentPassword: $a, newPassword: $b) }', {
        a: currentPassword,
        b: newPassword,
      })
    expect(getGraphqlCode(await changePassword(user, 'wrong', 'a new password'))).toBe('FORBIDDEN')
    expect(getGraphqlCode(await changePassword(user, user.password, 'short'))).toBe('BAD_USER_INPUT')
    expect(getGraphqlCode(await changePassword(tenant.admin, 'x', 'a new password'))).toBe('FORBIDDEN')
    expect((await changePassword(user, user.password, 'a new password')).body.data.changePassword).toBe(true)
    expect((await user.get('/files')).status).toBe(200)
    expect(toStatusAndCode(await other.get('/files'))).toEqual([401, 'unauthenticated'])
    expect(getGraphqlCode(await world.unauthenticated.graphql(signIn, { email: user.email, password: user.password }))).toBe(
      'UNAUTHENTICATED',
    )
    expect(
      getGraphqlCode(await world.unauthenticated.graphql(signIn, { email: user.email, password: 'a new password' })),
    ).toBeUndefined()
    const entries = await listAudits(tenant, `${await getUserId(user)}&audit_type=tenant`)
    expect(entries[0]).toMatchObject({ action: 'updated', entity_type: 'user', details: { changed: { password: true } } })
    expect(JSON.stringify(entries)).not.toContain('a new password')
  })

  test('ends a session that starts with the old password while the password is being changed', async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    const attempts = Array.from({ length: 8 }, () =>
      world.unauthenticated.graphql(signIn, { email: user.email, password: user.password }),
    )
    const changed = await user.graphql(
      'mutation ($a: String!) { changePassword(currentPassword: $a, newPassword: "a new password") }',
      {
        a: user.password,
      },
    )
    expect(changed.body.data.changePassword).toBe(true)
    for (const attempt of await Promise.all(attempts)) {
      const token = attempt.body.data?.signIn?.token
      if (token) expect((await world.createCaller(token).get('/files')).status).toBe(401)
      else expect(getGraphqlCode(attempt)).toBe('UNAUTHENTICATED')
    }
    expect((await user.get('/files')).status).toBe(200)
  })

  test('publishes session keys and rotates them without ending sessions', async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    const published = async () =>
      (await world.unauthenticated.raw('/.well-known/jwks.json')).body as { keys: Record<string, string>[] }
    const before = await published()
    for (const key of before.keys) expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x'])
    const verify = async (token: string) =>
      (await jwtVerify(token, createLocalJWKSet(await published()), { issuer: 'assay', audience: 'assay' })).protectedHeader
    expect(await verify(user.credential!)).toMatchObject({ alg: 'EdDSA', kid: before.keys[0]!.kid })
    const kid = await world.app.services.identity.signing.session.rotate()
    expect((await published()).keys.map((key) => key.kid)).toEqual([kid, ...before.keys.map((key) => key.kid)])
    expect((await user.get('/files')).status).toBe(200)
    const { body } = await world.unauthenticated.graphql(signIn, { email: user.email, password: user.password })
    expect(await verify(body.data.signIn.token)).toMatchObject({ kid })
    expect(await verify(user.credential!)).toMatchObject({ kid: before.keys[0]!.kid })
  })

  test('ends a session at the expiry time stored in the database', async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    await world.database.pool.query("UPDATE sessions SET expires_at = now() - interval '1 second' WHERE user_id = $1", [
      await getUserId(user),
    ])
    world.app.services.identity.tokens.clear()
    expect(toStatusAndCode(await user.get('/files'))).toEqual([401, 'unauthenticated'])
  })
})
