import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let user: { email: string; password: string }

beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('notes')
  const { email, password } = await tenant.createUser(['metadata', 'upload'])
  user = { email, password }
})
afterAll(() => world.close())

const dashboard = { 'x-assay-request': 'dashboard' }
const json = { 'content-type': 'application/json' }

const startSession = (body: object, headers: Record<string, string> = json) =>
  world.unauthenticated.raw('/session', { method: 'POST', headers, body: JSON.stringify(body) })

/** Returns the `assay_session=…` cookie that a browser would send. */
async function getCookie(credentials: object = user): Promise<string> {
  const { headers } = await startSession(credentials)
  return headers.getSetCookie()[0]!.split(';')[0]!
}

const queryMe = (headers: Record<string, string>) =>
  world.unauthenticated.raw('/graphql', {
    method: 'POST',
    headers: { ...json, ...headers },
    body: JSON.stringify({ query: '{ me { email } }' }),
  })

describe('signing in with POST /session', () => {
  test('sets an HttpOnly, SameSite cookie at dashboard sign-in and returns no token', async () => {
    const { status, body, headers } = await startSession({ email: user.email, password: user.password })
    expect(status).toBe(200)
    expect(headers.getSetCookie()).toHaveLength(1)
    expect(headers.getSetCookie()[0]).toMatch(/^assay_session=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict; Expires=[^;]+GMT$/)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toMatchObject({
      status: 'SUCCESS',
      data: { second_factor_due: false, user: { email: user.email, scopes: ['metadata', 'upload'] } },
    })
    const token = headers.getSetCookie()[0]!.slice('assay_session='.length).split(';')[0]!
    for (const part of token.split('.')) expect(JSON.stringify(body)).not.toContain(part)
  })

  test('sets the Secure attribute on the session cookie if PUBLIC_URL uses HTTPS', async () => {
    const secure = await World.open({ PUBLIC_URL: 'https://assay.example' }, world)
    const response = await secure.unauthenticated.raw('/session', { method: 'POST', headers: json, body: JSON.stringify(user) })
    expect(response.headers.getSetCookie()[0]).toMatch(/; Secure$/)
    await secure.close()
  })

  test('returns the same error as signIn if the password is wrong at dashboard sign-in', async () => {
    const { status, body, headers } = await startSession({ email: user.email, password: 'wrong' })
    expect([status, body.error.code, headers.getSetCookie()]).toEqual([401, 'unauthenticated', []])
  })

  test('returns the same error as signIn if a dashboard sign-in lacks the second-factor code', async () => {
    const holder = await tenant.createUser(['metadata'])
    await holder.graphql('mutation ($password: String!) { beginSecondFactor(password: $password) { secret } }', {
      password: holder.password,
    })
    await world.database.pool.query('UPDATE users SET totp_confirmed_at = now() WHERE email = $1', [holder.email])
    const { status, body, headers } = await startSession({ email: holder.email, password: holder.password })
    expect([status, body.error.details]).toEqual([401, { second_factor: 'code' }])
    expect(headers.getSetCookie()).toEqual([])
  })

  test.each([
    [{}, ['email', 'password']],
    [{ email: 1, password: 'x' }, ['email']],
    [{ email: 'a@b', password: 'x'.repeat(1025) }, ['password']],
    [{ email: 'a@b', password: 'x', admin: true }, ['admin']],
    [{ welcome: '' }, ['welcome']],
  ])('reports every invalid field in the dashboard sign-in body %j', async (body, fields) => {
    const response = await startSession(body)
    expect(response.status).toBe(400)
    expect(response.body.error.details.fields.map(({ field }: { field: string }) => field)).toEqual(fields)
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
    'rejects a sign-in with the content type %s, which other sites can send',
    async (type) => {
      const { status, headers } = await startSession(user, { 'content-type': type })
      expect([status, headers.getSetCookie()]).toEqual([415, []])
    },
  )

  test('returns 405 for methods other than POST and DELETE at /session', async () => {
    const response = await world.unauthenticated.raw('/session')
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, DELETE'])
  })
})

describe('session cookie authentication', () => {
  // Each row contains request credentials and whether the request is authenticated.
  test.each([
    ['the expected value', { ...dashboard }, true],
    ['no value', {}, false],
    ['another value', { 'x-assay-request': 'other' }, false],
  ])('accepts the session cookie only if X-Assay-Request has the expected value: %s', async (_how, headers, counts) => {
    const cookie = await getCookie()
    const response = await queryMe({ cookie, ...headers })
    expect(response.body.data.me).toEqual(counts ? { email: user.email } : null)
    const rest = await world.unauthenticated.get('/files', { cookie, ...headers })
    expect(rest.status).toBe(counts ? 200 : 401)
  })

  test('does not authenticate a form submission from another site with the session cookie', async () => {
    const cookie = await getCookie()
    const form = new FormData()
    form.append('context', 'notes')
    form.append('file', new Blob(['text']), 'a.txt')
    const upload = await world.unauthenticated.rest('POST', '/files/upload', form, { cookie, origin: 'https://evil.example' })
    expect(upload.status).toBe(401)
    const out = await world.unauthenticated.raw('/session', { method: 'DELETE', headers: { cookie } })
    expect([out.status, out.headers.getSetCookie()]).toEqual([401, []])
    expect((await queryMe({ cookie, ...dashboard })).body.data.me).toEqual({ email: user.email })
  })

  test('rejects the session cookie from another origin even if CORS allows the origin', async () => {
    const open = await World.open({ CORS_ORIGINS: '*' }, world)
    const preflight = await open.unauthenticated.raw('/graphql', {
      method: 'OPTIONS',
      headers: {
        origin: 'https://evil.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-assay-request',
      },
    })
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull()
    await open.close()
  })

  test('ignores the session cookie if the request has an Authorization header', async () => {
    const cookie = await getCookie()
    const both = await queryMe({ cookie, ...dashboard, authorization: `Bearer ${tenant.admin.credential}` })
    expect(both.body.data.me).toEqual({ email: null })
    const dead = await queryMe({ cookie, ...dashboard, authorization: 'Bearer assay_unknown' })
    expect(dead.body.errors[0].extensions.code).toBe('UNAUTHENTICATED')
  })

  test.each([
    ['an API key', () => `assay_session=${tenant.admin.credential}`],
    ['an empty value', () => 'assay_session='],
    ['two sessions', async () => `${await getCookie()}; ${await getCookie()}`],
    ['a changed token', async () => `${(await getCookie()).slice(0, -6)}AAAAAA`],
    ['a value that is too long', () => `assay_session=${'a.'.repeat(4500)}`],
  ])('returns the same error for a session cookie with %s as for an expired token', async (_what, make) => {
    const response = await world.unauthenticated.get('/files', { cookie: await make(), ...dashboard })
    expect([response.status, response.body.error.code]).toEqual([401, 'unauthenticated'])
  })

  test('requires the same scopes for requests with a session cookie as for requests with other credentials', async () => {
    const cookie = await getCookie()
    const response = await world.unauthenticated.get('/api-keys', { cookie, ...dashboard })
    expect([response.status, response.body.error.code]).toEqual([403, 'forbidden'])
  })
})

describe('signing out with DELETE /session', () => {
  test('ends the dashboard session and deletes its cookie', async () => {
    const cookie = await getCookie()
    const response = await world.unauthenticated.raw('/session', { method: 'DELETE', headers: { cookie, ...dashboard } })
    expect(response.status).toBe(200)
    expect(response.headers.getSetCookie()[0]).toMatch(
      /^assay_session=; Path=\/; HttpOnly; SameSite=Strict; Expires=Thu, 01 Jan 1970/,
    )
    const after = await queryMe({ cookie, ...dashboard })
    expect(after.body.errors[0]).toMatchObject({
      message: expect.stringContaining('ended'),
      extensions: { code: 'UNAUTHENTICATED' },
    })
  })

  test('rejects DELETE /session with an API key, because API keys have no session', async () => {
    const response = await tenant.admin.raw('/session', { method: 'DELETE' })
    expect(response.status).toBe(401)
  })

  test('rejects an ended session and deletes its cookie', async () => {
    const cookie = await getCookie()
    await world.database.pool.query('UPDATE sessions SET revoked_at = now() WHERE revoked_at IS NULL')
    const other = await World.open({}, world)
    const response = await other.unauthenticated.raw('/session', { method: 'DELETE', headers: { cookie, ...dashboard } })
    expect([response.status, response.headers.getSetCookie().length]).toEqual([401, 1])
    await other.close()
  })
})

describe('first-visit link', () => {
  const invite = async () => {
    const { user: created } = await world.app.services.users.create(
      {
        tenantId: tenant.tenantId,
        kind: 'system',
        id: 'system',
        name: 'system',
        email: null,
        scopes: ['admin'],
        contexts: null,
        ip: '',
        userAgent: '',
      },
      { email: `first-${Math.random()}@example.com`, name: 'First', scopes: ['admin'] },
    )
    return {
      userId: created.userId,
      email: created.email,
      welcome: await world.app.services.signIns.createWelcomeToken(created.userId),
    }
  }

  test('signs in with a first-visit link only once', async () => {
    const { welcome, email } = await invite()
    const cookie = await getCookie({ welcome })
    expect((await queryMe({ cookie, ...dashboard })).body.data.me).toEqual({ email })
    expect((await startSession({ welcome })).status).toBe(401)
  })

  test('signs in only one of two clients that open the same first-visit link concurrently', async () => {
    const { welcome } = await invite()
    const responses = await Promise.all([startSession({ welcome }), startSession({ welcome })])
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 401])
  })

  test.each([
    ['another user', (welcome: string) => welcome.replace(/\.\w/, '.7')],
    ['another signature', (welcome: string) => `${welcome.slice(0, -4)}AAAA`],
    ['no signature', (welcome: string) => welcome.split('.').slice(0, 2).join('.')],
    ['nonsense', () => 'a.b.c'],
  ])('rejects a first-visit link with %s', async (_what, change) => {
    const { welcome } = await invite()
    expect((await startSession({ welcome: change(welcome) })).status).toBe(401)
    expect((await startSession({ welcome })).status).toBe(200)
  })

  test('rejects a first-visit link used as a token and a token used as a first-visit link', async () => {
    const { welcome } = await invite()
    expect((await world.createCaller(welcome).get('/files')).status).toBe(401)
    const token = (await getCookie()).slice('assay_session='.length)
    expect((await startSession({ welcome: token })).status).toBe(400)
  })

  test('rejects a first-visit link if its user is disabled or has a second factor', async () => {
    const disabled = await invite()
    await world.database.pool.query(`UPDATE users SET status = 'disabled' WHERE user_id = $1`, [disabled.userId])
    const secured = await invite()
    await world.database.pool.query('UPDATE users SET totp_confirmed_at = now() WHERE user_id = $1', [secured.userId])
    for (const { welcome } of [disabled, secured]) expect((await startSession({ welcome })).status).toBe(401)
  })
})

