import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { routes } from '../../src/rest/routes.js'
import { Documented, type DocumentedOperation } from '../support/documented.js'
import { eicar } from '../support/eicar.js'
import type { Answer, Caller, TestTenant } from '../support/world.js'
import { World } from '../support/world.js'

type Json = Record<string, unknown>

let world: World
let api: Documented
let tenant: TestTenant
let fileId: string

beforeAll(async () => {
  world = await World.open({ MAX_UPLOAD_MB: '1' })
  api = new Documented((await world.stranger.raw('/api/v1/openapi.json')).body)
  tenant = await world.tenant()
  await tenant.context('notes', { max_file_size_mb: 1 })
  fileId = (await tenant.admin.upload('notes', 'a.txt', 'hello')).body.data.file_id
})
afterAll(() => world.close())

const streams = ['exportCallLogs', 'exportAuditLogs']
const ofTable = () => api.operations.filter(({ operationId }) => !streams.includes(operationId))

/** Every `$ref` and every schema below a part of the document. */
function walk(part: unknown, visit: (node: Json) => void): void {
  if (typeof part !== 'object' || part === null) return
  if (!Array.isArray(part)) visit(part as Json)
  for (const value of Object.values(part)) walk(value, visit)
}

test('the document is OpenAPI 3.1, for anybody, and every reference in it resolves', async () => {
  const { status, headers } = await world.stranger.raw('/api/v1/openapi.json')
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
  expect(api.document).toMatchObject({
    openapi: '3.1.0',
    info: { title: 'Assay', version: expect.stringMatching(/^\d+\.\d+\.\d+$/) },
    components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
  })
  const refs: string[] = []
  walk(api.document, ({ $ref }) => typeof $ref === 'string' && refs.push($ref))
  expect(refs.length).toBeGreaterThan(100)
  for (const ref of refs) expect(api.checker.resolve(ref)).toBeInstanceOf(Object)
  // Nothing that is described is used nowhere.
  for (const kind of ['schemas', 'responses', 'parameters', 'headers'])
    for (const name of Object.keys(api.document.components[kind])) expect(refs).toContain(`#/components/${kind}/${name}`)
})

test('operation ids are unique, tags are described, and the parameters of a path are declared', () => {
  const ids = api.operations.map(({ operationId }) => operationId)
  expect(new Set(ids).size).toBe(ids.length)
  const tags = (api.document.tags as { name: string }[]).map(({ name }) => name)
  for (const operation of api.operations) {
    expect(tags).toEqual(expect.arrayContaining((operation as unknown as { tags: string[] }).tags))
    const declared = operation.parameters.filter((parameter) => parameter.in === 'path')
    expect(declared.map(({ name }) => `{${name}}`)).toEqual(operation.path.match(/\{\w+\}/g) ?? [])
    expect(declared.every(({ required }) => required)).toBe(true)
  }
})

test('its operations are those of the route table, and the two exports', () => {
  const described = api.operations.map(({ method, path }) => `${method} ${path}`)
  const served = routes.map(({ method, path }) => `${method} /api/v1${path}`)
  const exports = ['GET /api/v1/stats/logs/export', 'GET /api/v1/audit-logs/export']
  expect(described.sort()).toEqual([...served, ...exports].sort())
})

test('it tells the scopes of contract §2, and who takes an Idempotency-Key', () => {
  const scopes = Object.fromEntries(api.operations.map(({ operationId, scope }) => [operationId, scope]))
  expect(scopes).toMatchObject({
    listContexts: null,
    getContext: null,
    uploadFile: 'upload',
    validateFile: 'upload',
    createDownloadUrl: 'download',
    getStats: 'metadata',
    deleteFile: 'delete',
    createContext: 'admin',
    getTenant: 'admin',
    exportCallLogs: 'metadata',
    exportAuditLogs: 'admin',
  })
  const idempotent = api.operations.filter(({ parameters }) => parameters.some(({ name }) => name === 'Idempotency-Key'))
  expect(idempotent.map(({ path }) => path).sort()).toEqual(['/api/v1/api-keys', '/api/v1/contexts', '/api/v1/files/upload'])
})

