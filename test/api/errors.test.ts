import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { routes } from '../../src/api/rest/routes.js'
import { httpStatus } from '../../src/platform/errors/errors.js'
import { anyTimestamp, getData, getInvalidFields, toStatusAndCode } from '../support/response-assertions.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('notes')
})
afterAll(() => world.close())

test('returns the documented status for every error code', () => {
  expect(httpStatus).toEqual({
    bad_user_input: 400,
    unauthenticated: 401,
    forbidden: 403,
    not_found: 404,
    quarantined: 403,
    method_not_allowed: 405,
    conflict: 409,
    on_hold: 409,
    idempotency_mismatch: 409,
    size_exceeded: 413,
    unsupported_media_type: 415,
    invalid_extension: 422,
    blank_file: 422,
    corrupt_file: 422,
    virus_detected: 422,
    encrypted_file: 422,
    active_content: 422,
    scan_incomplete: 422,
    quota_exceeded: 422,
    rate_limited: 429,
    internal_server_error: 500,
    scanner_unavailable: 503,
    storage_unavailable: 503,
    database_unavailable: 503,
    overloaded: 503,
  })
})

// Covers the routes in the specification and its documented extensions.
test('serves exactly the routes listed in the specification', () => {
  expect(routes.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
    [
      'POST /api-keys',
      'GET /api-keys',
      'GET /api-keys/{api_key_id}',
      'POST /api-keys/{api_key_id}/enable',
      'POST /api-keys/{api_key_id}/disable',
      'POST /api-keys/{api_key_id}/revoke',
      'POST /api-keys/{api_key_id}/rotate',
      'POST /contexts',
      'GET /contexts',
      'GET /contexts/{context_key}',
      'PATCH /contexts/{context_key}',
      'GET /contexts/{context_key}/policy',
      'PATCH /contexts/{context_key}/policy',
      'GET /contexts/{context_key}/versions',
      'POST /contexts/{context_key}/preview',
      'POST /contexts/{context_key}/rescan',
      'GET /contexts/{context_key}/rescan',
      'DELETE /contexts/{context_key}',
      'POST /files/upload',
      'POST /files/validate',
      'GET /files',
      'GET /files/{file_id}',
      'DELETE /files/{file_id}',
      'POST /files/delete',
      'GET /files/{file_id}/metadata',
      'GET /files/{file_id}/validation',
      'GET /files/{file_id}/validations',
      'GET /quarantine',
      'POST /quarantine/{file_id}/release',
      'DELETE /quarantine/{file_id}',
      'GET /stats',
      'GET /stats/charts/api-calls',
      'GET /stats/charts/storage',
      'GET /stats/charts/uploads',
      'GET /stats/by-context/api-calls',
      'GET /stats/by-context/files',
      'GET /stats/logs',
      'GET /audit-logs',
      'GET /audit-logs/entity/{entity_type}/{entity_id}',
      'GET /tenant',
      'PATCH /tenant',
      'DELETE /files/{file_id}/hold',
      'DELETE /log/shares/{share_id}',
      'DELETE /trash/{file_id}',
      'DELETE /webhooks/{webhook_id}',
      'GET /calls/{call_id}/receipt',
      'GET /events',
      'GET /files/{file_id}/preview',
      'GET /files/{file_id}/receipt',
      'GET /holds',
      'GET /log/shares',
      'GET /trash',
      'GET /upload-links',
      'GET /upload-links/{link_id}',
      'GET /webhooks',
      'GET /webhooks/{webhook_id}',
      'GET /webhooks/{webhook_id}/deliveries',
      'PATCH /webhooks/{webhook_id}',
      'DELETE /upload-links/{link_id}',
      'POST /upload-links',
      'POST /log/share',
      'POST /trash/{file_id}/restore',
      'POST /webhooks',
      'POST /webhooks/{webhook_id}/replay',
      'POST /webhooks/{webhook_id}/rotate-secret',
      'POST /webhooks/{webhook_id}/test',
      'PUT /files/{file_id}/hold',
    ].sort(),
  )
})