describe('`me` query', () => {
  test('returns null from the `me` query without a credential, but an error if the credential is invalid', async () => {
    expect((await queryMe({})).body).toEqual({ data: { me: null } })
    const bad = await queryMe({ authorization: 'Bearer assay_unknown' })
    expect(bad.body.errors[0].extensions.code).toBe('UNAUTHENTICATED')
  })
})

describe('dashboard page', () => {
  const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

  test.each(['/', '/files', '/files/file_01kaajmvs6q3yw9y5v8y5g0000', '/health', '/proof', '/contexts/new'])(
    'serves the dashboard page at %s to a browser',
    async (path) => {
      const { status, headers, body } = await world.unauthenticated.raw(path, { headers: browser })
      expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
        200,
        'text/html; charset=utf-8',
        'no-cache',
      ])
      const policy = headers.get('content-security-policy')!
      expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; /)
      expect(policy).not.toMatch(/unsafe|https?:/)
      expect(body).not.toMatch(/https?:|<script(?! type="module" src="\/assets\/)|style=/)
    },
  )

  test.each([
    '/files',
    '/health',
    '/nothing',
    '/files/a/b',
    '/assets/',
    '/assets/nothing.js',
    '/assets/..%2Findex.html',
    '/assets/constructor',
  ])('does not serve the dashboard page at %s to clients other than browsers', async (path) => {
    const { status, body } = await world.unauthenticated.raw(path)
    expect([status, body.error.code]).toEqual([404, 'not_found'])
  })

  test.each(['/nothing', '/files/a/b', '/nothing?x=1', '/contexts/%'])(
    'serves the dashboard page with status 404 to a browser that requests the unknown path %s',
    async (path) => {
      const { status, headers, body } = await world.unauthenticated.raw(path, { headers: browser })
      expect([status, headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self'/)
      expect(body).toContain('<div id="app">')
    },
  )

  test.each(['/api/v1/nothing', '/api/nothing', '/assets/nothing.js', '/.well-known/nothing'])(
    'returns errors at %s as JSON even to a browser',
    async (path) => {
      const { status, body } = await world.unauthenticated.raw(path, { headers: browser })
      expect([status, body.error.code]).toEqual([404, 'not_found'])
    },
  )

  test.each(['br', 'gzip'])('serves dashboard files with hashed names, precompressed with %s', async (encoding) => {
    const { body } = await world.unauthenticated.raw('/')
    const names = [...(body as string).matchAll(/\/assets\/[\w-]+-[A-Z0-9]{8}\.(?:js|css)/g)].map(([path]) => path)
    // The page loads a stylesheet, a script and the chunks that the script imports.
    expect(names.length).toBeGreaterThan(2)
    for (const path of names) {
      const { status, headers } = await world.unauthenticated.raw(path, { headers: { 'accept-encoding': encoding } })
      expect([status, headers.get('content-encoding'), headers.get('vary')]).toEqual([200, encoding, 'Accept-Encoding'])
      expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    }
  })
})

test('serves a page without scripts and disables POST /session if DASHBOARD is off', async () => {
  const off = await World.open({ DASHBOARD: 'off' }, world)
  const page = await off.unauthenticated.raw('/')
  expect(page.status).toBe(200)
  expect(page.body).not.toContain('<script')
  for (const address of ['docs', 'graphql']) expect(page.body).toContain(`href="${address}"`)
  expect((await off.unauthenticated.raw('/session', { method: 'POST', headers: json, body: JSON.stringify(user) })).status).toBe(
    404,
  )
  expect((await off.unauthenticated.raw('/files', { headers: { accept: 'text/html' } })).status).toBe(404)
  await off.close()
})
