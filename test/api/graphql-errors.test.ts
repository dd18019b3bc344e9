import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eicar } from '../support/eicar.js'
import { getGraphqlCode, toStatusAndCode } from '../support/response-assertions.js'
import { type ApiResponse, type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let user: Caller
let keyId: string
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('notes', { metadata: { a: [1] } })
  await tenant.createContext('empty')
  user = await tenant.createUser(['upload', 'download', 'metadata', 'delete', 'admin'])
  const key = await tenant.createKey(['upload', 'metadata'])
  keyId = key.id
  await key.upload('notes', 'a.txt', 'text', { metadata: { page: 7 } })
  for (let index = 0; index < 6; index++) await key.upload('notes', `${index}.txt`, 'x'.repeat(index + 1))
  await key.upload('notes', 'a.exe', 'x')
})
afterAll(() => world.close())

describe('REST error codes in GraphQL errors', () => {
  /** Equivalent REST and GraphQL requests with their common status and error code. */
  const table: [string, () => Promise<ApiResponse>, () => Promise<ApiResponse>, number, string][] = [
    [
      'no credential',
      () => world.unauthenticated.get('/files'),
      () => world.unauthenticated.graphql('{ files { data { fileId } } }'),
      401,
      'unauthenticated',
    ],
    [
      'an unknown key',
      () => world.createCaller(`assay_${'x'.repeat(43)}`).get('/contexts'),
      () => world.createCaller(`assay_${'x'.repeat(43)}`).graphql('{ contexts { data { contextId } } }'),
      401,
      'unauthenticated',
    ],
    [
      'a missing scope',
      async () => (await createLimitedKey()).get('/files'),
      async () => (await createLimitedKey()).graphql('{ files { data { fileId } } }'),
      403,
      'forbidden',
    ],
    [
      'a missing admin scope',
      async () => (await createLimitedKey()).patch('/tenant', {}),
      async () => (await createLimitedKey()).graphql('mutation { updateTenant(input: {}) { name } }'),
      403,
      'forbidden',
    ],
    [
      'an unknown file',
      () => user.get('/files/file_x/metadata'),
      () => user.graphql('{ file(fileId: "file_x") { fileId } }'),
      404,
      'not_found',
    ],
    [
      'a download URL of an unknown file',
      () => user.get('/files/file_x'),
      () => user.graphql('mutation { createDownloadUrl(fileId: "file_x") { downloadUrl } }'),
      404,
      'not_found',
    ],
    [
      'the deletion of an unknown file',
      () => user.delete('/files/file_x'),
      () => user.graphql('mutation { deleteFile(fileId: "file_x") { fileId } }'),
      404,
      'not_found',
    ],
    [
      'an unknown context',
      () => user.get('/contexts/no'),
      () => user.graphql('{ context(contextKey: "no") { contextKey } }'),
      404,
      'not_found',
    ],
    [
      'the deletion of an unknown context',
      () => user.delete('/contexts/no'),
      () => user.graphql('mutation { deleteContext(contextKey: "no") { contextKey } }'),
      404,
      'not_found',
    ],
    [
      'the revocation of an unknown key',
      () => user.post('/api-keys/key_x/revoke'),
      () => user.graphql('mutation { revokeApiKey(apiKeyId: "key_x") { apiKeyId } }'),
      404,
      'not_found',
    ],
    [
      'page number 0',
      () => user.get('/files?page=0'),
      () => user.graphql('{ files(page: 0) { data { fileId } } }'),
      400,
      'bad_user_input',
    ],
    [
      'a page size that is too large',
      () => user.get('/files?page_size=101'),
      () => user.graphql('{ files(pageSize: 101) { data { fileId } } }'),
      400,
      'bad_user_input',
    ],
    [
      'an unknown status',
      () => user.get('/contexts?status=x'),
      () => user.graphql('{ contexts(status: x) { data { contextId } } }'),
      400,
      'bad_user_input',
    ],
    [
      'too many days',
      () => user.get('/stats/charts/uploads?days=366'),
      () => user.graphql('{ uploadsChart(days: 366) { period } }'),
      400,
      'bad_user_input',
    ],
    [
      'an invalid date',
      () => user.get('/stats/logs?start_date=x'),
      () => user.graphql('{ callLogs(startDate: "x") { data { callId } } }'),
      400,
      'bad_user_input',
    ],
    [
      'an empty name',
      () => user.post('/api-keys', { name: '' }),
      () => user.graphql('mutation { createApiKey(input: { name: "" }) { apiKeyId } }'),
      400,
      'bad_user_input',
    ],
    [
      'a duplicate context key',
      () => user.post('/contexts', notes()),
      () =>
        user.graphql(
          'mutation { createContext(input: { contextKey: "notes", displayName: "x", allowedExtensions: ["txt"], maxFileSizeMb: 1 }) { contextId } }',
        ),
      409,
      'conflict',
    ],
    [
      'the deletion of a context with files',
      () => user.delete('/contexts/notes'),
      () => user.graphql('mutation { deleteContext(contextKey: "notes") { contextId } }'),
      409,
      'conflict',
    ],
    [
      'enabling an active key',
      () => user.post(`/api-keys/${keyId}/enable`),
      () => user.graphql('mutation ($id: ID!) { enableApiKey(apiKeyId: $id) { status } }', { id: keyId }),
      409,
      'conflict',
    ],
    [
      'a file larger than every context allows',
      () => user.post('/contexts', { ...notes('n2'), max_file_size_mb: 1_025 }),
      () =>
        user.graphql(
          'mutation { createContext(input: { contextKey: "n2", displayName: "x", allowedExtensions: ["txt"], maxFileSizeMb: 1025 }) { contextId } }',
        ),
      400,
      'bad_user_input',
    ],
    ['a blank file', () => user.upload('notes', 'a.txt', ''), () => uploadByGraphql('a.txt', ''), 422, 'blank_file'],
    ['a corrupt file', () => user.upload('notes', 'a.pdf', 'x'), () => uploadByGraphql('a.pdf', 'x'), 422, 'corrupt_file'],
    ['a virus', () => user.upload('notes', 'a.txt', eicar), () => uploadByGraphql('a.txt', eicar), 422, 'virus_detected'],
    [
      'a file that is too large',
      () => user.upload('notes', 'a.txt', 'x'.repeat(5_242_881)),
      () => uploadByGraphql('a.txt', 'x'.repeat(5_242_881)),
      413,
      'size_exceeded',
    ],
    ['a file without a name', () => user.upload('notes', '..', 'x'), () => uploadByGraphql('..', 'x'), 400, 'bad_user_input'],
  ]
  const notes = (key = 'notes') => ({ context_key: key, display_name: 'x', allowed_extensions: ['txt'], max_file_size_mb: 1 })
  let cached: Promise<Caller> | undefined
  const createLimitedKey = () => (cached ??= tenant.createKey(['delete']))
  const uploadByGraphql = (name: string, content: Uint8Array | string) =>
    user.graphqlUpload('mutation ($file: Upload!) { uploadFile(file: $file, context: "notes") { fileId } }', {}, name, content)

  test.each(table)('returns the same error code for %s over GraphQL and REST', async (_what, byRest, byGraphql, status, code) => {
    const rest = await byRest()
    const graphql = await byGraphql()
    expect(toStatusAndCode(rest)).toEqual([status, code])
    expect(getGraphqlCode(graphql)).toBe(code.toUpperCase())
    expect(graphql.body.errors[0].extensions.details).toEqual(expect.any(Object))
    if (!/bad_user/.test(code)) expect(graphql.body.errors[0].message).toBe(rest.body.message)
  })

  test('rejects a subscription sent by POST and refers to the WebSocket protocol', async () => {
    const response = await world.unauthenticated.graphql('subscription { events { sequence } }')
    expect(getGraphqlCode(response)).toBe('BAD_USER_INPUT')
    expect(response.status).toBe(400)
    expect(response.body.errors[0].message).toBe('Send subscriptions over a WebSocket (graphql-transport-ws) on this path.')
  })

  test('rejects a very long operation name without repeating it in the error', async () => {
    const response = await world.unauthenticated.raw('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ __typename }', operationName: 'x'.repeat(15_000) }),
    })
    expect(response.status).toBe(400)
    expect(JSON.stringify(response.body).length).toBeLessThan(1_000)
    expect(JSON.stringify(response.body)).toContain('operationName')
  })

  test('returns the names of invalid fields in camelCase in GraphQL errors', async () => {
    const response = await user.graphql(
      'mutation { createContext(input: { contextKey: "X", displayName: "", allowedExtensions: [], maxFileSizeMb: 9999 }) { contextId } }',
    )
    expect(response.body.errors[0].extensions.details.fields.map(({ field }: { field: string }) => field).sort()).toEqual([
      'input.allowedExtensions',
      'input.contextKey',
      'input.displayName',
      'input.maxFileSizeMb',
    ])
    const variable = await user.graphql('query ($p: Int!) { files(page: $p) { data { fileId } } }', { p: 'x' })
    expect(variable.body.errors[0].extensions).toMatchObject({ code: 'BAD_USER_INPUT', details: { fields: [{ field: 'p' }] } })
  })
})