describe('401 responses', () => {
  const headers: [string, string | undefined][] = [
    ['no credential', undefined],
    ['an unknown key', `Bearer assay_${'A'.repeat(43)}`],
    ['a token that is not a key', 'Bearer nonsense'],
    ['another scheme', 'Basic dXNlcjpwYXNz'],
    ['an empty credential', 'Bearer '],
    ['a malformed token', 'Bearer a.b.c'],
    ['an unsigned token', `Bearer ${btoa('{"alg":"none"}')}.${btoa('{"sub":"usr_x"}')}.`],
    ['a very long credential', `Bearer ${'x'.repeat(8_000)}`],
  ]
  test.each(headers)('returns 401 for a request with %s', async (_what, authorization) => {
    const response = await world.unauthenticated.get('/files', authorization === undefined ? {} : { authorization })
    expect(toStatusAndCode(response)).toEqual([401, 'unauthenticated'])
  })

  test('rejects an invalid credential before reading the body', async () => {
    expect(
      toStatusAndCode(await world.unauthenticated.post('/api-keys', '{broken', { 'content-type': 'application/json' })),
    ).toEqual([401, 'unauthenticated'])
    expect(toStatusAndCode(await world.unauthenticated.post('/files/upload', 'not multipart'))).toEqual([401, 'unauthenticated'])
  })
})

test('checks the scope before validating the request', async () => {
  const key = await tenant.createKey(['upload'])
  const response = await key.post('/api-keys', { name: '' })
  expect(toStatusAndCode(response)).toEqual([403, 'forbidden'])
  expect(response.body.message).toContain("'admin'")
  expect(toStatusAndCode(await key.get('/files?page=0'))).toEqual([403, 'forbidden'])
})

describe('404 responses', () => {
  test.each([
    '/',
    '',
    '/nothing',
    '/files/a/b/c',
    '/api-keys//enable',
    '/files//metadata',
    '/stats/charts',
    '/audit-logs/entity/file',
    '/files/%zz',
  ])('returns 404 for the unknown path %s', async (path) => {
    expect(toStatusAndCode(await tenant.admin.get(path))).toEqual([404, 'not_found'])
  })
  test.each(['/api', '/api/v2/files', '/api/v1files', '//api/v1/files'])(
    'returns 404 for the path %s, which is outside the API',
    async (path) => {
      expect(toStatusAndCode(await tenant.admin.raw(path))).toEqual([404, 'not_found'])
    },
  )
  test.each([
    'file_00000000000000000000000000',
    'file_',
    'nonsense',
    '%00',
    '%F0%9F%98%80',
    'x'.repeat(3_000),
    "'; DROP TABLE files",
  ])('returns 404 for the unknown file %s', async (id) => {
    for (const path of [`/files/${id}`, `/files/${id}/metadata`, `/files/${id}/validation`])
      expect(toStatusAndCode(await tenant.admin.get(path))).toEqual([404, 'not_found'])
    expect(toStatusAndCode(await tenant.admin.delete(`/files/${id}`))).toEqual([404, 'not_found'])
  })
})

test('lists the allowed methods in a 405 response', async () => {
  const methods = ['GET', 'POST', 'PATCH', 'DELETE', 'PUT']
  const paths = [...new Set(routes.map(({ path }) => path))]
  for (const path of paths) {
    const own = routes.filter((route) => route.path === path).map(({ method }) => method as string)
    for (const method of methods.filter((name) => !own.includes(name))) {
      const response = await tenant.admin.rest(method, path.replace(/\{\w+\}/g, 'x'))
      expect([method, path, ...toStatusAndCode(response)]).toEqual([method, path, 405, 'method_not_allowed'])
      const allow = response.headers.get('allow')!.split(', ')
      expect(allow.filter((name) => name !== 'HEAD').sort()).toEqual([...own].sort())
      expect(response.body.error.details.allowed).toEqual(allow)
    }
  }
})