/** A call of the operation with good values, unless `more` says otherwise. */
function call(
  caller: Caller,
  { operationId, method, path }: DocumentedOperation,
  more: { values?: Record<string, string>; query?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const values: Record<string, string> = {
    api_key_id: tenant.admin.id,
    context_key: 'notes',
    file_id: fileId,
    entity_type: 'context',
    entity_id: 'ctx_unknown',
    ...more.values,
  }
  const below = path.slice('/api/v1'.length).replaceAll(/\{(\w+)\}/g, (_all, name) => encodeURIComponent(values[name]!))
  const url = below + (more.query ?? '')
  if (/multipart/.test(Object.keys(api.operation(operationId).requestBody?.content ?? {}).join()) && more.body === undefined)
    return caller.upload('notes', 'b.txt', 'good', { path: url, ...(more.headers && { headers: more.headers }) })
  return caller.rest(
    method,
    url,
    more.body ?? (method === 'PATCH' || operationId === 'rotateApiKey' ? {} : undefined),
    more.headers,
  )
}

/** Every route once, in an order in which each can succeed: created first, deleted last. */
async function everySuccess(): Promise<[string, Answer][]> {
  const { admin } = tenant
  const key = await admin.post('/api-keys', { name: 'Robot', scopes: ['upload', 'metadata'], expires_in_days: 30 })
  const values = { api_key_id: key.body.data.api_key_id as string, context_key: 'gone' }
  const context = await admin.post('/contexts', contextBody('gone'))
  const uploaded = await admin.upload('notes', 'doomed.txt', 'doomed', { metadata: { page: 1 } })
  await admin.upload('notes', 'blank.txt', ' ')
  const known: Record<string, Answer> = { createApiKey: key, createContext: context, uploadFile: uploaded }
  const rank = (id: string) => ['disableApiKey', 'enableApiKey', 'rotateApiKey', 'revokeApiKey'].indexOf(id)
  const order = ofTable().sort((a, b) => rank(a.operationId) - rank(b.operationId))
  const answers: [string, Answer][] = []
  for (const operation of order) {
    const { operationId } = operation
    const doomed: Record<string, string> = operationId === 'deleteFile' ? { file_id: uploaded.body.data.file_id } : {}
    answers.push([operationId, known[operationId] ?? (await call(admin, operation, { values: { ...values, ...doomed } }))])
  }
  return answers
}

const contextBody = (contextKey: string) => ({
  context_key: contextKey,
  display_name: 'A context',
  allowed_extensions: ['.TXT'],
  max_file_size_mb: 1,
})

test('every success is as described', async () => {
  for (const [operationId, answer] of await everySuccess()) {
    expect([operationId, answer.status < 300, answer.body.status]).toEqual([operationId, true, 'SUCCESS'])
    expect(api.faultsOf(operationId, answer)).toEqual([])
  }
  // Not only empty lists.
  for (const path of ['/files', '/contexts', '/api-keys', '/stats/logs', '/audit-logs'])
    expect((await tenant.admin.get(path)).body.data.data.length).toBeGreaterThan(0)
})

test('no credential, a lacking scope and an unknown thing are refused as described, on every route', async () => {
  const weak = await tenant.key(['upload'])
  const deleter = await tenant.key(['delete'])
  for (const operation of ofTable()) {
    const { operationId, scope } = operation
    const problem = await call(world.stranger, operation, { headers: { accept: 'application/problem+json' } })
    expect(problem.headers.get('content-type')).toMatch(/^application\/problem\+json/)
    const answers: [number, Answer][] = [
      [401, await call(world.stranger, operation)],
      [401, problem],
    ]
    if (scope) answers.push([403, await call(scope === 'upload' ? deleter : weak, operation)])
    if (operation.responses['404'] && operation.path.includes('{'))
      answers.push([404, await call(tenant.admin, operation, { values: { api_key_id: 'x', context_key: 'x', file_id: 'x' } })])
    for (const [status, answer] of answers) {
      expect([operationId, answer.status]).toEqual([operationId, status])
      expect(api.faultsOf(operationId, answer)).toEqual([])
    }
  }
})

/** Values that a schema refuses, as far as it has limits. */
function wrong(schema: Json): unknown[] {
  const { minimum, maximum, minLength, maxLength, pattern, minItems, maxItems, type } = schema as Record<
    string,
    number | undefined
  >
  const items = (length: number) => Array.from({ length }, () => 'txt')
  return [
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined ? [] : [maximum + 1]),
    ...(minLength === undefined ? [] : ['x'.repeat(minLength - 1)]),
    ...(maxLength === undefined ? [] : ['x'.repeat(maxLength + 1)]),
    ...(pattern === undefined ? [] : ['Ä !']),
    ...(minItems === undefined ? [] : [items(minItems - 1)]),
    ...(maxItems === undefined ? [] : [items(maxItems + 1)]),
    ...([type].flat().includes('string' as never) ? [] : ['no such value']),
  ]
}

