import { createHmac, createPrivateKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { SignJWT } from 'jose'
import { routes } from '../../src/api/rest/routes.js'
import { getRaw } from '../support/expect-healthy.js'
import { getGraphqlCode, toStatusAndCode } from '../support/response-assertions.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('inbox')
})
afterAll(() => world.close())

describe('forged session tokens', () => {
  let user: Caller
  let payload: Record<string, unknown>
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const now = () => Math.floor(Date.now() / 1000)
  beforeAll(async () => {
    user = await tenant.createUser(['metadata'])
    payload = JSON.parse(Buffer.from(user.credential!.split('.')[1]!, 'base64url').toString())
  })

  async function signed(claims: Record<string, unknown>, header: Record<string, unknown> = {}): Promise<string> {
    const key = await world.app.services.identity.signing.session.getCurrentKey()
    const merged = JSON.parse(JSON.stringify({ ...payload, ...claims }))
    return new SignJWT(merged)
      .setProtectedHeader({ alg: 'EdDSA', kid: key.id, typ: 'JWT', ...header })
      .sign(createPrivateKey({ key: key.secret, format: 'der', type: 'pkcs8' }))
  }
  const expectRejected = async (token: string) => {
    expect(toStatusAndCode(await world.createCaller(token).get('/files'))).toEqual([401, 'unauthenticated'])
    expect(getGraphqlCode(await world.createCaller(token).graphql('{ me { id } }'))).toBe('UNAUTHENTICATED')
  }

  test('accepts the original session token from which the forged tokens are derived', async () => {
    expect((await world.createCaller(await signed({})).get('/files')).status).toBe(200)
  })

  test.each([
    ['that has expired', () => ({ exp: now() - 1 })],
    ['that is not valid yet', () => ({ nbf: now() + 30 })],
    ['of another issuer', () => ({ iss: 'https://evil.example.com' })],
    ['without an issuer', () => ({ iss: undefined })],
    ['for another audience', () => ({ aud: 'someone else' })],
    ['without an audience', () => ({ aud: undefined })],
    ['without an expiry', () => ({ exp: undefined })],
    ['of another user', () => ({ sub: 'usr_00000000000000000000000000' })],
    ['of another tenant', () => ({ tid: 'ten_00000000000000000000000000' })],
    ['of an unknown session', () => ({ sid: 'ses_00000000000000000000000000' })],
    ['whose session is not an id', () => ({ sid: { $ne: 1 } })],
  ])('rejects a forged session token %s', async (_what, claims) => expectRejected(await signed(claims())))

  test('rejects a session token with a missing, unknown or path-like key id', async () => {
    for (const kid of ['sig_00000000000000000000000000', undefined, '../../etc/passwd', "' OR 1=1 --"])
      await expectRejected(await signed({}, { kid }))
  })

  test('rejects a session token that is unsigned or signed with the public key as the secret', async () => {
    const { body } = await world.unauthenticated.raw('/.well-known/jwks.json')
    const [jwk] = body.keys
    const tokens = ['none', 'None', 'NONE', 'nOnE'].map((alg) => `${part({ alg, kid: jwk.kid })}.${part(payload)}.`)
    for (const secret of [jwk.x, Buffer.from(jwk.x, 'base64url'), JSON.stringify(jwk)]) {
      const head = `${part({ alg: 'HS256', kid: jwk.kid })}.${part(payload)}`
      tokens.push(`${head}.${createHmac('sha256', secret).update(head).digest('base64url')}`)
    }
    // A token with a valid signature for a different header.
    tokens.push(`${part({ alg: 'none', kid: jwk.kid })}.${user.credential!.split('.').slice(1).join('.')}`)
    // A token that embeds its own verification key.
    tokens.push(await signed({}, { kid: undefined, jwk }))
    for (const token of tokens) await expectRejected(token)
  })

  test('rejects session tokens of 8 KB and 100 KB with a JSON error', async () => {
    expect(toStatusAndCode(await world.createCaller(`${'a'.repeat(4000)}.${'b'.repeat(4500)}.c`).get('/files'))).toEqual([
      401,
      'unauthenticated',
    ])
    const response = await getRaw(world, '/api/v1/files', [`Authorization: Bearer ${'a'.repeat(50_000)}.${'b'.repeat(50_000)}.c`])
    expect(response.status).toBe(431)
    expect(response.headers).toMatchObject({
      'content-type': expect.stringContaining('application/json'),
      'x-request-id': expect.any(String),
    })
    expect(JSON.parse(response.body)).toMatchObject({
      status: 'ERROR',
      error: { code: 'bad_user_input' },
      request_id: response.headers['x-request-id'],
    })
  })

  test('rejects a request with two Authorization headers in either order', async () => {
    const good = `Authorization: Bearer ${tenant.admin.credential}`
    const bad = 'authorization: Bearer assay_nobody'
    for (const headers of [
      [good, bad],
      [bad, good],
      [good, good],
      [good, 'AUTHORIZATION:'],
    ])
      expect((await getRaw(world, '/api/v1/files', headers)).status).toBe(401)
    expect((await getRaw(world, '/api/v1/files', [good])).status).toBe(200)
  })

  test('rejects malformed Bearer headers, and keys that are sent in the query string or in a cookie', async () => {
    const key = tenant.admin.credential!
    for (const value of [key, `Basic ${key}`, `Bearer`, `Bearer ${key} ${key}`, `Bearer "${key}"`, `Bearer\t${key}`])
      expect((await getRaw(world, '/api/v1/files', [`Authorization: ${value}`])).status).toBe(401)
    expect((await getRaw(world, `/api/v1/files?access_token=${key}`, [])).status).toBe(401)
    expect((await getRaw(world, '/api/v1/files', [`Cookie: token=${key}`])).status).toBe(401)
  })
})

