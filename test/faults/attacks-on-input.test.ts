import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { routes } from '../../src/api/rest/routes.js'
import { expectHealthy, getRaw } from '../support/expect-healthy.js'
import { exchange, RawHttp } from '../support/raw-exchange.js'
import { getData, getGraphqlCode, getInvalidFields, getItems } from '../support/response-assertions.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('inbox')
})
afterAll(() => world.close())

describe('prototype pollution', () => {
  const pollutingJson = '{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}}}'
  const clean = () => {
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect((Object.create(null) as Record<string, unknown>).polluted).toBeUndefined()
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  }
  const path = (route: string) => route.replace('{api_key_id}', tenant.admin.id).replace('{context_key}', 'inbox')

  test.each(routes.filter(({ body }) => body === 'json').map(({ method, path }) => [method, path]))(
    'prevents prototype pollution through the body of %s %s',
    async (method, route) => {
      const send = (body: string) => tenant.admin.rest(method, path(route), body, { 'content-type': 'application/json' })
      expect(getInvalidFields(await send(pollutingJson))).toEqual(expect.arrayContaining(['__proto__', 'constructor']))
      clean()
      const nested = await send(
        `{"metadata":${pollutingJson},"name":${pollutingJson},"display_name":${pollutingJson},"scopes":${pollutingJson},"grace_seconds":${pollutingJson}}`,
      )
      expect(nested.status).toBe(400)
      clean()
    },
  )

  test('stores __proto__ and constructor as ordinary keys in metadata', async () => {
    const created = await tenant.admin.rest('POST', '/api-keys', `{"name":"p","metadata":${pollutingJson}}`, {
      'content-type': 'application/json',
    })
    const { api_key_id: id } = getData(created, { status: 201, message: true })
    expect(getData(await tenant.admin.get(`/api-keys/${id}`)).metadata.constructor).toEqual({ prototype: { polluted: 'yes' } })
    clean()
  })

  test('prevents prototype pollution through upload metadata and part names', async () => {
    expect((await tenant.admin.upload('inbox', 'a.txt', 'a', { metadata: pollutingJson })).status).toBe(201)
    const form = new FormData()
    for (const name of ['__proto__', 'constructor', '__proto__[polluted]', 'constructor.prototype.polluted', 'toString'])
      form.append(name, 'yes')
    form.append('file', new Blob(['a']), 'a.txt')
    form.append('context', 'inbox')
    expect(getInvalidFields(await tenant.admin.post('/files/upload', form))).toEqual(
      expect.arrayContaining(['__proto__', 'constructor']),
    )
    clean()
  })

  test('prevents prototype pollution through GraphQL variables, literals and extensions', async () => {
    const post = (body: string) =>
      tenant.admin.raw('/graphql', { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const query = 'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKeyId } }'
    await post(
      `{"query":${JSON.stringify(query)},"variables":{"__proto__":{"polluted":"yes"},"input":{"name":"p","metadata":${pollutingJson}}},"extensions":${pollutingJson},"__proto__":{"polluted":"yes"}}`,
    )
    await post(`{"query":${JSON.stringify(query)},"variables":{"input":${pollutingJson}}}`)
    await tenant.admin.graphql(
      'mutation { createApiKey(input: { name: "p", metadata: { __proto__: { polluted: "yes" } } }) { apiKeyId } }',
    )
    clean()
    for (const at of [
      '__proto__.polluted',
      'variables.__proto__.polluted',
      'variables.constructor.prototype.polluted',
      'constructor.prototype.polluted',
    ]) {
      const form = new FormData()
      form.append(
        'operations',
        JSON.stringify({
          query: 'mutation ($file: Upload!) { uploadFile(file: $file, context: "inbox") { fileId } }',
          variables: { file: null },
        }),
      )
      form.append('map', JSON.stringify({ 0: [at] }))
      form.append('0', new Blob(['a']), 'a.txt')
      const response = await tenant.admin.raw('/graphql', {
        method: 'POST',
        headers: { 'apollo-require-preflight': 'true' },
        body: form,
      })
      expect(getGraphqlCode(response)).toBe('BAD_USER_INPUT')
      clean()
    }
    await expectHealthy(world, tenant)
  })
})

test('rejects thousands of unknown fields with a short error message', async () => {
  const members = Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`member_${at}`, 1]))
  const response = await tenant.admin.post('/contexts', members)
  expect(response.status).toBe(400)
  expect(getInvalidFields(response)).toContain('member_0')
  expect(JSON.stringify(response.body).length).toBeLessThan(20_000)
  await expectHealthy(world, tenant)
})

