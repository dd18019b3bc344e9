import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { RawClient } from '../support/raw-client.js'
import { RawHttp } from '../support/raw-exchange.js'
import { getData, getGraphqlCode, getInvalidFields, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('inbox')
})
afterAll(() => world.close())

test.each([
  '/METRICS',
  '/metrics/',
  '//metrics',
  '/Health/Live',
  '/health/live/',
  '/GraphQL',
  '/graphql/',
  '/API/v1/contexts',
  '/api/v1/contexts/',
  '/api/v1//contexts',
  '/api/v1/Contexts',
  '/api/v1/stats/logs/export/',
])('rejects the path %s, which could bypass a proxy rule', async (path) => {
  expect((await tenant.admin.raw(path)).status).toBe(404)
})

describe('ambiguous request headers', () => {
  const answerTo = async (lines: string[]) => {
    const client = await RawClient.connect(world.url)
    await client.send(`${lines.join('\r\n')}\r\n\r\n`)
    const response = await client.readResponse()
    client.destroy()
    return response
  }

  test('rejects a request with two Host headers', async () => {
    const response = await answerTo(['GET /api/v1/contexts HTTP/1.1', 'Host: a.example', 'Host: b.example'])
    expect([response.status, response.body.error]).toEqual([
      400,
      { code: 'bad_user_input', details: { fields: [{ field: 'Host', message: 'must not be sent more than once' }] } },
    ])
  })

  test('rejects a request with two Host headers among two thousand other headers', async () => {
    const between = Array.from({ length: 2_100 }, () => 'a:b')
    const response = await answerTo(['GET /health/live HTTP/1.1', 'Host: a.example', ...between, 'Host: b.example'])
    expect([response.status, response.body.error?.details]).toEqual([
      400,
      { fields: [{ field: 'Host', message: 'must not be sent more than once' }] },
    ])
  })

  test('rejects a chunked HTTP/1.0 request and closes the connection', async () => {
    const client = await RawHttp.open(world.url)
    const chunked = [
      'Transfer-Encoding: chunked',
      'Connection: keep-alive',
      'Content-Type: application/json',
      '',
      '2',
      '{}',
      '0',
      '',
      '',
    ]
    client.write(`${['POST /graphql HTTP/1.0', 'Host: x', ...chunked].join('\r\n')}GET /health/live HTTP/1.0\r\n\r\n`)
    const complete = await client.readAll()
    expect(complete.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 400'])
    expect(complete).toContain('is not supported for HTTP/1.0 requests')
  })

  test.each(['gzip', 'br', 'x'])('returns 415 for an upload with Content-Encoding %s over REST and GraphQL', async (encoding) => {
    const headers = { 'content-encoding': encoding }
    expect(toStatusAndCode(await tenant.admin.upload('inbox', 'a.txt', 'a', { headers }))).toEqual([
      415,
      'unsupported_media_type',
    ])
    const form = new FormData()
    form.append('operations', '{}')
    const init = { method: 'POST', body: form, headers: { ...headers, 'apollo-require-preflight': '1' } }
    expect(getGraphqlCode(await tenant.admin.raw('/graphql', init))).toBe('UNSUPPORTED_MEDIA_TYPE')
  })
})

describe('invisible characters in names', () => {
  const hidden = '\u202e\u2066\u200b\u{e0041}\u{e007f}\u061c'

  test('removes invisible characters and bidirectional overrides from file names', async () => {
    const response = await tenant.admin.upload('inbox', `in${hidden}voice.txt`, 'a')
    expect(getData(response, { status: 201, message: true, timestamp: false }).original_filename).toBe('invoice.txt')
  })

  test('removes invisible characters from names of contexts, users and tenants', async () => {
    const own = await world.createTenant()
    const name = ` Month${hidden}\r\nend `
    const context = await own.createContext('shown', { display_name: name, description: `one${hidden}\ntwo` })
    expect([context.display_name, context.description]).toEqual(['Month end', 'one\ntwo'])
    const { display_name: changed } = getData(await own.admin.patch('/contexts/shown', { display_name: `${hidden}Other` }))
    expect(changed).toBe('Other')
    expect(getData(await own.admin.patch('/tenant', { name })).name).toBe('Month end')
    const invite = (email: string) =>
      own.admin.graphql('mutation ($input: InviteUserInput!) { inviteUser(input: $input) { user { name email } } }', {
        input: { email, name, scopes: ['metadata'] },
      })
    expect((await invite('Zoe\u0308@example.com')).body.data.inviteUser.user).toEqual({
      name: 'Month end',
      email: 'zo\u00eb@example.com',
    })
    expect(getGraphqlCode(await invite('zo\u00eb@example.com'))).toBe('CONFLICT')
    expect(getGraphqlCode(await invite(`zo${hidden}e@example.com`))).toBe('BAD_USER_INPUT')
  })

  test('removes invisible characters from key names and rejects an empty result', async () => {
    const created = await tenant.admin.post('/api-keys', { name: ` build\r\nserver${hidden}\u2028 ` })
    const { api_key_id: id, name } = getData(created, { status: 201, message: true })
    expect([name, getData(await tenant.admin.get(`/api-keys/${id}`)).name]).toEqual(['build server', 'build server'])
    expect(getInvalidFields(await tenant.admin.post('/api-keys', { name: `\n${hidden}` }))).toEqual(['name'])
  })
})

test('returns a client error if two fields use the same Upload variable', async () => {
  const twice = `mutation ($file: Upload!) {
    one: uploadFile(file: $file, context: "inbox") { originalFilename }
    two: uploadFile(file: $file, context: "inbox") { originalFilename }
  }`
  for (const content of ['small', 'large '.repeat(100_000)]) {
    const { body } = await tenant.admin.graphqlUpload(twice, {}, 'a.txt', content)
    expect(body.errors).toMatchObject([
      { path: ['two'], extensions: { code: 'BAD_USER_INPUT', details: { fields: [{ field: 'file' }] } } },
    ])
  }
})

test('hides the totals of a tenant from a key restricted to some contexts', async () => {
  const small = await world.createTenant()
  await small.createContext('inbox')
  await small.admin.patch('/tenant', { storage_quota_mb: 1 })
  const key = await small.createKey(['upload'], { contexts: ['inbox'] })
  const megabyte = Buffer.alloc(1_048_577, 'a')
  for (const content of [megabyte, Buffer.concat([megabyte, megabyte])]) {
    const { status, body } = await key.upload('inbox', 'a.txt', content)
    expect([status, body.error]).toEqual([422, { code: 'quota_exceeded', details: { size_bytes: expect.any(Number) } }])
    expect(body.message).not.toMatch(/of its|bytes left/)
  }
})

describe('client addresses from a proxy', () => {
  let behind: World
  beforeAll(async () => {
    behind = await World.open({ TRUST_PROXY: '1' }, world)
  })
  afterAll(() => behind.close())

  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:5151', '192.0.2.7'],
    ['[2001:db8::7]:5151', '2001:db8::7'],
    ['unknown', '127.0.0.1'],
    ['<script>', '127.0.0.1'],
    ['192.0.2.7:port', '127.0.0.1'],
  ])('logs the proxied client address %j as %s', async (claimed, logged) => {
    const key = await tenant.createKey(['metadata'])
    await behind.createCaller(key.credential).get('/files', { 'x-forwarded-for': claimed })
    const [call] = getItems(await tenant.admin.get(`/stats/logs?api_key_id=${key.id}`))
    expect(call.ip_address.replace('::ffff:', '')).toBe(logged)
  })
})

