import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { routes } from '../../src/api/rest/routes.js'
import { DocumentedApi } from '../support/documented-api.js'
import { type ApiResponse, type TestTenant, World } from '../support/world.js'

type Json = Record<string, unknown>
/** Schema and examples for a request or response body in one media type. */
interface Described {
  schema: Json
  example?: unknown
  examples?: Record<string, { value: unknown }>
}
const getExamples = ({ example, examples = {} }: Described): unknown[] => [
  ...(example === undefined ? [] : [example]),
  ...Object.values(examples).map(({ value }) => value),
]

let world: World
let api: DocumentedApi
let tenant: TestTenant

beforeAll(async () => {
  world = await World.open({ MAX_UPLOAD_MB: '1' })
  api = new DocumentedApi((await world.unauthenticated.raw('/api/v1/openapi.json')).body)
  tenant = await world.createTenant()
})
afterAll(() => world.close())

/** Visits every `$ref` and nested schema in a part of the document. */
function walk(part: unknown, visit: (node: Json) => void): void {
  if (typeof part !== 'object' || part === null) return
  if (!Array.isArray(part)) visit(part as Json)
  for (const value of Object.values(part)) walk(value, visit)
}

test('serves a valid OpenAPI 3.1 document without requiring a credential', async () => {
  const { status, headers } = await world.unauthenticated.raw('/api/v1/openapi.json')
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
  // Unused components are reported as errors.
  for (const kind of ['schemas', 'responses', 'parameters', 'headers'])
    for (const name of Object.keys(api.document.components[kind])) expect(refs).toContain(`#/components/${kind}/${name}`)
})