const fieldsOf = (answer: Answer): string[] =>
  (answer.body.error?.details?.fields ?? []).map(({ field }: { field: string }) => field)

test('the limits of query parameters are the real ones, both ways', async () => {
  let tried = 0
  for (const operation of ofTable()) {
    for (const { name, schema, ...parameter } of operation.parameters) {
      if (parameter.in !== 'query') continue
      const enumeration = typeof schema.$ref === 'string' ? api.checker.resolve(schema.$ref).enum : undefined
      const good = enumeration
        ? (enumeration as string[])
        : [schema.minimum, schema.maximum].filter((value) => value !== undefined)
      for (const value of good) {
        const answer = await call(tenant.admin, operation, { query: `?${name}=${value}` })
        expect([operation.operationId, name, value, answer.status]).toEqual([operation.operationId, name, value, 200])
        expect(api.faultsOf(operation.operationId, answer)).toEqual([])
      }
      for (const value of enumeration || schema.minimum !== undefined ? wrong(schema) : []) {
        const answer = await call(tenant.admin, operation, { query: `?${name}=${value}` })
        expect([operation.operationId, answer.status, fieldsOf(answer)]).toEqual([operation.operationId, 400, [name]])
        expect(api.faultsOf(operation.operationId, answer)).toEqual([])
        tried++
      }
    }
  }
  expect(tried).toBeGreaterThan(40)
})

test('the limits of JSON bodies are the real ones, and a member that is not described is refused', async () => {
  let tried = 0
  for (const operation of ofTable()) {
    const schema = operation.requestBody?.content['application/json']?.schema as { properties: Record<string, Json> } | undefined
    if (!schema) continue
    for (const [name, property] of Object.entries(schema.properties)) {
      for (const value of wrong(property)) {
        expect(api.checker.faults(value, property)).not.toEqual([])
        const answer = await call(tenant.admin, operation, { body: { [name]: value } })
        expect([operation.operationId, name, value, answer.status]).toEqual([operation.operationId, name, value, 400])
        expect(fieldsOf(answer)).toContain(name)
        expect(api.faultsOf(operation.operationId, answer)).toEqual([])
        tried++
      }
    }
    const unknown = await call(tenant.admin, operation, { body: { colour: 'red' } })
    expect(fieldsOf(unknown)).toContain('colour')
    const untyped = await call(tenant.admin, operation, { body: 'x', headers: { 'content-type': 'text/plain' } })
    expect([untyped.status, api.faultsOf(operation.operationId, untyped)]).toEqual([415, []])
  }
  expect(tried).toBeGreaterThan(40)
})

test('null means left out in what creates, and is a fault in what changes, as described', async () => {
  const create = api.operation('createContext').requestBody!.content['application/json']!.schema
  const body = { ...contextBody('nulls'), description: null, storage_quota_mb: null, metadata: null }
  expect(api.checker.faults(body, create)).toEqual([])
  expect((await tenant.admin.post('/contexts', body)).status).toBe(201)
  const change = api.operation('updateContext').requestBody!.content['application/json']!.schema
  for (const name of Object.keys((change as { properties: Json }).properties)) {
    expect(api.checker.faults({ [name]: null }, change)).not.toEqual([])
    expect(fieldsOf(await tenant.admin.patch('/contexts/nulls', { [name]: null }))).toEqual([name])
  }
})

test('defaults are the real ones', async () => {
  const schema = api.operation('createContext').requestBody!.content['application/json']!.schema
  const defaults = Object.entries((schema as { properties: Record<string, Json> }).properties).flatMap(([name, property]) =>
    'default' in property ? [[name, property.default]] : [],
  )
  expect(defaults.length).toBeGreaterThan(4)
  expect((await tenant.admin.post('/contexts', contextBody('plain'))).body.data).toMatchObject(Object.fromEntries(defaults))
})