test.each([
  '/health/live',
  '/health/ready',
  '/metrics',
  '/.well-known/jwks.json',
  '/download/x',
  '/api/v1/openapi.json',
  '/docs',
])('returns 405 for write methods at the read-only path %s', async (path) => {
  const response = await tenant.admin.raw(path, { method: 'POST' })
  expect([...toStatusAndCode(response), response.headers.get('allow')]).toEqual([405, 'method_not_allowed', 'GET, HEAD'])
})

describe('JSON request bodies', () => {
  test.each(routes.filter(({ method, body }) => method !== 'GET' && !body))(
    'rejects an unknown field in the body of $method $path and names the field',
    async ({ method, path }) => {
      const place = path.replace(/\{\w+\}/g, 'x')
      const response = await tenant.admin.rest(method, place, { why: 'x' })
      expect(toStatusAndCode(response)).toEqual([400, 'bad_user_input'])
      expect(response.body.error.details.fields).toEqual([{ field: 'why', message: 'is not a member of this request' }])
      expect((await tenant.admin.rest(method, place, {})).status).not.toBe(400)
    },
  )

  const json = { 'content-type': 'application/json' }
  const damaged: [string, string | Uint8Array][] = [
    ['with invalid syntax', '{"name": '],
    ['with an array', '[]'],
    ['with the value null', 'null'],
    ['with a number', '7'],
    ['with a string', '"x"'],
    ['with two values', '{}{}'],
    ['of more than 1 MiB', `{"name":"${'x'.repeat(1_048_576)}"}`],
  ]
  test.each(damaged)('returns 400 for a JSON body %s', async (_what, body) => {
    expect(getInvalidFields(await tenant.admin.rest('POST', '/api-keys', body, json))).toEqual(['body'])
  })
  test('returns 400 for a JSON body with invalid UTF-8', async () => {
    const response = await tenant.admin.raw('/api/v1/api-keys', {
      method: 'POST',
      headers: json,
      body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
    })
    expect(getInvalidFields(response)).toEqual(['body'])
  })
  test('reports the required fields if the JSON body is missing', async () => {
    expect(getInvalidFields(await tenant.admin.post('/api-keys'))).toEqual(['name'])
    expect(getInvalidFields(await tenant.admin.post('/contexts'))).toEqual([
      'allowed_extensions',
      'context_key',
      'display_name',
      'max_file_size_mb',
    ])
  })
  test.each(['text/plain', 'application/xml', 'multipart/form-data; boundary=x', 'application/jsonp', 'x'])(
    'returns 415 for a JSON request with the content type %s',
    async (type) => {
      const response = await tenant.admin.post('/api-keys', '{"name":"x"}', { 'content-type': type })
      expect(toStatusAndCode(response)).toEqual([415, 'unsupported_media_type'])
    },
  )
  test('accepts a JSON content type with a charset parameter, uppercase letters or +json', async () => {
    for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/merge-patch+json'])
      getData(await tenant.admin.patch('/tenant', '{"name":"x"}', { 'content-type': type }))
  })
})

test('returns 415 for a non-multipart upload and 400 for malformed multipart data', async () => {
  for (const type of ['application/json', 'application/octet-stream', 'multipart/mixed; boundary=x'])
    expect(toStatusAndCode(await tenant.admin.post('/files/upload', 'x', { 'content-type': type }))).toEqual([
      415,
      'unsupported_media_type',
    ])
  expect(getInvalidFields(await tenant.admin.post('/files/upload', 'x', { 'content-type': 'multipart/form-data' }))).toEqual([
    'body',
  ])
  for (const body of ['', 'x', '--x\r\n', '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\ntrunc'])
    expect(
      getInvalidFields(await tenant.admin.post('/files/upload', body, { 'content-type': 'multipart/form-data; boundary=x' })),
    ).toEqual(['body'])
})