describe('error response media types', () => {
  const json = 'application/json; charset=utf-8'
  const graphql = 'application/graphql-response+json; charset=utf-8'
  const accepts: [string, string | undefined, string][] = [
    ['nothing in particular', undefined, json],
    ['anything', '*/*', json],
    ['JSON', 'application/json', json],
    ['a GraphQL response', 'application/graphql-response+json', graphql],
    ['a GraphQL response rather than JSON', 'application/graphql-response+json, application/json;q=0.9', graphql],
    ['JSON rather than a GraphQL response', 'application/json, application/graphql-response+json;q=0.5', json],
  ]
  const post = (body: string | FormData, headers: Record<string, string>, caller: Caller = user) =>
    caller.raw('/graphql', { method: 'POST', headers, body })
  const query = JSON.stringify({ query: '{ files { data { fileId } } }' })
  const form = () => {
    const parts = new FormData()
    parts.append('operations', query)
    return parts
  }
  const ofJson = { 'content-type': 'application/json' }
  /** Requests that are rejected before execution because of their document, body, type, size or credential. */
  const rejections: Record<string, [number, (headers: Record<string, string>) => Promise<ApiResponse>]> = {
    'an invalid document': [400, (headers) => post(JSON.stringify({ query: '{' }), { ...ofJson, ...headers })],
    'a document that is too long': [
      400,
      (headers) => post(JSON.stringify({ query: `{ ${'a '.repeat(30_000)} }` }), { ...ofJson, ...headers }),
    ],
    'an invalid body': [400, (headers) => post('{', { ...ofJson, ...headers })],
    'a body of another type': [415, (headers) => post('x', { 'content-type': 'text/csv', ...headers })],
    'a body that is too large': [400, (headers) => post(`"${'x'.repeat(3_000_000)}"`, { ...ofJson, ...headers })],
    'an upload without a credential': [
      401,
      (headers) => post(form(), { 'apollo-require-preflight': 'true', ...headers }, world.unauthenticated),
    ],
  }
  test.each(Object.keys(rejections))('returns the error for %s in the media type that the client accepts', async (name) => {
    const [status, send] = rejections[name]!
    for (const [, accept, type] of accepts) {
      const response = await send(accept === undefined ? {} : { accept })
      expect([accept, response.status, response.headers.get('content-type')]).toEqual([accept, status, type])
      expect(response.body).toEqual({
        errors: [expect.objectContaining({ extensions: expect.objectContaining({ code: expect.any(String) }) })],
      })
    }
  })
})
