import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { DocumentedApi, type DocumentedOperation } from '../support/documented-api.js'
import { eicar } from '../support/eicar.js'
import { LinkClient } from '../support/link-client.js'
import { createQuarantinedFile, holdFile } from '../support/quarantined-file.js'
import { type ApiResponse, type Caller, type TestTenant, World } from '../support/world.js'

type Json = Record<string, unknown>

let world: World
let api: DocumentedApi
let tenant: TestTenant
let fileId: string
let webhookId: string
let callId: string
let shareId: string
let linkId: string

beforeAll(async () => {
  world = await World.open({ MAX_UPLOAD_MB: '1', WEBHOOK_ALLOW_PRIVATE: 'true' })
  api = new DocumentedApi((await world.unauthenticated.raw('/api/v1/openapi.json')).body)
  tenant = await world.createTenant()
  await tenant.createContext('notes', { max_file_size_mb: 1 })
  fileId = (await tenant.admin.upload('notes', 'a.txt', 'hello')).body.data.file_id
  webhookId = (await tenant.admin.post('/webhooks', { url: nowhere })).body.data.webhook_id
  callId = (await tenant.admin.get('/stats/logs?operation=upload')).body.data.data[0].call_id
  linkId = (await tenant.admin.post('/upload-links', { context: 'notes' })).body.data.link_id
  shareId = (await tenant.admin.post('/log/share', {})).body.data.share_id
})
afterAll(() => world.close())

// No server listens at this address.
const nowhere = 'http://127.0.0.1:9/'

const exported = ['exportCallLogs', 'exportAuditLogs']
const ofLog = ['getLogCheckpoint', 'getLogKey', 'getLogTile']
const throughLinks = ['getLinkRules', 'uploadFormThroughLink', 'uploadThroughLink']
const streams = [...exported, ...ofLog, ...throughLinks]
const listJsonOperations = () => api.operations.filter(({ operationId }) => !streams.includes(operationId))