test('the OpenAPI document describes every tag, declares every path parameter and uses unique operation ids', () => {
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

test('the OpenAPI document names all response schemas and has a schema for each error code', () => {
  const names = Object.keys(api.document.components.schemas)
  const expected = [
    'File',
    'FileItem',
    'FileMetadata',
    'FilePage',
    'DownloadUrl',
    'CallLog',
    'AuditLog',
    'Stats',
    'ApiCallsChart',
  ]
  expect(names).toEqual(expect.arrayContaining([...expected, 'InvalidExtensionError', 'BadUserInputError', 'CreateContextBody']))
  let unnamed = 0
  for (const { responses } of api.operations)
    walk(responses, ({ type, properties }) => {
      // Envelopes, which have a status field, may be unnamed because their data differs.
      if (type === 'object' && properties !== undefined && !('status' in (properties as Json))) unnamed++
    })
  expect(unnamed).toBe(0)
})

test('provides OpenAPI examples that match the schema of every operation', () => {
  for (const { operationId, requestBody, responses } of api.operations) {
    const json = requestBody?.content['application/json']
    if (json) expect([operationId, api.checker.findErrors(json.example, json.schema)]).toEqual([operationId, []])
    const good = Object.entries(responses).find(([status]) => status.startsWith('2'))![1] as {
      content: Record<string, { schema: Json; example?: unknown }>
    }
    const response = good.content['application/json']
    if (response) expect([operationId, api.checker.findErrors(response.example, response.schema)]).toEqual([operationId, []])
  }
  for (const { content } of Object.values(api.document.components.responses) as { content: Record<string, Described> }[])
    for (const described of Object.values(content))
      for (const example of getExamples(described)) expect(api.checker.findErrors(example, described.schema)).toEqual([])
})

test('provides an example without placeholders for every OpenAPI request and response', () => {
  const isBinary = ({ schema }: Described) => (schema as { contentMediaType?: string }).contentMediaType !== undefined
  for (const { operationId, requestBody, responses } of api.operations) {
    const contents = [requestBody, ...Object.values(responses)] as ({ content?: Record<string, Described> } | undefined)[]
    for (const described of contents.flatMap((each) => Object.values(each?.content ?? {}))) {
      if (isBinary(described)) continue
      const examples = getExamples(described)
      expect([operationId, examples]).not.toEqual([operationId, []])
      expect([operationId, JSON.stringify(examples)]).toEqual([operationId, expect.not.stringMatching(/"(text|string)"|: ?"…"/)])
    }
  }
})

test('runs the example requests of the OpenAPI document in the order of the tour', async () => {
  const other = await World.open({}, world)
  const { admin } = await other.createTenant()
  const send = (operationId: string, method: 'post' | 'patch', path: string) => {
    const { example } = api.operation(operationId).requestBody!.content['application/json'] as Described
    return admin[method](path, example as Json)
  }
  const statuses = []
  for (const [operationId, method, path] of [
    ['createContext', 'post', '/contexts'],
    ['updateContext', 'patch', '/contexts/invoices'],
    ['updateContextPolicy', 'patch', '/contexts/invoices/policy'],
    ['previewContext', 'post', '/contexts/invoices/preview'],
    ['createApiKey', 'post', '/api-keys'],
    ['createUploadLink', 'post', '/upload-links'],
    ['shareLog', 'post', '/log/share'],
    ['updateTenant', 'patch', '/tenant'],
  ] as const) {
    const { status, body } = await send(operationId, method, path)
    statuses.push([operationId, status < 300 ? 'works' : body])
  }
  await other.close()
  expect(statuses).toEqual(statuses.map(([operationId]) => [operationId, 'works']))
})

test('starts Swagger UI with empty filters, so that a list returns all items', () => {
  const filled = api.operations.flatMap(({ operationId, parameters = [] }) =>
    (parameters as { name?: string; in?: string; example?: unknown }[])
      .filter((each) => each.in === 'query' && each.example !== undefined)
      .map(({ name }) => `${operationId} ${name}`),
  )
  expect(filled).toEqual([])
})

test('the GraphQL schema describes its root types', async () => {
  const query = '{ __schema { queryType { description } mutationType { description } subscriptionType { description } } }'
  const { queryType, mutationType, subscriptionType } = (await tenant.admin.graphql(query)).body.data.__schema
  for (const { description } of [queryType, mutationType, subscriptionType]) expect(description).toMatch(/^[A-Z].{20,}\.$/)
})

test('returns the same error details whether the declared size or the streamed size exceeds the limit', async () => {
  await tenant.createContext('sized', { max_file_size_mb: 1 })
  const tooLarge = Buffer.alloc(1_100_000, 'a')
  const received = await tenant.admin.upload('sized', 'large.txt', tooLarge)
  const announced = await tenant.admin.upload('sized', 'larger.txt', Buffer.alloc(3_000_000, 'a'))
  for (const { status, body } of [received, announced]) {
    expect(status).toBe(413)
    expect(body.error.details).toEqual({ size_bytes: expect.any(Number), limit_bytes: 1_048_576 })
    expect(body.error.details.size_bytes).toBeGreaterThan(1_048_576)
  }
})

test('the OpenAPI document lists all documented routes', () => {
  const described = api.operations.map(({ method, path }) => `${method} ${path}`)
  const served = routes.map(({ method, path }) => `${method} /api/v1${path}`)
  const exports = ['GET /api/v1/stats/logs/export', 'GET /api/v1/audit-logs/export']
  const log = ['checkpoint', 'key', 'tile/{tile}'].map((path) => `GET /api/v1/log/${path}`)
  const links = ['GET /upload/{token}', 'POST /upload/{token}', 'PUT /upload/{token}/{filename}']
  expect(described.sort()).toEqual([...served, ...exports, ...log, ...links].sort())
})

test('the OpenAPI document states the required scopes and the idempotent operations', () => {
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
  expect(idempotent.map(({ path }) => path).sort()).toEqual([
    '/api/v1/api-keys',
    '/api/v1/contexts',
    '/api/v1/files/upload',
    '/upload/{token}',
    '/upload/{token}/{filename}',
  ])
})

const createContextBody = (contextKey: string) => ({
  context_key: contextKey,
  display_name: 'A context',
  allowed_extensions: ['.TXT'],
  max_file_size_mb: 1,
})

const listFields = (response: ApiResponse): string[] =>
  (response.body.error?.details?.fields ?? []).map(({ field }: { field: string }) => field)

test('treats null as an omitted field in create requests but rejects it in updates', async () => {
  const create = api.operation('createContext').requestBody!.content['application/json']!.schema
  const body = { ...createContextBody('nulls'), description: null, storage_quota_mb: null, metadata: null }
  expect(api.checker.findErrors(body, create)).toEqual([])
  expect((await tenant.admin.post('/contexts', body)).status).toBe(201)
  const change = api.operation('updateContext').requestBody!.content['application/json']!.schema
  for (const name of Object.keys((change as { properties: Json }).properties)) {
    expect(api.checker.findErrors({ [name]: null }, change)).not.toEqual([])
    expect(listFields(await tenant.admin.patch('/contexts/nulls', { [name]: null }))).toEqual([name])
  }
})

test("the OpenAPI document states the service's default values", async () => {
  const schema = api.operation('createContext').requestBody!.content['application/json']!.schema
  const defaults = Object.entries((schema as { properties: Record<string, Json> }).properties).flatMap(([name, property]) =>
    'default' in property ? [[name, property.default]] : [],
  )
  expect(defaults.length).toBeGreaterThan(4)
  expect((await tenant.admin.post('/contexts', createContextBody('plain'))).body.data).toMatchObject(Object.fromEntries(defaults))
})

test('returns 304 for the OpenAPI document if the client has the current version', async () => {
  const { headers } = await world.unauthenticated.raw('/api/v1/openapi.json')
  // A raw request is used because fetch adds its own Cache-Control header.
  const again = get(`${world.url}/api/v1/openapi.json`, { headers: { 'if-none-match': headers.get('etag')! }, agent: false })
  const [response] = (await once(again, 'response')) as [IncomingMessage]
  response.resume()
  expect(response.statusCode).toBe(304)
  const put = await world.unauthenticated.raw('/api/v1/openapi.json', { method: 'PUT' })
  expect([put.status, put.headers.get('allow'), put.body.error.code]).toEqual([405, 'GET, HEAD', 'method_not_allowed'])
})

test('serves the page at /docs with all of its files and without inline scripts', async () => {
  const page = await world.unauthenticated.raw('/docs')
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

test('returns 404 for Swagger UI package files that the page at /docs does not use', async () => {
  for (const path of ['index.html', 'package.json', 'swagger-initializer.js', '..%2Fpackage.json', 'constructor', '__proto__'])
    expect((await world.unauthenticated.raw(`/docs/${path}`)).status).toBe(404)
  const redirect = await fetch(`${world.url}/docs/`, { redirect: 'manual' })
  expect([redirect.status, new URL(redirect.headers.get('location')!, `${world.url}/docs/`).pathname]).toEqual([308, '/docs'])
})

test('serves /llms.txt as plain text with valid links', async () => {
  const page = await world.unauthenticated.raw('/llms.txt')
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
  expect(page.body).toMatch(/^# Assay\n\n> \S/)
  const links = [...(page.body as string).matchAll(/^- \[[^\]]+\]\(([^)]+)\): \S/gm)].map(([, address]) => address!)
  expect(links).toContain('api/v1/openapi.json')
  for (const address of links) expect([address, (await world.unauthenticated.raw(`/${address}`)).status]).toEqual([address, 200])
})

test('shows links to REST and GraphQL on the front page if the dashboard is off', async () => {
  const plain = await World.open({ DASHBOARD: 'off' }, world)
  const page = await plain.unauthenticated.raw('/')
  await plain.close()
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; (?!.*script-src)/)
  expect(page.body).not.toMatch(/<script|https?:/)
  for (const address of ['docs', 'graphql', 'api/v1/openapi.json']) expect(page.body).toContain(`href="${address}"`)
  const icon = await fetch(`${world.url}/favicon.ico`)
  expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/png'])
  expect((await world.unauthenticated.raw('/', { method: 'POST' })).headers.get('allow')).toBe('GET, HEAD')
})

test('the front page links only to existing pages in production', async () => {
  const production = await World.open({ DASHBOARD: 'off', NODE_ENV: 'production' }, world)
  const { body } = await production.unauthenticated.raw('/')
  const links = [...body.matchAll(/href="([^"]+)"/g)].map(([, address]) => address)
  expect(links).toEqual(expect.arrayContaining(['docs', 'health/ready']))
  for (const address of links) {
    const { status } = await production.unauthenticated.raw(`/${address}`, { headers: { accept: 'text/html,*/*;q=0.8' } })
    expect([address, status]).toEqual([address, 200])
  }
  expect(body).toContain('POST /graphql')
  await production.close()
})

test.each(['br', 'gzip'])('compresses the files at /docs with %s if the client accepts it', async (encoding) => {
  for (const path of ['/docs', '/docs/swagger-ui-bundle.js', '/api/v1/openapi.json']) {
    const sizes = await Promise.all(
      ['identity', encoding].map(async (accepted) => {
        const pending = get(`${world.url}${path}`, { headers: { 'accept-encoding': accepted }, agent: false })
        const [response] = (await once(pending, 'response')) as [IncomingMessage]
        expect([response.statusCode, response.headers['content-encoding']]).toEqual([
          200,
          accepted === encoding ? encoding : undefined,
        ])
        expect(response.headers.vary).toContain('Accept-Encoding')
        let size = 0
        for await (const chunk of response) size += chunk.length
        return size
      }),
    )
    expect(sizes[1]! * (path === '/docs' ? 1 : 3)).toBeLessThan(sizes[0]!)
  }
})

test('serves Apollo Sandbox to a browser with a content security policy that permits it', async () => {
  const page = await world.unauthenticated.raw('/graphql?sandbox', { headers: { accept: 'text/html' } })
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html'])
  const policy = page.headers.get('content-security-policy')!
  for (const host of ['embeddable-sandbox.cdn', 'sandbox.embed']) expect(policy).toContain(`https://${host}.apollographql.com`)
  expect(policy).toContain("default-src 'none'")
})