test('every way to refuse an upload is as described', async () => {
  const { admin } = tenant
  await tenant.context('tiny', { storage_quota_mb: 1, max_file_size_mb: 1 })
  await tenant.context('shut', { max_file_size_mb: 1 })
  await admin.patch('/contexts/shut', { status: 'disabled' })
  const megabyte = 'x'.repeat(1_048_576)
  await admin.upload('tiny', 'full.txt', megabyte)
  await admin.upload('notes', 'once.txt', 'one', { headers: { 'idempotency-key': 'twice' } })
  const refused: [number, string, Answer][] = [
    [400, 'bad_user_input', await admin.upload(undefined, 'a.txt', 'x')],
    [404, 'not_found', await admin.upload('nowhere', 'a.txt', 'x')],
    [409, 'conflict', await admin.upload('shut', 'a.txt', 'x')],
    [409, 'idempotency_mismatch', await admin.upload('notes', 'b.txt', 'two', { headers: { 'idempotency-key': 'twice' } })],
    [413, 'size_exceeded', await admin.upload('notes', 'a.txt', `${megabyte}x`)],
    [415, 'unsupported_media_type', await admin.post('/files/upload', { context: 'notes' })],
    [422, 'invalid_extension', await admin.upload('notes', 'a.exe', 'x')],
    [422, 'blank_file', await admin.upload('notes', 'a.txt', ' \n')],
    [422, 'corrupt_file', await admin.upload('notes', 'a.pdf', '%PDF-1.7\nno more')],
    [422, 'virus_detected', await admin.upload('notes', 'a.txt', eicar)],
    [422, 'quota_exceeded', await admin.upload('tiny', 'a.txt', 'x')],
  ]
  for (const [status, code, answer] of refused) {
    expect([answer.status, answer.body.error.code]).toEqual([status, code])
    expect(api.faultsOf('uploadFile', answer)).toEqual([])
  }
})

test('every way to refuse a dry run is as described', async () => {
  const dryRun = (context: string | undefined, content: string) =>
    tenant.admin.upload(context, 'a.txt', content, { path: '/files/validate' })
  const refused: [number, Answer][] = [
    [400, await dryRun(undefined, 'x')],
    [404, await dryRun('nowhere', 'x')],
    [409, await dryRun('shut', 'x')],
    [413, await dryRun('notes', 'x'.repeat(1_300_000))],
    [415, await tenant.admin.post('/files/validate', { context: 'notes' })],
  ]
  for (const [status, answer] of refused) {
    expect(answer.status).toBe(status)
    expect(api.faultsOf('validateFile', answer)).toEqual([])
  }
})

test('a suspended tenant is refused everywhere, as described', async () => {
  const other = await world.tenant()
  await world.app.services.tenants.suspend(other.tenantId)
  for (const operation of ofTable()) {
    const answer = await call(other.admin, operation)
    expect([operation.operationId, answer.status]).toEqual([operation.operationId, 403])
    expect(api.faultsOf(operation.operationId, answer)).toEqual([])
  }
})

test('conflicts, a scanner that is away and a rate limit are as described', async () => {
  const { admin } = tenant
  const key = await tenant.key(['upload'])
  const once = { 'idempotency-key': 'a-key-once' }
  await admin.post('/api-keys', { name: 'Once' }, once)
  const conflicts: [string, Answer][] = [
    ['createApiKey', await admin.post('/api-keys', { name: 'Once' }, once)],
    ['createContext', await admin.post('/contexts', contextBody('notes'))],
    ['deleteContext', await admin.delete('/contexts/notes')],
    ['enableApiKey', await admin.post(`/api-keys/${key.id}/enable`)],
    ['disableApiKey', (await admin.post(`/api-keys/${key.id}/revoke`)) && (await admin.post(`/api-keys/${key.id}/disable`))],
    ['revokeApiKey', await admin.post(`/api-keys/${key.id}/revoke`)],
    ['rotateApiKey', await admin.post(`/api-keys/${key.id}/rotate`)],
  ]
  for (const [operationId, answer] of conflicts) {
    expect([operationId, answer.status]).toEqual([operationId, 409])
    expect(api.faultsOf(operationId, answer)).toEqual([])
  }
  const poor = await World.open({ SCANNER_URL: 'none:', RATE_LIMIT_PER_MINUTE: '2' }, world)
  try {
    const caller = poor.as((await tenant.key(['upload', 'metadata'])).credential)
    const scannerless = await caller.upload('notes', 'a.txt', 'x')
    expect([scannerless.status, api.faultsOf('uploadFile', scannerless)]).toEqual([503, []])
    // A minute may end in between, once.
    let limited = await caller.get('/files')
    for (let more = 4; more > 0 && limited.status === 200; more--) limited = await caller.get('/files')
    expect([limited.status, api.faultsOf('listFiles', limited)]).toEqual([429, []])
  } finally {
    await poor.close()
  }
})