/** Calls an operation with valid values, overridden by `more`. */
function call(
  caller: Caller,
  { operationId, method, path }: DocumentedOperation,
  more: { values?: Record<string, string>; query?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<ApiResponse> {
  const values: Record<string, string> = {
    api_key_id: tenant.admin.id,
    context_key: 'notes',
    file_id: fileId,
    webhook_id: webhookId,
    call_id: callId,
    share_id: shareId,
    link_id: linkId,
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
    more.body ?? (method === 'PATCH' || ['rotateApiKey', 'shareLog'].includes(operationId) ? {} : bodies[operationId]),
    more.headers,
  )
}

const bodies: Record<string, object> = {
  holdFile: { reason: 'A claim.' },
  previewContext: { max_file_size_mb: 1 },
  replayWebhook: { from_sequence: 1 },
  createUploadLink: { context: 'notes' },
  releaseFromQuarantine: { reason: 'Known to us.' },
}

/** Calls every route once in an order in which each call succeeds. */
async function callEveryRoute(): Promise<[string, ApiResponse][]> {
  const { admin } = tenant
  const key = await admin.post('/api-keys', { name: 'Robot', scopes: ['upload', 'metadata'], expires_in_days: 30 })
  const values = { api_key_id: key.body.data.api_key_id as string, context_key: 'gone' }
  const context = await admin.post('/contexts', createContextBody('gone'))
  const uploaded = await admin.upload('notes', 'doomed.txt', 'doomed', { metadata: { page: 1 } })
  await admin.upload('notes', 'blank.txt', ' ')
  const another = await admin.upload('notes', 'doomed.txt', 'doomed')
  const deleted = await admin.post('/files/delete', { file_ids: [another.body.data.file_id, 'x'] })
  const webhook = await admin.post('/webhooks', { url: nowhere })
  const trashed = await createTrashedFiles()
  const known: Record<string, ApiResponse> = {
    createApiKey: key,
    createContext: context,
    uploadFile: uploaded,
    deleteFiles: deleted,
    createWebhook: webhook,
  }
  const rank = (id: string) => ['disableApiKey', 'enableApiKey', 'rotateApiKey', 'revokeApiKey', 'deleteContext'].indexOf(id)
  const order = listJsonOperations().sort((a, b) => rank(a.operationId) - rank(b.operationId))
  const responses: [string, ApiResponse][] = []
  for (const operation of order) {
    const { operationId } = operation
    const doomed: Record<string, Record<string, string>> = {
      deleteFile: { file_id: uploaded.body.data.file_id },
      deleteWebhook: { webhook_id: webhook.body.data.webhook_id },
      restoreFile: { file_id: trashed[0]! },
      purgeFile: { file_id: trashed[1]! },
      ...(/FromQuarantine$/.test(operationId) && {
        [operationId]: { file_id: await createQuarantinedFile(world, tenant, 'notes') },
      }),
    }
    responses.push([
      operationId,
      known[operationId] ?? (await call(admin, operation, { values: { ...values, ...doomed[operationId] } })),
    ])
  }
  return responses
}

async function createTrashedFiles(): Promise<string[]> {
  const { admin } = tenant
  await tenant.createContext('binned', { max_file_size_mb: 1 })
  await admin.patch('/contexts/binned/policy', { trash_days: 1 })
  const ids: string[] = []
  for (const name of ['a.txt', 'b.txt', 'c.txt']) ids.push((await admin.upload('binned', name, name)).body.data.file_id)
  await admin.post('/files/delete', { file_ids: ids })
  return ids
}

const createContextBody = (contextKey: string) => ({
  context_key: contextKey,
  display_name: 'A context',
  allowed_extensions: ['.TXT'],
  max_file_size_mb: 1,
})

test('the OpenAPI document correctly describes every successful response', async () => {
  const responses = await callEveryRoute()
  for (const [operationId, response] of responses) {
    // A preview response is the image or text itself and has no status field.
    const status = operationId === 'getFilePreview' ? undefined : 'SUCCESS'
    expect([operationId, response.status < 300, response.body.status]).toEqual([operationId, true, status])
    expect(api.findMismatches(operationId, response)).toEqual([])
  }
  // The response for a new upload link contains a secret because its URL contains the token.
  const secrets = responses.filter(
    ([operationId, { body }]) =>
      operationId === 'createUploadLink' || ['api_key', 'secret', 'token'].some((name) => name in (body.data ?? {})),
  )
  expect(Object.fromEntries(secrets.map(([operationId, { body }]) => [operationId, body.message]))).toEqual({
    createApiKey: expect.stringMatching(/ cannot be shown again\.$/),
    rotateApiKey: expect.stringMatching(/ cannot be shown again\.$/),
    createWebhook: expect.stringMatching(/ cannot be shown again\.$/),
    rotateWebhookSecret: expect.stringMatching(/ cannot be shown again\.$/),
    shareLog: expect.stringMatching(/ cannot be shown again\.$/),
    createUploadLink: expect.stringMatching(/ cannot be shown again\.$/),
  })
  await createQuarantinedFile(world, tenant, 'notes')
  // Lists must contain items so that their item schemas are tested.
  for (const path of [
    '/files',
    '/contexts',
    '/api-keys',
    '/stats/logs',
    '/audit-logs',
    '/trash',
    '/webhooks',
    '/quarantine',
    `/files/${fileId}/validations`,
    `/webhooks/${webhookId}/deliveries`,
  ])
    expect((await tenant.admin.get(path)).body.data.data.length).toBeGreaterThan(0)
})

test('returns documented errors for a missing credential or scope and for unknown objects', async () => {
  const weak = await tenant.createKey(['upload'])
  const deleter = await tenant.createKey(['delete'])
  for (const operation of listJsonOperations()) {
    const { operationId, scope } = operation
    const problem = await call(world.unauthenticated, operation, { headers: { accept: 'application/problem+json' } })
    expect(problem.headers.get('content-type')).toMatch(/^application\/problem\+json/)
    const responses: [number, ApiResponse][] = [
      [401, await call(world.unauthenticated, operation)],
      [401, problem],
    ]
    if (scope) responses.push([403, await call(scope === 'upload' ? deleter : weak, operation)])
    const unknown = {
      api_key_id: 'x',
      context_key: 'x',
      file_id: 'x',
      call_id: 'x',
      share_id: 'x',
      link_id: 'x',
      webhook_id: 'x',
    }
    if (operation.responses['404'] && operation.path.includes('{'))
      responses.push([404, await call(tenant.admin, operation, { values: unknown })])
    for (const [status, response] of responses) {
      expect([operationId, response.status]).toEqual([operationId, status])
      expect(api.findMismatches(operationId, response)).toEqual([])
    }
  }
})

function createInvalidValues(schema: Json): unknown[] {
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

const listFields = (response: ApiResponse): string[] =>
  (response.body.error?.details?.fields ?? []).map(({ field }: { field: string }) => field)

test('enforces the limits of query parameters exactly as documented', async () => {
  let tried = 0
  for (const operation of listJsonOperations()) {
    for (const { name, schema, ...parameter } of operation.parameters) {
      if (parameter.in !== 'query') continue
      const enumeration = typeof schema.$ref === 'string' ? api.checker.resolve(schema.$ref).enum : undefined
      const good = enumeration
        ? (enumeration as string[])
        : schema.type === 'boolean'
          ? [true, false]
          : [schema.minimum, schema.maximum].filter((value) => value !== undefined)
      for (const value of good) {
        const response = await call(tenant.admin, operation, { query: `?${name}=${value}` })
        expect([operation.operationId, name, value, response.status]).toEqual([operation.operationId, name, value, 200])
        expect(api.findMismatches(operation.operationId, response)).toEqual([])
      }
      for (const value of enumeration || schema.minimum !== undefined || schema.type === 'boolean'
        ? createInvalidValues(schema)
        : []) {
        const response = await call(tenant.admin, operation, { query: `?${name}=${value}` })
        expect([operation.operationId, response.status, listFields(response)]).toEqual([operation.operationId, 400, [name]])
        expect(api.findMismatches(operation.operationId, response)).toEqual([])
        tried++
      }
    }
  }
  expect(tried).toBeGreaterThan(40)
})

test('enforces the limits of JSON bodies and rejects undocumented fields', async () => {
  let tried = 0
  for (const operation of listJsonOperations()) {
    const schema = operation.requestBody?.content['application/json']?.schema as { properties: Record<string, Json> } | undefined
    if (!schema) continue
    for (const [name, property] of Object.entries(schema.properties)) {
      for (const value of createInvalidValues(property)) {
        expect(api.checker.findErrors(value, property)).not.toEqual([])
        const response = await call(tenant.admin, operation, { body: { [name]: value } })
        expect([operation.operationId, name, value, response.status]).toEqual([operation.operationId, name, value, 400])
        expect(listFields(response)).toContain(name)
        expect(api.findMismatches(operation.operationId, response)).toEqual([])
        tried++
      }
    }
    const unknown = await call(tenant.admin, operation, { body: { colour: 'red' } })
    expect(listFields(unknown)).toContain('colour')
    const untyped = await call(tenant.admin, operation, { body: 'x', headers: { 'content-type': 'text/plain' } })
    expect([untyped.status, api.findMismatches(operation.operationId, untyped)]).toEqual([415, []])
  }
  expect(tried).toBeGreaterThan(40)
})

test('the OpenAPI document correctly describes every error response to an upload', async () => {
  const { admin } = tenant
  await tenant.createContext('tiny', { storage_quota_mb: 1, max_file_size_mb: 1 })
  await tenant.createContext('shut', { max_file_size_mb: 1 })
  await admin.patch('/contexts/shut', { status: 'disabled' })
  const megabyte = 'x'.repeat(1_048_576)
  await admin.upload('tiny', 'full.txt', megabyte)
  await admin.upload('notes', 'once.txt', 'one', { headers: { 'idempotency-key': 'twice' } })
  const rejected: [number, string, ApiResponse][] = [
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
  for (const [status, code, response] of rejected) {
    expect([response.status, response.body.error.code]).toEqual([status, code])
    expect(api.findMismatches('uploadFile', response)).toEqual([])
  }
})

test('the OpenAPI document correctly describes every error response to a dry run', async () => {
  const dryRun = (context: string | undefined, content: string) =>
    tenant.admin.upload(context, 'a.txt', content, { path: '/files/validate' })
  const rejected: [number, ApiResponse][] = [
    [400, await dryRun(undefined, 'x')],
    [404, await dryRun('nowhere', 'x')],
    [409, await dryRun('shut', 'x')],
    [413, await dryRun('notes', 'x'.repeat(1_300_000))],
    [415, await tenant.admin.post('/files/validate', { context: 'notes' })],
  ]
  for (const [status, response] of rejected) {
    expect(response.status).toBe(status)
    expect(api.findMismatches('validateFile', response)).toEqual([])
  }
})

test("returns each route's documented error for a suspended tenant", async () => {
  const other = await world.createTenant()
  await world.app.services.tenants.suspend(other.tenantId)
  for (const operation of listJsonOperations()) {
    const response = await call(other.admin, operation)
    expect([operation.operationId, response.status]).toEqual([operation.operationId, 403])
    expect(api.findMismatches(operation.operationId, response)).toEqual([])
  }
})

async function deleteHeldFile(): Promise<ApiResponse> {
  const held = (await tenant.admin.upload('notes', 'held.txt', 'held')).body.data.file_id
  await tenant.admin.rest('PUT', `/files/${held}/hold`, { reason: 'A claim.' })
  return tenant.admin.delete(`/files/${held}`)
}

async function restoreToDisabledContext(): Promise<ApiResponse> {
  const { admin } = tenant
  await admin.post('/contexts', createContextBody('closing'))
  await admin.patch('/contexts/closing/policy', { trash_days: 1 })
  const trashed = (await admin.upload('closing', 'a.txt', 'text')).body.data.file_id
  await admin.delete(`/files/${trashed}`)
  await admin.patch('/contexts/closing', { status: 'disabled' })
  return admin.post(`/trash/${trashed}/restore`)
}

/** Inserts a hundred auditor tokens and requests one above the limit. */
async function exceedShareLimit(): Promise<ApiResponse> {
  const { admin, tenantId } = await world.createTenant()
  await world.database.pool.query(
    `INSERT INTO log_shares SELECT $1, 'shr_' || n, '\\x00', 'key_x', now(), now() + interval '1 day' FROM generate_series(1, 100) n`,
    [tenantId],
  )
  return admin.post('/log/share', {})
}

test('the OpenAPI document correctly describes conflict, scanner and rate limit errors', async () => {
  const { admin } = tenant
  const key = await tenant.createKey(['upload'])
  const once = { 'idempotency-key': 'a-key-once' }
  await admin.post('/api-keys', { name: 'Once' }, once)
  const exceedWebhookLimit = async (): Promise<ApiResponse> => {
    const created = await admin.post('/webhooks', { url: nowhere })
    return created.status === 201 ? exceedWebhookLimit() : created
  }
  const infected = await createQuarantinedFile(world, tenant, 'notes')
  await holdFile(world, tenant, infected)
  const conflicts: [string, ApiResponse][] = [
    ['createApiKey', await admin.post('/api-keys', { name: 'Once' }, once)],
    ['createContext', await admin.post('/contexts', createContextBody('notes'))],
    ['deleteContext', await admin.delete('/contexts/notes')],
    ['enableApiKey', await admin.post(`/api-keys/${key.id}/enable`)],
    ['disableApiKey', (await admin.post(`/api-keys/${key.id}/revoke`)) && (await admin.post(`/api-keys/${key.id}/disable`))],
    ['revokeApiKey', await admin.post(`/api-keys/${key.id}/revoke`)],
    ['rotateApiKey', await admin.post(`/api-keys/${key.id}/rotate`)],
    ['deleteFile', await deleteHeldFile()],
    ['restoreFile', await restoreToDisabledContext()],
    ['createWebhook', await exceedWebhookLimit()],
    ['shareLog', await exceedShareLimit()],
    ['createUploadLink', await admin.post('/upload-links', { context: 'closing' })],
    ['purgeFromQuarantine', await admin.delete(`/quarantine/${infected}`)],
  ]
  for (const [operationId, response] of conflicts) {
    expect([operationId, response.status]).toEqual([operationId, 409])
    expect(api.findMismatches(operationId, response)).toEqual([])
  }
  const limitedWorld = await World.open({ SCANNER_URL: 'none:', RATE_LIMIT_PER_MINUTE: '2' }, world)
  try {
    const caller = limitedWorld.createCaller((await tenant.createKey(['upload', 'metadata'])).credential)
    const scannerless = await caller.upload('notes', 'a.txt', 'x')
    expect([scannerless.status, api.findMismatches('uploadFile', scannerless)]).toEqual([503, []])
    // A rate limit window may end during the loop, so a few more requests are allowed.
    let limited = await caller.get('/files')
    for (let more = 4; more > 0 && limited.status === 200; more--) limited = await caller.get('/files')
    expect([limited.status, api.findMismatches('listFiles', limited)]).toEqual([429, []])
  } finally {
    await limitedWorld.close()
  }
})

test('the OpenAPI document correctly describes export rows, columns and errors', async () => {
  const weak = await tenant.createKey(['upload'])
  for (const operationId of exported) {
    const operation = api.operation(operationId)
    const row = api.checker.resolve(`#/components/schemas/${operationId === 'exportCallLogs' ? 'CallLog' : 'AuditLog'}`)
    const ndjson = await call(tenant.admin, operation)
    const lines = String(ndjson.body).trimEnd().split('\n')
    expect(lines.length).toBeGreaterThan(3)
    for (const line of lines) expect(api.checker.findErrors(JSON.parse(line), row)).toEqual([])
    const csv = await call(tenant.admin, operation, { query: '?format=csv' })
    expect(api.findMismatches(operationId, csv)).toEqual([])
    expect(String(csv.body).split('\r\n')[0]).toBe((row.required as string[]).join(','))
    const rejected: [number, ApiResponse][] = [
      [400, await call(tenant.admin, operation, { query: '?format=xml' })],
      [401, await call(world.unauthenticated, operation)],
      [403, await call(weak, operation)],
    ]
    for (const [status, response] of rejected)
      expect([response.status, api.findMismatches(operationId, response)]).toEqual([status, []])
  }
})

test('the OpenAPI document correctly describes transparency log responses and errors', async () => {
  const weak = await tenant.createKey(['upload'])
  const tile = (text: string) => ({ values: { tile: text } })
  for (const operationId of ofLog) {
    const operation = api.operation(operationId)
    // The `tile` path parameter contains slashes.
    const requested = { ...operation, path: operation.path.replace('{tile}', '0/000.p/1') }
    const responses: [number, ApiResponse][] = [
      [200, await call(tenant.admin, requested)],
      [401, await call(world.unauthenticated, requested)],
      [403, await call(weak, requested)],
      ...(operation.path === requested.path
        ? []
        : [[404, await call(tenant.admin, operation, tile('1'))] as [number, ApiResponse]]),
    ]
    for (const [status, response] of responses)
      expect([response.status, api.findMismatches(operationId, response)]).toEqual([status, []])
  }
})

test('the OpenAPI document correctly describes every upload link response', async () => {
  const unknown = await tenant.admin.post('/upload-links', { context: 'nowhere' })
  expect([unknown.status, api.findMismatches('createUploadLink', unknown)]).toEqual([404, []])
  const link = await LinkClient.create(tenant.admin, 'notes', { max_files: 4, origins: ['https://example.com'] })
  const invalid = new LinkClient(`${world.url}/upload/ulk_unknown`, {})
  const [other, key] = [{ origin: 'https://other.example' }, (name: string) => ({ 'idempotency-key': name })]
  const tooLarge = 'x'.repeat(1_048_577)
  const untyped = { body: 'x', headers: { 'content-type': 'text/plain' } }
  const answers: [string, number, ApiResponse][] = [
    ['getLinkRules', 200, await link.rules()],
    ['getLinkRules', 403, await link.rules(other)],
    ['getLinkRules', 404, await invalid.rules()],
    ['uploadFormThroughLink', 201, await link.post('a.txt', 'form', {}, key('form'))],
    ['uploadFormThroughLink', 400, await link.post('a.txt', 'form', { colour: 'red' })],
    ['uploadFormThroughLink', 403, await link.post('a.txt', 'form', {}, other)],
    ['uploadFormThroughLink', 404, await invalid.post('a.txt', 'form')],
    ['uploadFormThroughLink', 409, await link.post('a.txt', 'another', {}, key('form'))],
    ['uploadFormThroughLink', 413, await link.post('a.txt', tooLarge)],
    ['uploadFormThroughLink', 415, await link.request('POST', '', untyped)],
    ['uploadFormThroughLink', 422, await link.post('a.exe', 'form')],
    ['uploadThroughLink', 201, await link.put('a.txt', 'body', key('body'))],
    ['uploadThroughLink', 400, await link.put('a/..', 'body')],
    ['uploadThroughLink', 403, await link.put('a.txt', 'body', other)],
    ['uploadThroughLink', 404, await invalid.put('a.txt', 'body')],
    ['uploadThroughLink', 409, await link.put('a.txt', 'another', key('body'))],
    ['uploadThroughLink', 413, await link.put('a.txt', tooLarge)],
    ['uploadThroughLink', 415, await link.put('a.txt', 'body', { 'content-encoding': 'gzip' })],
    ['uploadThroughLink', 422, await link.put('a.exe', 'body')],
  ]
  for (const [operationId, status, answer] of answers) {
    expect([operationId, answer.status]).toEqual([operationId, status])
    expect(api.findMismatches(operationId, answer)).toEqual([])
  }
})

test('tests every documented response except those that require an outage or many calls', () => {
  const seldom = ['429', '500', '503']
  const described = api.operations.flatMap(({ operationId, responses }) =>
    Object.keys(responses).flatMap((status) => (seldom.includes(status) ? [] : [`${operationId} ${status}`])),
  )
  expect(described.filter((response) => !api.seen.has(response))).toEqual([])
})
