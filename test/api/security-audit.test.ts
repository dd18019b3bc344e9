import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { waitUntil } from '../support/identity-world.js'
import { getItems } from '../support/response-assertions.js'
import { Caller, type TestTenant, World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open({ RATE_LIMIT_PER_MINUTE: '60' })
})
afterAll(() => world.close())

const listSecurityEntries = async (tenant: TestTenant) =>
  getItems(await tenant.admin.get('/audit-logs?audit_type=security&page_size=100'))
/** Polls the database because entries are written after the response and requests are rate-limited. */
async function waitForEntry(tenant: TestTenant, reason: string) {
  const written = `SELECT FROM audit_logs WHERE tenant_id = $1 AND audit_type = 'security' AND details->>'reason' = $2`
  await waitUntil(async () => (await world.database.pool.query(written, [tenant.tenantId, reason])).rowCount !== 0)
  return (await listSecurityEntries(tenant)).find(({ details }: { details: { reason: string } }) => details.reason === reason)
}

test('audits failed sign-ins, including the IP address, at most once a minute', async () => {
  const tenant = await world.createTenant()
  const user = await tenant.createUser(['metadata'])
  const signIn = (password: string) =>
    world.unauthenticated.graphql('mutation ($e: String!, $p: String!) { signIn(email: $e, password: $p) { token } }', {
      e: user.email,
      p: password,
    })
  for (let time = 0; time < 5; time++) await signIn('not-the-password')
  const entry = await waitForEntry(tenant, 'sign_in_failed')
  const { userId } = (await user.graphql('{ me { userId } }')).body.data.me
  expect(entry).toMatchObject({
    audit_type: 'security',
    action: 'created',
    entity_type: 'security',
    entity_id: userId,
    entity_name: 'Ada',
    performed_by_type: 'system',
    details: { reason: 'sign_in_failed', message: 'The password is wrong.' },
    ip_address: '127.0.0.1',
  })
  expect(JSON.stringify(await listSecurityEntries(tenant))).not.toContain('not-the-password')
  expect(await listSecurityEntries(tenant)).toHaveLength(1)
})

test('attributes a rejected request to its API key, whether the key lacks a scope or is disabled', async () => {
  const tenant = await world.createTenant()
  const key = await tenant.createKey(['upload'])
  expect((await key.get('/files')).status).toBe(403)
  expect(await waitForEntry(tenant, 'scope_refused')).toMatchObject({
    entity_id: key.id,
    performed_by_id: key.id,
    performed_by_type: 'api_key',
    performed_by_scopes: ['upload'],
    details: { message: "This credential lacks the scope 'metadata'. Use a credential that has it." },
  })
  await tenant.admin.post(`/api-keys/${key.id}/disable`)
  expect((await key.get('/files')).status).toBe(401)
  expect(await waitForEntry(tenant, 'credential_refused')).toMatchObject({
    entity_id: key.id,
    details: { message: 'This API key is disabled. Use an active API key.' },
  })
})

describe('rejected tokens', () => {
  const getRejections = async () =>
    [...(await world.unauthenticated.raw('/metrics')).body.matchAll(/assay_refused_credentials_total\{reason="(\w+)"\}/g)].map(
      ([, reason]) => reason,
    )
  const forged = (token: string) => `${token.slice(0, -8)}${token.at(-8) === 'A' ? 'B' : 'A'}${token.slice(-7)}`
  const withClaims = (token: string, claims: object) => {
    const [head, , signature] = token.split('.')
    return [head, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.')
  }
  const expectRejected = async (token: string) => expect((await new Caller(world.url, token).get('/files')).status).toBe(401)

  test("attributes a rejected token from an ended session to the session's user", async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    const { userId } = (await user.graphql('{ me { userId } }')).body.data.me
    await user.graphql('mutation { signOut }')
    for (let times = 0; times < 3; times++) await expectRejected(user.credential!)
    expect(await waitForEntry(tenant, 'credential_refused')).toMatchObject({
      entity_id: userId,
      performed_by_id: userId,
      performed_by_type: 'user',
      details: { message: 'This session has ended. Sign in again.' },
    })
    expect(await listSecurityEntries(tenant)).toHaveLength(1)
    expect(await getRejections()).toContain('session_ended')
  })

  test('audits a rejected token that belongs to a disabled user', async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    const { userId } = (await user.graphql('{ me { userId } }')).body.data.me
    await tenant.admin.graphql('mutation ($id: ID!) { disableUser(userId: $id) { userId } }', { id: userId })
    await expectRejected(user.credential!)
    expect(await waitForEntry(tenant, 'credential_refused')).toMatchObject({ entity_id: userId, performed_by_id: userId })
  })

  test('audits a rejected token that belongs to an expired session', async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    const { userId } = (await user.graphql('{ me { userId } }')).body.data.me
    await world.database.pool.query("UPDATE sessions SET expires_at = now() - interval '1 second' WHERE user_id = $1", [userId])
    world.app.services.identity.forget('user', userId)
    await expectRejected(user.credential!)
    expect(await waitForEntry(tenant, 'credential_refused')).toMatchObject({ entity_id: userId, performed_by_id: userId })
  })

  test('audits a forged token that names a session, but does not attribute it to the user', async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    const { userId } = (await user.graphql('{ me { userId } }')).body.data.me
    await expectRejected(forged(user.credential!))
    expect(await waitForEntry(tenant, 'credential_refused')).toMatchObject({
      entity_id: userId,
      performed_by_id: 'system',
      details: { message: "The token's signature is invalid." },
    })
    expect(await getRejections()).toContain('token_signature')
  })

  test("if a token names another tenant, records it only in the audit log of the session's tenant", async () => {
    const [tenant, other] = [await world.createTenant(), await world.createTenant()]
    const user = await tenant.createUser(['metadata'])
    const claims = JSON.parse(Buffer.from(user.credential!.split('.')[1]!, 'base64url').toString())
    await expectRejected(withClaims(user.credential!, { ...claims, tid: other.tenantId }))
    await waitForEntry(tenant, 'credential_refused')
    await expectRejected(withClaims(user.credential!, { ...claims, tid: other.tenantId, sid: 'ses_00000000000000000000000000' }))
    expect(await listSecurityEntries(other)).toEqual([])
  })
})

test('audits the first request above a limit and counts all rejections by reason', async () => {
  const tenant = await world.createTenant()
  const key = await tenant.createKey(['metadata'])
  const statuses: number[] = []
  // Sends more calls than one rate limit window allows, even if a minute ends in the meantime.
  for (let call = 0; call < 125; call++) statuses.push((await key.get('/files')).status)
  expect(statuses).toContain(429)
  expect(await waitForEntry(tenant, 'limit_reached')).toMatchObject({ entity_id: key.id, performed_by_id: key.id })
  const { body } = await world.unauthenticated.raw('/metrics')
  for (const reason of ['sign_in_failed', 'scope_refused', 'credential_refused', 'limit_reached'])
    expect(body).toMatch(new RegExp(`assay_security_events_total\\{reason="${reason}"\\} [1-9]`))
})