describe('information hidden from unauthorized clients', () => {
  test('hides scanner and store addresses from unauthorized clients', async () => {
    const withoutScanner = await World.open({ SCANNER_URL: 'clamd://127.0.0.1:1' }, world)
    try {
      const ready = await withoutScanner.unauthenticated.raw('/health/ready')
      expect(ready.body.checks.scanner).toEqual({ status: 'down', reason: 'No clamd server is responding.' })
      const rejected = await withoutScanner.createCaller(tenant.admin.credential!).upload('inbox', 'a.txt', 'a')
      expect(toStatusAndCode(rejected)).toEqual([503, 'scanner_unavailable'])
      for (const { body } of [ready, rejected]) expect(JSON.stringify(body)).not.toMatch(/127\.0\.0\.1|ECONN|:1\b/)
    } finally {
      await withoutScanner.close()
    }
  })
})

describe('access to metrics', () => {
  const token = 'a-token-of-its-own'

  test('requires the metrics token if one is configured', async () => {
    const guarded = await World.open({ METRICS_TOKEN: token }, world)
    try {
      const get = (authorization?: string) =>
        guarded.unauthenticated.raw('/metrics', { headers: authorization ? { authorization } : {} }).then(({ status }) => status)
      expect([await get(), await get('Bearer wrong'), await get(`Bearer ${token}`)]).toEqual([401, 401, 200])
      expect((await guarded.createCaller(tenant.admin.credential!).raw('/metrics')).status).toBe(401)
    } finally {
      await guarded.close()
    }
  })

  test('serves metrics only on the metrics port if one is configured', async () => {
    const apart = await World.open({ METRICS_PORT: '1', METRICS_TOKEN: token }, world)
    try {
      expect((await apart.unauthenticated.raw('/metrics')).status).toBe(404)
      const { metricsServer } = apart.app
      await new Promise<void>((resolve) => metricsServer!.listen(0, '127.0.0.1', resolve))
      const { port } = metricsServer!.address() as { port: number }
      const get = (path: string, authorization = `Bearer ${token}`) =>
        fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization } })
      expect(await (await get('/metrics')).text()).toContain('assay_uploads_under_way 0')
      expect([(await get('/metrics', 'Bearer wrong')).status, (await get('/graphql')).status]).toEqual([401, 404])
      await new Promise((resolve) => metricsServer!.close(resolve))
    } finally {
      await apart.close()
    }
  })
})
