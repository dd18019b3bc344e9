import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type CryptoKey, exportSPKI, importJWK } from 'jose'
import { openIdentityProvider } from '../support/identity-provider.js'
import { anyId, getGraphqlCode, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type Caller, World } from '../support/world.js'

let provider: Awaited<ReturnType<typeof openIdentityProvider>>
let world: World
let custom: World
beforeAll(async () => {
  provider = await openIdentityProvider()
  world = await World.open(provider.env)
  custom = await World.open(
    {
      ...provider.env,
      JWT_TENANT_CLAIM: 'app.tenant',
      JWT_SCOPES_CLAIM: 'https://claims.example.com/roles',
      JWT_NAME_CLAIM: 'nick',
      JWT_EMAIL_CLAIM: 'mail',
    },
    world,
  )
})
afterAll(async () => {
  await custom?.close()
  await world?.close()
  await provider?.close()
})

const me = '{ me { id type tenantId name email scopes } }'
const queryMe = async (caller: Caller) => (await caller.graphql(me)).body.data?.me
const now = () => Math.floor(Date.now() / 1000)
const getStatus = async (token: string) => (await world.createCaller(token).get('/files')).status

describe('external tokens', () => {
  test.each(['RS256', 'ES256', 'EdDSA'] as const)(
    'creates a user only once for repeated external tokens signed with %s',
    async (alg) => {
      const tenant = await world.createTenant()
      const token = await provider.sign(
        { tenant_id: tenant.tenantId, sub: `ada ${alg}`, scope: 'openid metadata upload', name: 'Ada', email: 'Ada@Example.com' },
        { alg },
      )
      const caller = world.createCaller(token)
      // Many concurrent requests use a new token for the first time.
      const responses = await Promise.all(Array.from({ length: 8 }, () => caller.get('/files')))
      expect(responses.map((response) => response.status)).toEqual(Array(8).fill(200))
      const user = await queryMe(caller)
      expect(user).toEqual({
        id: anyId('usr'),
        type: 'user',
        tenantId: tenant.tenantId,
        name: 'Ada',
        email: 'ada@example.com',
        scopes: ['metadata', 'upload'],
      })
      const again = await provider.sign({ tenant_id: tenant.tenantId, sub: `ada ${alg}`, scope: 'metadata' }, { alg })
      expect(await queryMe(world.createCaller(again))).toMatchObject({ id: user.id, name: 'Ada', scopes: ['metadata'] })
      const created = getItems(await tenant.admin.get(`/audit-logs?entity_id=${user.id}`))
      expect(created).toMatchObject([
        {
          action: 'created',
          entity_type: 'user',
          performed_by_type: 'system',
          details: { issuer: provider.issuer, subject: `ada ${alg}` },
        },
      ])
    },
  )

  test('creates separate users for the same subject or email address in different tenants', async () => {
    const [one, two] = [await world.createTenant(), await world.createTenant()]
    const observed = await Promise.all(
      [one, two].map(async ({ tenantId }) =>
        queryMe(world.createCaller(await provider.sign({ tenant_id: tenantId, scope: 'metadata', email: 'a@b.c' }))),
      ),
    )
    expect(observed[0].id).not.toBe(observed[1].id)
    expect(observed.map(({ tenantId }) => tenantId)).toEqual([one.tenantId, two.tenantId])
    const other = await queryMe(
      world.createCaller(await provider.sign({ tenant_id: one.tenantId, sub: 'bob', scope: 'metadata', email: 'a@b.c' })),
    )
    expect(other.email).toBe(`bob@${provider.issuer}`)
  })

  test('accepts concurrent first requests from external users with the same email address', async () => {
    const { tenantId } = await world.createTenant()
    const tokens = await Promise.all(
      Array.from({ length: 6 }, (_, at) =>
        provider.sign({ tenant_id: tenantId, sub: `twin ${at}`, scope: 'metadata', email: 'same@example.com' }),
      ),
    )
    expect(await Promise.all(tokens.map(getStatus))).toEqual(Array(6).fill(200))
  })

  test("attributes actions performed with an external token to the token's user", async () => {
    const tenant = await world.createTenant()
    await tenant.createContext('inbox')
    const caller = world.createCaller(
      await provider.sign({ tenant_id: tenant.tenantId, scope: 'upload', name: 'Ada', email: 'ada@x.org' }),
    )
    expect((await caller.upload('inbox', 'a.txt', 'a')).status).toBe(201)
    const { id } = await queryMe(caller)
    expect(getItems(await tenant.admin.get('/files'))).toMatchObject([{ uploaded_by: id, uploaded_by_name: null }])
    expect(getItems(await tenant.admin.get('/audit-logs?audit_type=file'))).toMatchObject([
      { performed_by_id: id, performed_by_type: 'user', performed_by_name: 'Ada', performed_by_email: 'ada@x.org' },
    ])
  })

  test('rejects an external token for a disabled user or a suspended tenant', async () => {
    const tenant = await world.createTenant()
    const sign = () => provider.sign({ tenant_id: tenant.tenantId, scope: 'metadata', jti: String(Math.random()) })
    const caller = world.createCaller(await sign())
    const { id } = await queryMe(caller)
    await tenant.admin.graphql('mutation ($id: ID!) { disableUser(userId: $id) { status } }', { id })
    for (const token of [caller.credential!, await sign()]) expect(await getStatus(token)).toBe(401)
    await tenant.admin.graphql('mutation ($id: ID!) { enableUser(userId: $id) { status } }', { id })
    expect(await getStatus(caller.credential!)).toBe(200)
    await world.app.services.tenants.suspend(tenant.tenantId)
    world.app.services.identity.forget('tenant', tenant.tenantId)
    expect(toStatusAndCode(await caller.get('/files'))).toEqual([403, 'forbidden'])
  })

  test('preserves the assigned scopes of a user whose external token has no scopes claim', async () => {
    const tenant = await world.createTenant()
    const caller = world.createCaller(await provider.sign({ tenant_id: tenant.tenantId }))
    const { id, scopes } = await queryMe(caller)
    expect(scopes).toEqual([])
    await tenant.admin.graphql('mutation ($id: ID!) { updateUser(userId: $id, input: { scopes: [metadata] }) { userId } }', {
      id,
    })
    expect((await caller.get('/files')).status).toBe(200)
    // Claims in a token replace the user's stored values.
    const less = world.createCaller(await provider.sign({ tenant_id: tenant.tenantId, scope: 'openid' }))
    expect(toStatusAndCode(await less.get('/files'))).toEqual([403, 'forbidden'])
  })

  test('creates an external user without a password or session in the service', async () => {
    const tenant = await world.createTenant()
    const caller = world.createCaller(
      await provider.sign({ tenant_id: tenant.tenantId, scope: 'admin', email: 'pw@example.com' }),
    )
    expect((await caller.graphql('mutation { signOut }')).body.data.signOut).toBe(false)
    expect(
      getGraphqlCode(await caller.graphql('mutation { changePassword(currentPassword: "x", newPassword: "a new password") }')),
    ).toBe('FORBIDDEN')
    const signIn = await world.unauthenticated.graphql(
      'mutation { signIn(email: "pw@example.com", password: "a new password") { token } }',
    )
    expect(getGraphqlCode(signIn)).toBe('UNAUTHENTICATED')
  })
})

