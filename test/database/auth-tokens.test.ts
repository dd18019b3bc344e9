import { createPrivateKey, createPublicKey, generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { decodeJwt, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import type { Identity } from '../../src/access/identity.js'
import { openIdentityWorld, origin, waitUntil } from '../support/identity-world.js'

let world: Awaited<ReturnType<typeof openIdentityWorld>>
let here: Identity
let tenantId: string

beforeAll(async () => {
  world = await openIdentityWorld()
  tenantId = await world.createTenant()
  // A configured provider must not affect service tokens.
  const outside = { issuer: 'https://id.example.com', audience: 'files', jwksUrl: new URL('http://127.0.0.1:1/jwks') }
  here = await world.openReplica({ outside: { ...outside, findOrCreateUser: async () => null } })
})
afterAll(() => world.close())

const authenticate = (identity: Identity, token: string) => identity.authenticate(['Authorization', `Bearer ${token}`], origin)
const now = () => Math.floor(Date.now() / 1000)

async function signedIn(identity = here, tenant = tenantId) {
  const user = await world.startSession(tenant)
  return { ...user, ...(await identity.sessions.issue(user, user.sessionId)) }
}

describe('password sign-in and token keys', () => {
  test('returns a twelve-hour token that authenticates the user', async () => {
    const { token, expiresAt, userId, sessionId } = await signedIn()
    expect(Math.round((expiresAt.getTime() - Date.now()) / 3_600_000)).toBe(12)
    expect(await authenticate(here, token)).toEqual({
      outcome: 'actor',
      actor: {
        tenantId,
        kind: 'user',
        id: userId,
        name: 'Uma',
        email: `${userId}@example.com`,
        scopes: ['metadata'],
        contexts: null,
        sessionId,
        issuer: 'assay',
        ...origin,
      },
    })
  })

  test('accepts a session on every replica until one of them revokes it', async () => {
    const there = await world.openReplica()
    const { token, sessionId } = await signedIn()
    await waitUntil(() => there.listener.isTrusted())
    expect(await authenticate(there, token)).toMatchObject({ outcome: 'actor' })
    await world.changeAndNotify('session', sessionId, 'update sessions set revoked_at = now() where session_id = $1')
    here.forget('session', sessionId)
    expect(await authenticate(here, token)).toMatchObject({
      outcome: 'rejected',
      message: 'This session has ended. Sign in again.',
    })
    await waitUntil(async () => (await authenticate(there, token)).outcome === 'rejected')
  })

  test('rejects the session of a disabled user or suspended tenant', async () => {
    const tenant = await world.createTenant()
    const { token, userId } = await signedIn(here, tenant)
    await authenticate(here, token)
    await world.changeAndNotify('user', userId, "update users set status = 'disabled' where user_id = $1")
    here.forget('user', userId)
    expect(await authenticate(here, token)).toMatchObject({
      outcome: 'rejected',
      message: 'This user is disabled. Ask an admin to enable the user.',
    })
    await world.changeAndNotify('tenant', tenant, "update tenants set status = 'suspended' where tenant_id = $1")
    here.forget('tenant', tenant)
    expect(await authenticate(here, token)).toMatchObject({ outcome: 'forbidden' })
  })

  test('publishes only the public parts of session keys', async () => {
    const { token } = await signedIn()
    await here.signing.session.rotate()
    const after = await signedIn()
    here.forget('signing_key', '')
    expect(await authenticate(here, token)).toMatchObject({ outcome: 'actor' })
    expect(await authenticate(here, after.token)).toMatchObject({ outcome: 'actor' })
    const ofSessions = async () => (await here.signing.session.getAllKeys()).map(({ id }) => id)
    const { keys } = await here.getJwks()
    expect(keys.map(({ kid }) => kid)).toEqual(expect.arrayContaining(await ofSessions()))
    expect((await ofSessions()).length).toBe(2)
    for (const key of keys) expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x'])
    await here.signing.session.rotate({ leaked: true })
    here.forget('signing_key', '')
    expect(await authenticate(here, token)).toMatchObject({
      outcome: 'rejected',
      message: 'This token was signed with an unknown key.',
    })
    expect((await ofSessions()).length).toBe(1)
  })

  test('continues to publish rotated receipt and log keys unless they are marked as leaked', async () => {
    for (const purpose of ['receipt', 'log'] as const) {
      const keys = here.signing[purpose]
      const kidsAfter = async (leaked: boolean) => {
        const old = (await keys.getCurrentKey()).id
        await keys.rotate({ leaked })
        const published = (await here.getJwks()).keys.map(({ kid }) => kid)
        expect(published).toContain((await keys.getCurrentKey()).id)
        return published.includes(old)
      }
      expect(await kidsAfter(false)).toBe(true)
      expect(await kidsAfter(true)).toBe(false)
      const row = 'select expires_at from signing_keys where purpose = $1 and retired_at is null'
      expect((await world.pool.query(row, [purpose])).rows).toEqual([{ expires_at: null }])
    }
  })

  test('rejects a token signed with a receipt key', async () => {
    const { token } = await signedIn()
    const { id, secret } = await here.signing.receipt.getCurrentKey()
    const stolen = await new SignJWT(decodeJwt(token))
      .setProtectedHeader({ alg: 'EdDSA', kid: id, typ: 'JWT' })
      .sign(createPrivateKey({ key: secret, format: 'der', type: 'pkcs8' }))
    expect(await authenticate(here, stolen)).toMatchObject({ message: 'This token was signed with an unknown key.' })
  })

  test('accepts a token that is signed with a new key from another replica', async () => {
    const there = await world.openReplica()
    await authenticate(there, (await signedIn()).token)
    await here.signing.session.rotate()
    const { token } = await signedIn()
    await waitUntil(async () => (await authenticate(there, token)).outcome === 'actor')
  })
})

describe('forged service tokens', () => {
  const claims = (user: { userId: string; sessionId: string }) => ({
    sid: user.sessionId,
    tid: tenantId,
    sub: user.userId,
    iss: 'assay',
    aud: 'assay',
  })
  const forged = async (change: JWTPayload, header: { alg: string; kid?: string } | undefined, key?: KeyObject | Uint8Array) => {
    const user = await world.startSession(tenantId)
    const current = await here.signing.session.getCurrentKey()
    const payload = { ...claims(user), iat: now(), exp: now() + 600, ...change }
    for (const [name, value] of Object.entries(payload)) if (value === undefined) delete (payload as JWTPayload)[name]
    const own = { key: current.secret, format: 'der', type: 'pkcs8' } as const
    return new SignJWT(payload)
      .setProtectedHeader({ typ: 'JWT', ...(header ?? { alg: 'EdDSA', kid: current.id }) })
      .sign(key ?? createPrivateKey(own))
  }

  test('accepts the original token from which the forged tokens are derived', async () => {
    expect(await authenticate(here, await forged({}, undefined))).toMatchObject({ outcome: 'actor' })
  })

  test.each([
    ['that has expired', { exp: now() - 1 }, 'This token has expired.'],
    ['without an expiry', { exp: undefined }, "The token's 'exp' claim is missing or invalid."],
    ['that is not valid yet', { nbf: now() + 600 }, 'This token is not valid yet.'],
    ['for another audience', { aud: 'files' }, 'This token was issued for another audience.'],
    ['of another issuer', { iss: 'https://elsewhere' }, 'The issuer of this token is not accepted.'],
    ['of another user', { sub: 'usr_someone' }, "The token's claims do not match its session. Sign in again."],
    ['of another tenant', { tid: 'ten_another' }, "The token's claims do not match its session. Sign in again."],
    ['without a session', { sid: 'ses_00000000000000000000000000' }, 'This session has ended. Sign in again.'],
    ['whose session is not an id', { sid: { $ne: null } }, 'This session has ended. Sign in again.'],
  ])('rejects a forged token %s', async (_, change, message) => {
    expect(await authenticate(here, await forged(change as JWTPayload, undefined))).toMatchObject({
      outcome: 'rejected',
      message,
    })
  })

  test('rejects a token with alg none', async () => {
    const user = await world.startSession(tenantId)
    const token = new UnsecuredJWT(claims(user)).setExpirationTime('1h').encode()
    expect(await authenticate(here, token)).toMatchObject({ outcome: 'rejected' })
    const [, payload] = token.split('.')
    for (const alg of ['none', 'None', 'NONE', '']) {
      const header = Buffer.from(JSON.stringify({ alg, kid: (await here.signing.session.getCurrentKey()).id })).toString(
        'base64url',
      )
      expect(await authenticate(here, `${header}.${payload}.x`)).toMatchObject({ outcome: 'rejected' })
    }
  })

  test('rejects an HS256 token that uses any form of the public key as the secret', async () => {
    const { id, publicJwk } = await here.signing.session.getCurrentKey()
    const publicKey = createPublicKey({ key: publicJwk as JsonWebKey, format: 'jwk' })
    const forms = [
      publicKey.export({ format: 'pem', type: 'spki' }) as string,
      publicKey.export({ format: 'der', type: 'spki' }),
      Buffer.from(String(publicJwk!.x), 'base64url'),
      JSON.stringify(publicJwk),
    ]
    for (const form of forms) {
      const token = await forged({}, { alg: 'HS256', kid: id }, Buffer.from(form))
      expect(await authenticate(here, token)).toMatchObject({
        outcome: 'rejected',
        message: 'This token is signed with an unsupported algorithm.',
      })
    }
  })

  test('rejects a token signed with an untrusted key, regardless of its key id', async () => {
    const mine = generateKeyPairSync('ed25519').privateKey
    const { id } = await here.signing.session.getCurrentKey()
    const unknown = { outcome: 'rejected', message: 'This token was signed with an unknown key.' }
    expect(
      await authenticate(here, await forged({}, { alg: 'EdDSA', kid: 'sig_00000000000000000000000000' }, mine)),
    ).toMatchObject(unknown)
    expect(await authenticate(here, await forged({}, { alg: 'EdDSA', kid: "' or true --" }, mine))).toMatchObject(unknown)
    expect(await authenticate(here, await forged({}, { alg: 'EdDSA' }, mine))).toMatchObject(unknown)
    const wrong = { outcome: 'rejected', message: "The token's signature is invalid." }
    expect(await authenticate(here, await forged({}, { alg: 'EdDSA', kid: id }, mine))).toMatchObject(wrong)
  })

  test('rejects a token that names a key for another purpose', async () => {
    const { id } = await here.signing.download_url.getCurrentKey()
    const mine = generateKeyPairSync('ed25519').privateKey
    expect(await authenticate(here, await forged({}, { alg: 'EdDSA', kid: id }, mine))).toMatchObject({
      message: expect.stringContaining('unknown key'),
    })
  })

  test('rejects a 100 KB token and malformed tokens', async () => {
    const before = world.queries.count
    expect(await authenticate(here, await forged({ junk: 'x'.repeat(100_000) }, undefined))).toMatchObject({
      outcome: 'rejected',
    })
    for (const junk of [
      'a.b.c',
      '..',
      'e30.e30.',
      'e30.bnVsbA.x',
      `${Buffer.from('null').toString('base64url')}.e30.x`,
      '.'.repeat(8000),
    ]) {
      expect(await authenticate(here, junk)).toMatchObject({ outcome: 'rejected' })
    }
    expect(world.queries.count).toBe(before)
  })
})
