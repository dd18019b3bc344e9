import { createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { exportJWK, type JWTPayload, SignJWT } from 'jose'
import { ExternalTokens, type ExternalUserClaims } from '../../src/access/external-tokens.js'
import type { Identity } from '../../src/access/identity.js'
import { openIdentityWorld, origin, waitUntil } from '../support/identity-world.js'

let world: Awaited<ReturnType<typeof openIdentityWorld>>
let here: Identity
let tenantId: string
let provider: Awaited<ReturnType<typeof openProvider>>
const firstSights: ExternalUserClaims[] = []

beforeAll(async () => {
  world = await openIdentityWorld()
  provider = await openProvider()
  tenantId = await world.createTenant()
  const findOrCreateUser = async (facts: ExternalUserClaims) => {
    firstSights.push(facts)
    if (facts.tenantId !== tenantId) return null
    const { subject, scopes, email, name } = facts
    return {
      userId: `usr_${subject}`,
      tenantId,
      name: name ?? subject,
      email: email ?? '',
      scopes: scopes ?? [],
      status: 'active' as const,
      tenantStatus: 'active' as const,
      secondFactorDue: false,
    }
  }
  here = await world.openReplica({
    outside: { issuer: provider.issuer, audience: 'files', jwksUrl: provider.jwksUrl, findOrCreateUser },
  })
})
afterAll(async () => {
  await world.close()
  await provider.close()
})

const authenticate = (identity: Identity, token: string) => identity.authenticate(['Authorization', `Bearer ${token}`], origin)
const now = () => Math.floor(Date.now() / 1000)

describe('external identity provider', () => {
  const claims = () => ({
    iss: provider.issuer,
    aud: 'files',
    sub: 'amy',
    tenant_id: tenantId,
    scope: 'openid upload metadata',
    email: 'amy@x.org',
    name: 'Amy',
  })
  const signed = (
    change: JWTPayload = {},
    by: keyof typeof provider.keys = 'EdDSA',
    kid: string | undefined = by,
    header: { typ?: string } = {},
  ) => {
    const payload: JWTPayload = { ...claims(), iat: now(), exp: now() + 600, ...change }
    for (const name of Object.keys(payload)) if (payload[name] === undefined) delete payload[name]
    return new SignJWT(payload).setProtectedHeader({ alg: by, ...(kid ? { kid } : {}), ...header }).sign(provider.keys[by])
  }

  test.each(['RS256', 'ES256', 'EdDSA'] as const)('accepts external tokens that are signed with %s', async (by) => {
    expect(await authenticate(here, await signed({}, by))).toEqual({
      outcome: 'actor',
      actor: {
        tenantId,
        kind: 'user',
        id: 'usr_amy',
        name: 'Amy',
        email: 'amy@x.org',
        scopes: ['upload', 'metadata'],
        contexts: null,
        issuer: provider.issuer,
        ...origin,
      },
    })
  })

  test.each(['PS256', 'RS512', 'ES384'] as const)('rejects external tokens that are signed with %s', async (by) => {
    expect(await authenticate(here, await signed({}, by))).toMatchObject({
      message: 'This token is signed with an unsupported algorithm.',
    })
  })

  test.each([
    ['that expired before the skew', { exp: now() - 90 }, 'This token has expired.'],
    ['that becomes valid after the skew', { nbf: now() + 600 }, 'This token is not valid yet.'],
    ['issued in the future beyond the skew', { iat: now() + 600 }, 'This token is not valid yet.'],
    ['without an issue time', { iat: undefined }, "The token's 'iat' claim is missing or invalid."],
    ['without an expiry', { exp: undefined }, "The token's 'exp' claim is missing or invalid."],
    ['for another audience', { aud: ['else', 'other'] }, 'This token was issued for another audience.'],
    ['without a subject', { sub: undefined }, "The token's 'sub' claim is missing or invalid."],
    ['without a tenant', { tenant_id: undefined }, "The token's 'tenant_id' claim is missing or invalid."],
    ['whose tenant is not a string', { tenant_id: { $ne: '' } }, "The token's 'tenant_id' claim is missing or invalid."],
    ['of an unknown tenant', { tenant_id: 'ten_else' }, "This token's tenant does not exist."],
  ])('rejects an external token %s', async (_, change, message) => {
    expect(await authenticate(here, await signed(change as JWTPayload))).toMatchObject({ outcome: 'rejected', message })
  })

  test.each(['JWT', 'jwt', 'at+jwt', 'application/at+jwt'])(
    'accepts external tokens of type %s as access tokens',
    async (typ) => {
      expect(await authenticate(here, await signed({}, 'EdDSA', 'EdDSA', { typ }))).toMatchObject({ outcome: 'actor' })
    },
  )

  test.each(['logout+jwt', 'dpop+jwt', 'secevent+jwt', ''])(
    'rejects external tokens of type %j even if they are signed with a valid key',
    async (typ) => {
      const message = 'This token is not an access token. Send an access token.'
      expect(await authenticate(here, await signed({}, 'EdDSA', 'EdDSA', { typ }))).toMatchObject({
        outcome: 'rejected',
        message,
      })
    },
  )

  test('allows a clock skew of up to 60 seconds for external tokens', async () => {
    expect(await authenticate(here, await signed({ exp: now() - 40, nbf: now() + 40, iat: now() + 40 }))).toMatchObject({
      outcome: 'actor',
    })
  })

  test('rejects an unknown key id and rate-limits requests to the provider', async () => {
    await authenticate(here, await signed())
    const requestsBefore = provider.requests()
    for (let guess = 0; guess < 20; guess++) {
      expect(await authenticate(here, await signed({}, 'EdDSA', `guess ${guess}`))).toMatchObject({
        message: 'This token was signed with an unknown key.',
      })
    }
    expect(provider.requests() - requestsBefore).toBeLessThanOrEqual(1)
  })

  test("rejects an HS256 token that uses the provider's public key as the secret", async () => {
    const secret = createPublicKey(provider.keys.RS256).export({ format: 'pem', type: 'spki' })
    const token = await new SignJWT(claims())
      .setProtectedHeader({ alg: 'HS256', kid: 'RS256' })
      .setExpirationTime('1h')
      .sign(Buffer.from(secret))
    expect(await authenticate(here, token)).toMatchObject({ message: 'This token is signed with an unsupported algorithm.' })
  })

  test("rejects a token with the service's issuer that is signed with the provider's key", async () => {
    const user = await world.startSession(tenantId)
    const asUs = await signed({ iss: 'assay', aud: 'assay', sid: user.sessionId, tid: tenantId, sub: user.userId })
    expect(await authenticate(here, asUs)).toMatchObject({ message: 'This token was signed with an unknown key.' })
    expect(
      () => new ExternalTokens({ issuer: 'assay', audience: 'a', jwksUrl: provider.jwksUrl, findOrCreateUser: async () => null }),
    ).toThrow(/JWT_ISSUER/)
  })

  test('queries the user only once per external token until the user changes', async () => {
    const bea = { sub: 'bea', scope: ['delete', 'nonsense', 'delete'], email: undefined }
    let token = ''
    // Polls because a stalled machine bypasses the cache.
    await waitUntil(async () => {
      token = await signed({ ...bea, jti: randomUUID() })
      await waitUntil(() => here.listener.isTrusted())
      firstSights.length = 0
      for (let call = 0; call < 5; call++) await authenticate(here, token)
      return firstSights.length === 1
    })
    expect(firstSights).toEqual([
      { issuer: provider.issuer, subject: 'bea', tenantId, scopes: ['delete'], email: null, name: 'Amy' },
    ])
    here.forget('user', 'usr_bea')
    await authenticate(here, token)
    expect(firstSights).toHaveLength(2)
  })

  test('interprets configured claim names as paths into objects', async () => {
    const seen: ExternalUserClaims[] = []
    const tokens = new ExternalTokens({
      issuer: provider.issuer,
      audience: 'files',
      jwksUrl: provider.jwksUrl,
      claims: { tenant: 'https://files/tenant', scopes: 'realm_access.roles', name: 'constructor.name' },
      findOrCreateUser: async (facts) => {
        seen.push(facts)
        return null
      },
    })
    const token = await signed({ 'https://files/tenant': 'ten_x', realm_access: { roles: ['admin', 'user'] } })
    await expect(tokens.verify(token)).rejects.toThrow(/token's tenant does not exist/)
    expect(seen).toMatchObject([{ tenantId: 'ten_x', scopes: ['admin'], name: null }])
    await expect(tokens.verify(await signed({ 'https://files/tenant': 'ten_x' }))).rejects.toThrow()
    expect(seen[1]).toMatchObject({ scopes: null })
  })

  test('returns 503 instead of 401 for an external token while the provider is unreachable', async () => {
    const away = new ExternalTokens({
      issuer: provider.issuer,
      audience: 'files',
      jwksUrl: new URL('http://127.0.0.1:1/jwks'),
      findOrCreateUser: async () => null,
    })
    await expect(away.verify(await signed())).rejects.toMatchObject({ code: 'overloaded' })
    const broken = new ExternalTokens({
      issuer: provider.issuer,
      audience: 'files',
      jwksUrl: new URL('/broken', provider.jwksUrl),
      findOrCreateUser: async () => null,
    })
    await expect(broken.verify(await signed())).rejects.toMatchObject({ code: 'overloaded' })
  })
})

async function openProvider() {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const keys = {
    RS256: rsa.privateKey,
    RS512: rsa.privateKey,
    PS256: rsa.privateKey,
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
    ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey,
    EdDSA: generateKeyPairSync('ed25519').privateKey,
  }
  const published = await Promise.all(
    Object.entries(keys).map(async ([alg, key]) => ({ ...(await exportJWK(createPublicKey(key))), kid: alg, use: 'sig' })),
  )
  let requests = 0
  const server: Server = createServer((request, response) => {
    requests++
    response.setHeader('Content-Type', 'application/json')
    response.end(request.url === '/jwks' ? JSON.stringify({ keys: published }) : 'no JSON')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    keys,
    issuer,
    jwksUrl: new URL(`${issuer}/jwks`),
    requests: () => requests,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