describe('configured claim names', () => {
  test('reads claims from an external token by their configured names and paths', async () => {
    const tenant = await world.createTenant()
    const token = await provider.sign({
      app: { tenant: tenant.tenantId },
      'https://claims.example.com/roles': ['metadata', 'something else'],
      nick: 'Countess',
      mail: 'countess@example.com',
      sub: 'custom',
    })
    expect(await queryMe(custom.createCaller(token))).toMatchObject({
      tenantId: tenant.tenantId,
      name: 'Countess',
      email: 'countess@example.com',
      scopes: ['metadata'],
    })
    expect(await getStatus(token)).toBe(401)
  })
})

describe('invalid external tokens', () => {
  let tenantId: string
  const usual = () => ({ tenant_id: tenantId, scope: 'metadata' })
  beforeAll(async () => {
    ;({ tenantId } = await world.createTenant())
  })

  test('allows a clock skew of at most 60 seconds for external tokens', async () => {
    expect(await getStatus(await provider.sign({ ...usual(), exp: now() - 55 }))).toBe(200)
    expect(await getStatus(await provider.sign({ ...usual(), exp: now() - 65 }))).toBe(401)
    expect(await getStatus(await provider.sign({ ...usual(), nbf: now() + 55 }))).toBe(200)
    expect(await getStatus(await provider.sign({ ...usual(), nbf: now() + 65 }))).toBe(401)
  })

  test.each([
    ['another issuer', { iss: 'https://evil.example.com/' }],
    ['another audience', { aud: 'someone-else' }],
    ['no audience', { aud: undefined }],
    ['no expiry', { exp: undefined }],
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: ' ' }],
    ['no tenant', { tenant_id: undefined }],
    ['an unknown tenant', { tenant_id: 'ten_00000000000000000000000000' }],
    ['a tenant that is not an id', { tenant_id: "ten_' OR true --" }],
    ['a tenant that is a list', { tenant_id: ['ten_00000000000000000000000000'] }],
    ['a NUL in the subject', { sub: 'a\0b' }],
    ['half a surrogate pair in the subject', { sub: 'a\ud800' }],
    ['a subject that is an object', { sub: { a: 1 } }],
  ])('rejects an external token with %s', async (_what, claims) => {
    const rejected = await world.createCaller(await provider.sign({ ...usual(), ...claims } as never)).get('/files')
    expect(toStatusAndCode(rejected)).toEqual([401, 'unauthenticated'])
  })

  test('ignores a claimed name or email address that contains a NUL character', async () => {
    const caller = world.createCaller(await provider.sign({ ...usual(), sub: 'nul', name: 'A\0', email: 'a\0@b.c' }))
    expect(await queryMe(caller)).toMatchObject({ name: 'nul', email: `nul@${provider.issuer}` })
  })

  test('rejects an external token without a valid signature', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const payload = part({ iss: provider.issuer, aud: provider.audience, sub: 'ada', exp: now() + 60, ...usual() })
    const { jwk, kid } = provider.keys.RS256
    const spki = await exportSPKI((await importJWK({ ...jwk, ext: true }, 'RS256')) as CryptoKey)
    const forged = [
      `${part({ alg: 'none' })}.${payload}.`,
      `${part({ alg: 'None', kid })}.${payload}.AAAA`,
      ...[spki, spki.trim(), JSON.stringify(jwk), jwk.n!].map((secret) => {
        const head = `${part({ alg: 'HS256', kid, typ: 'JWT' })}.${payload}`
        return `${head}.${createHmac('sha256', secret).update(head).digest('base64url')}`
      }),
      await provider.sign(usual(), { kid: 'made up' }),
      await provider.sign(usual(), { alg: 'RS256', kid: provider.keys.ES256.kid }),
    ]
    for (const token of forged)
      expect(toStatusAndCode(await world.createCaller(token).get('/files'))).toEqual([401, 'unauthenticated'])
    const requested = provider.state.requests
    for (let time = 0; time < 20; time++)
      expect(await getStatus(await provider.sign(usual(), { kid: `made up ${time}` }))).toBe(401)
    expect(provider.state.requests - requested).toBeLessThanOrEqual(1)
  })
})

test('accepts cached tokens while the provider is unavailable, but returns 503 for other tokens', async () => {
  provider.state.down = true
  const second = await World.open(provider.env, world)
  try {
    const { tenantId } = await world.createTenant()
    const token = await provider.sign({ tenant_id: tenantId, scope: 'metadata' })
    expect(await getStatus(token)).toBe(200)
    const caller = second.createCaller(token)
    expect(toStatusAndCode(await caller.get('/files'))).toEqual([503, 'overloaded'])
    provider.state.down = false
    expect((await caller.get('/files')).status).toBe(200)
  } finally {
    provider.state.down = false
    await second.close()
  }
})