test('the exports are as described: their rows, their columns, their refusals', async () => {
  const weak = await tenant.key(['upload'])
  for (const operationId of streams) {
    const operation = api.operation(operationId)
    const row = (operation.responses['200'] as { content: Record<string, { schema: Json }> }).content['application/x-ndjson']!
      .schema
    const ndjson = await call(tenant.admin, operation)
    const lines = String(ndjson.body).trimEnd().split('\n')
    expect(lines.length).toBeGreaterThan(3)
    for (const line of lines) expect(api.checker.faults(JSON.parse(line), row)).toEqual([])
    const csv = await call(tenant.admin, operation, { query: '?format=csv' })
    expect(api.faultsOf(operationId, csv)).toEqual([])
    const { required } = (typeof row.$ref === 'string' ? api.checker.resolve(row.$ref) : row) as { required: string[] }
    expect(String(csv.body).split('\r\n')[0]).toBe(required.join(','))
    const refused: [number, Answer][] = [
      [400, await call(tenant.admin, operation, { query: '?format=xml' })],
      [401, await call(world.stranger, operation)],
      [403, await call(weak, operation)],
    ]
    for (const [status, answer] of refused) expect([answer.status, api.faultsOf(operationId, answer)]).toEqual([status, []])
  }
})

test('whatever is described was seen above, but for what takes an outage or too many calls', () => {
  const seldom = ['429', '500', '503']
  const described = api.operations.flatMap(({ operationId, responses }) =>
    Object.keys(responses).flatMap((status) => (seldom.includes(status) ? [] : [`${operationId} ${status}`])),
  )
  expect(described.filter((answer) => !api.seen.has(answer))).toEqual([])
})

test('the document is not changed by PUT, and is sent once to whom has it', async () => {
  const { headers } = await world.stranger.raw('/api/v1/openapi.json')
  // Not by fetch, which asks for a fresh one by a Cache-Control of its own.
  const again = get(`${world.url}/api/v1/openapi.json`, { headers: { 'if-none-match': headers.get('etag')! }, agent: false })
  const [response] = (await once(again, 'response')) as [IncomingMessage]
  response.resume()
  expect(response.statusCode).toBe(304)
  const put = await world.stranger.raw('/api/v1/openapi.json', { method: 'PUT' })
  expect([put.status, put.headers.get('allow'), put.body.error.code]).toEqual([405, 'GET, HEAD', 'method_not_allowed'])
})

test('the page at /docs loads its files from us, under a policy without inline scripts', async () => {
  const page = await world.stranger.raw('/docs')
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const policy = page.headers.get('content-security-policy')!
  expect(policy).toContain("script-src 'self';")
  expect(policy).not.toMatch(/unsafe|https?:/)
  expect(page.body).not.toMatch(/<script>|<style|\bon\w+=|https?:/)
  const files = [...(page.body as string).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address!)
  const types = await Promise.all(
    files.map(async (address) => {
      const response = await fetch(new URL(address, `${world.url}/docs`))
      expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(100)
      return [address, response.status, response.headers.get('content-type')]
    }),
  )
  expect(types).toEqual([
    ['docs/swagger-ui.css', 200, 'text/css; charset=utf-8'],
    ['docs/favicon-32x32.png', 200, 'image/png'],
    ['docs/swagger-ui-bundle.js', 200, 'text/javascript; charset=utf-8'],
    ['docs/start.js', 200, 'text/javascript; charset=utf-8'],
  ])
  expect(await (await fetch(`${world.url}/docs/start.js`)).text()).toContain("url: 'api/v1/openapi.json'")
})

test('nothing else of the packages is served below /docs', async () => {
  for (const path of ['index.html', 'package.json', 'swagger-initializer.js', '..%2Fpackage.json', 'constructor', '__proto__'])
    expect((await world.stranger.raw(`/docs/${path}`)).status).toBe(404)
  const redirect = await fetch(`${world.url}/docs/`, { redirect: 'manual' })
  expect([redirect.status, new URL(redirect.headers.get('location')!, `${world.url}/docs/`).pathname]).toEqual([308, '/docs'])
})

test('a browser is given Apollo Sandbox at /graphql, under a policy that names its hosts', async () => {
  const page = await world.stranger.raw('/graphql', { headers: { accept: 'text/html' } })
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html'])
  const policy = page.headers.get('content-security-policy')!
  for (const host of ['embeddable-sandbox.cdn', 'sandbox.embed']) expect(policy).toContain(`https://${host}.apollographql.com`)
  expect(policy).toContain("default-src 'none'")
})