describe('application/problem+json errors (RFC 9457)', () => {
  test('includes all information from the default error format in a problem+json error', async () => {
    const plain = await tenant.admin.get('/files?page=0')
    const response = await tenant.admin.get('/files?page=0', { accept: 'application/problem+json' })
    expect(response.status).toBe(400)
    expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/)
    expect(response.body).toEqual({
      type: expect.stringContaining('bad_user_input'),
      title: expect.stringMatching(/\S/),
      status: 400,
      detail: plain.body.message,
      instance: expect.stringContaining(response.headers.get('x-request-id')!),
      code: 'bad_user_input',
      details: plain.body.error.details,
    })
  })
  test('returns problem+json for errors that occur before routing', async () => {
    const headers = { accept: 'application/json;q=0.5, application/problem+json' }
    for (const [status, path] of [
      [404, '/api/v1/nothing'],
      [404, '/nothing'],
      [405, '/api/v1/stats'],
      [401, '/api/v1/files'],
    ] as const) {
      const caller = status === 401 ? world.unauthenticated : tenant.admin
      const response = await caller.raw(path, { headers, method: status === 405 ? 'PUT' : 'GET' })
      expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/)
      expect(response.body).toMatchObject({ status, code: expect.any(String), detail: expect.any(String) })
      expect(Object.keys(response.body).sort()).toEqual(['code', 'detail', 'details', 'instance', 'status', 'title', 'type'])
    }
  })
  test('does not apply the problem+json format to successful responses', async () => {
    getData(await tenant.admin.get('/files', { accept: 'application/problem+json' }))
  })
})

test('logs the details of an unexpected error with the request id, and hides them from the client', async () => {
  const { files } = world.app.services
  const real = files.list
  files.list = () => Promise.reject(new Error('an internal detail'))
  const requestIds: string[] = []
  try {
    const response = await tenant.admin.get('/files')
    requestIds.push(response.body.request_id)
    expect(toStatusAndCode(response)).toEqual([500, 'internal_server_error'])
    expect(JSON.stringify(response.body)).not.toContain('an internal detail')
    const byGraphql = await tenant.admin.graphql('{ files { data { fileId } } }')
    expect(byGraphql.body.errors[0]).toMatchObject({ extensions: { code: 'INTERNAL_SERVER_ERROR' } })
    expect(JSON.stringify(byGraphql.body)).not.toContain('an internal detail')
    requestIds.push(byGraphql.headers.get('x-request-id')!)
  } finally {
    files.list = real
  }
  const lines = world.log.text.split('\n').filter((line) => line.includes('an internal detail'))
  expect(lines.map((line) => JSON.parse(line).req)).toEqual(requestIds)
})