describe('injection through names and headers', () => {
  test('ignores a forged Host header in signed URLs', async () => {
    const { file_id: id } = getData(await tenant.admin.upload('inbox', 'a.txt', 'hello'), {
      status: 201,
      message: true,
      timestamp: false,
    })
    const auth = `Authorization: Bearer ${tenant.admin.credential}`
    const forged = [
      `GET /api/v1/files/${id} HTTP/1.1\r\nHost: evil.example.com\r\nX-Forwarded-Host: evil.example.com\r\nForwarded: host=evil.example.com\r\n`,
      `GET http://evil.example.com/api/v1/files/${id} HTTP/1.1\r\nHost: evil.example.com\r\n`,
    ]
    for (const request of forged) {
      const response = await exchange(world.url, `${request}${auth}\r\nConnection: close\r\n\r\n`)
      expect(response.status).toBe(200)
      expect(response.body).not.toContain('evil')
      expect(JSON.parse(response.body).data.download_url).toMatch(new RegExp(`^${world.url}/download/${id}\\?`))
    }
  })

  test('trusts X-Forwarded-For only from a trusted proxy', async () => {
    const fresh = await world.createTenant()
    await fresh.admin.get('/files', { 'x-forwarded-for': '203.0.113.9' })
    expect(getItems(await fresh.admin.get('/stats/logs'))[0].ip_address).toBe('127.0.0.1')
    const proxied = await World.open({ TRUST_PROXY: 'loopback' }, world)
    try {
      await proxied.createCaller(fresh.admin.credential).get('/files', { 'x-forwarded-for': '198.51.100.7, 203.0.113.9' })
      expect(
        getItems(await fresh.admin.get('/stats/logs?page_size=5')).map((call: Record<string, string>) => call.ip_address),
      ).toContain('203.0.113.9')
    } finally {
      await proxied.close()
    }
  })

  test.each([
    'a\r\nSet-Cookie: x=1\r\n.txt',
    'a"; filename="b.exe.txt',
    'a\n\n<script>.txt',
    '\u202etxt.exe.txt',
    '..\\..\\..\\etc\\passwd.txt',
    'a%0d%0aX: y.txt',
    `${'😀'.repeat(200)}.txt`,
  ])('prevents injection through the file name %j', async (name) => {
    const uploaded = await tenant.admin.upload('inbox', name, 'hello')
    const { file_id: id, original_filename: storedName } = getData(uploaded, { status: 201, message: true, timestamp: false })
    expect(storedName).not.toMatch(/[\r\n/\\]/)
    expect(Buffer.byteLength(storedName)).toBeLessThanOrEqual(255)
    const { download_url: url } = getData(await tenant.admin.get(`/files/${id}`), { timestamp: false })
    const { pathname, search } = new URL(url)
    const response = await getRaw(world, pathname + search, [])
    expect(response.status).toBe(200)
    expect(response.headers['set-cookie']).toBeUndefined()
    expect(response.headers.x).toBeUndefined()
    expect(response.headers['content-disposition']).toMatch(/^attachment; filename="/)
    expect(response.body).toBe('hello')
  })

  test('prevents CRLF injection through object names, headers and paths', async () => {
    const created = await tenant.admin.post('/api-keys', { name: 'a\r\nX-Evil: 1' })
    expect(created.status).toBe(201)
    expect((await tenant.admin.get('/contexts/a%0d%0aX-Evil:%201')).headers.get('x-evil')).toBeNull()
    expect(
      getInvalidFields(
        await tenant.admin.post('/contexts', {
          context_key: 'a\r\nb',
          display_name: 'x',
          allowed_extensions: ['txt'],
          max_file_size_mb: 1,
        }),
      ),
    ).toEqual(['context_key'])
    const folded = await getRaw(world, '/api/v1/contexts', [
      `Authorization: Bearer ${tenant.admin.credential}`,
      'Idempotency-Key: a\r\n b',
      'User-Agent: x\x01\x7f',
    ])
    expect([200, 400]).toContain(folded.status)
    // The log must contain one line per request, regardless of its content.
    for (const line of world.log.lines) expect(line.trimEnd()).not.toContain('\n')
  })

  test('responds to malformed HTTP with a JSON error that hides the server software', async () => {
    const responses = await Promise.all(
      [
        'GARBAGE\r\n\r\n',
        'GET / HTTP/9.9\r\n\r\n',
        'GET /api/v1/contexts HTTP/1.1\r\nHost: x\r\nBad Header: y\r\n\r\n',
        'POST /api/v1/api-keys HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        'POST /api/v1/api-keys HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
        `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
        `GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`,
      ].map((bytes) => exchange(world.url, bytes)),
    )
    expect(responses.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 431, 431])
    for (const { headers, body } of responses) {
      expect(JSON.parse(body)).toMatchObject({ status: 'ERROR', error: { code: 'bad_user_input' } })
      expect(headers).not.toHaveProperty('server')
    }
    const odd = [
      '//evil.example.com/api/v1/contexts',
      '/api/v1/../../etc/passwd',
      '/api/v1/%c0%ae',
      '/%',
      '/api/v1/contexts/%',
      '*',
      '/api/v1//contexts',
      'http://[/api/v1/contexts',
      '/api/v1/contexts?%%%=%&a[__proto__]=1',
    ]
    for (const target of odd) {
      const response = await getRaw(world, target, [`Authorization: Bearer ${tenant.admin.credential}`])
      expect([target, [200, 400, 404].includes(response.status)]).toEqual([target, true])
      expect(response.body).not.toMatch(/node_modules|at .*\.js/)
    }
    await expectHealthy(world, tenant)
  })

  test('does not interpret a truncated request as two requests', async () => {
    const raw = await RawHttp.open(world.url)
    const body = 'GET /api/v1/contexts HTTP/1.1\r\nHost: x\r\n\r\n'
    raw.write(
      `POST /api/v1/api-keys HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    await raw.waitForText('unauthenticated')
    // The service responds to the health check after the previous request.
    raw.write('GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect((await raw.readAll()).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 200'])
  })
})