describe('cross-site requests', () => {
  const query = 'mutation { signIn(email: "a@b.c", password: "12345678") { token } }'
  const simple: [string, string | FormData | URLSearchParams, string | undefined][] = [
    ['a form', new URLSearchParams({ query }), undefined],
    ['plain text', JSON.stringify({ query }), 'text/plain'],
    ['plain text with JSON as a parameter', JSON.stringify({ query }), 'text/plain; application/json'],
    ['a body without a content type', JSON.stringify({ query }), ''],
  ]

  test.each(simple)('rejects a cross-site GraphQL request sent as %s', async (_what, body, type) => {
    const response = await world.unauthenticated.raw('/graphql', {
      method: 'POST',
      ...(type !== undefined && { headers: { 'content-type': type } }),
      body: typeof body === 'string' ? new Blob([body], { type: '' }) : body,
    })
    expect([400, 415]).toContain(response.status)
    expect(response.body.data ?? null).toBeNull()
  })

  test('rejects a cross-site GraphQL GET request, such as one from an image tag', async () => {
    expect((await tenant.admin.raw(`/graphql?query=${encodeURIComponent('{ me { id } }')}`)).status).toBe(400)
    const preflighted = { 'apollo-require-preflight': 'true' }
    expect(
      (await tenant.admin.raw(`/graphql?query=${encodeURIComponent('{ me { id } }')}`, { headers: preflighted })).status,
    ).toBe(200)
    const mutation = await tenant.admin.raw(`/graphql?query=${encodeURIComponent(query)}`, { headers: preflighted })
    expect([400, 405]).toContain(mutation.status)
    expect(mutation.body.data ?? null).toBeNull()
  })

  test('rejects a cross-site GraphQL request sent as a multipart form', async () => {
    const form = new FormData()
    form.append(
      'operations',
      JSON.stringify({
        query: 'mutation ($file: Upload!) { uploadFile(file: $file, context: "inbox") { fileId } }',
        variables: { file: null },
      }),
    )
    form.append('map', JSON.stringify({ 0: ['variables.file'] }))
    form.append('0', new Blob(['a']), 'a.txt')
    const response = await tenant.admin.raw('/graphql', { method: 'POST', body: form })
    expect([response.status, getGraphqlCode(response)]).toEqual([400, 'BAD_USER_INPUT'])
  })

  test.each(routes.filter(({ body }) => body === 'json').map(({ method, path }) => [method, path]))(
    'rejects a cross-site request to %s %s sent by a form or as plain text',
    async (method, route) => {
      const path = route.replace('{api_key_id}', tenant.admin.id).replace('{context_key}', 'inbox')
      for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x'])
        expect(toStatusAndCode(await tenant.admin.rest(method, path, '{"name":"x"}', { 'content-type': type }))).toEqual([
          415,
          'unsupported_media_type',
        ])
    },
  )
})