test('returns the headers but no body for a HEAD request', async () => {
  const response = await fetch(`${world.url}/api/v1/contexts`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${tenant.admin.credential}` },
  })
  expect([response.status, await response.text()]).toEqual([200, ''])
  expect(response.headers.get('x-request-id')).toMatch(/^req_/)
})

test('adds a timestamp to the response body', async () => {
  expect((await tenant.admin.get('/files')).body.timestamp).toEqual(anyTimestamp)
})

test('rejects an unknown query parameter and suggests the nearest known parameter', async () => {
  const cases: [string, string, string][] = [
    ['GET', '/files?pagesize=5', "`pagesize` is not a query parameter of this endpoint. Did you mean 'page_size'?"],
    ['GET', '/contexts/notes?colour=red', '`colour` is not a query parameter of this endpoint'],
    ['DELETE', '/files/file_x?force=1', '`force` is not a query parameter of this endpoint'],
    ['GET', '/stats/logs?operatoin=upload', "Did you mean 'operation'?"],
    ['GET', '/stats/logs/export?operatoin=upload', "Did you mean 'operation'?"],
    ['GET', '/audit-logs/entity/context/x?entity_id=y', '`entity_id` is not a query parameter of this endpoint'],
  ]
  for (const [method, path, message] of cases) {
    const response = await tenant.admin.rest(method, path)
    expect([path, response.status, response.body.error.code]).toEqual([path, 400, 'bad_user_input'])
    expect(response.body.message).toContain(message)
  }
  const posted = await tenant.admin.post('/contexts?dry_run=1', {})
  expect(getInvalidFields(posted)).toContain('dry_run')
  // The error lists every invalid parameter, and the log entry contains the key name.
  expect(getInvalidFields(await tenant.admin.get('/files?page=0&pgae=1'))).toEqual(expect.arrayContaining(['page', 'pgae']))
  const member = await tenant.admin.post('/api-keys', { name: 'x', scope: ['upload'] })
  expect(member.body.message).toContain("Did you mean 'scopes'?")
})

describe('invalid numbers in queries', () => {
  const invalid: [text: string, message: string, detail: string][] = [
    ['0', '0', 'must be between 1 and MAX'],
    ['99999', '99999', 'must be between 1 and MAX'],
    ['-5', '-5', 'must be between 1 and MAX'],
    ['99999999999999999999', '99999999999999999999', 'must be between 1 and MAX'],
    ['1.5', '1.5', 'must be a whole number between 1 and MAX'],
    ['ten', '"ten"', 'must be a whole number between 1 and MAX'],
    ['', '""', 'must be a whole number between 1 and MAX'],
  ]
  test('reports the valid range for an invalid numeric query parameter on every list endpoint', async () => {
    const { paths } = (await world.unauthenticated.raw('/api/v1/openapi.json')).body
    const lists: [path: string, parameter: string, max: number][] = []
    for (const [path, { get }] of Object.entries<{ get?: { parameters?: { name: string }[] } }>(paths))
      for (const { name } of get?.parameters ?? []) {
        const max = ({ page_size: 100, limit: 1000, days: 365 } as Record<string, number>)[name]
        if (max) lists.push([path.replace('/api/v1', '').replaceAll(/\{\w+\}/g, 'file'), name, max])
      }
    expect(lists.length).toBeGreaterThan(15)
    for (const [path, name, max] of lists)
      for (const [value, shown, detail] of invalid) {
        const response = await tenant.admin.get(`${path}?${name}=${value}`)
        const range = detail.replace('MAX', String(max))
        expect({ path, value, ...response.body.error }).toEqual({
          path,
          value,
          code: 'bad_user_input',
          details: { fields: [{ field: name, message: range }] },
        })
        expect(response.body.message).toBe(`\`${name}\` is ${shown}. It ${range}.`)
      }
  })
  test('reports the valid range for an invalid number in GraphQL and event streams', async () => {
    const rejected = await tenant.admin.graphql('{ files(pageSize: 500) { pagination { totalItems } } }')
    expect(rejected.body.errors[0]).toMatchObject({
      message: '`pageSize` is 500. It must be between 1 and 100.',
      extensions: { code: 'BAD_USER_INPUT', details: { fields: [{ field: 'pageSize', message: 'must be between 1 and 100' }] } },
    })
    const stream = await tenant.admin.get('/events?limit=-1&after=x', { accept: 'text/event-stream' })
    expect(stream.body.message).toBe(
      `\`after\` is "x". It must be a whole number between 0 and ${Number.MAX_SAFE_INTEGER}. \`limit\` is -1. It must be between 1 and 1000.`,
    )
  })
  test('reports invalid numbers together with other invalid fields', async () => {
    const { message } = (await tenant.admin.get('/files?page_size=500&pgae=1&page=-1')).body
    expect(message).toBe(
      "`pgae` is not a query parameter of this endpoint. Did you mean 'page'? `page` is -1. It must be between 1 and 2147483647. `page_size` is 500. It must be between 1 and 100.",
    )
  })
})
