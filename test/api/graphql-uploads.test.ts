import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eicar } from '../support/eicar.js'
import { anyId, getGraphqlCode } from '../support/response-assertions.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let user: Caller
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('notes')
  user = await tenant.createUser(['upload', 'download', 'metadata', 'delete', 'admin'])
})
afterAll(() => world.close())

const request = async (query: string, variables: Record<string, unknown> = {}, caller: Caller = user) => {
  const { status, body } = await caller.graphql(query, variables)
  expect([status, body.errors]).toEqual([200, undefined])
  return body.data
}

describe('GraphQL multipart uploads', () => {
  const upload =
    'mutation ($file: Upload!, $context: String!, $metadata: JSONObject) { uploadFile(file: $file, context: $context, metadata: $metadata) { fileId originalFilename contentType sizeBytes metadata } }'
  const validate =
    'mutation ($file: Upload!, $context: String!) { validateFile(file: $file, context: $context) { outcome reason checks { check outcome } } }'

  test('supports the upload, dry run, download and deletion of a file over GraphQL', async () => {
    const { body } = await user.graphqlUpload(upload, { context: 'notes', metadata: { b: 1 } }, 'ü.txt', 'text')
    expect(body.errors).toBeUndefined()
    const { fileId: id, ...rest } = body.data.uploadFile
    expect(rest).toEqual({ originalFilename: 'ü.txt', contentType: 'text/plain', sizeBytes: 4, metadata: { b: 1 } })
    const dryRun = await user.graphqlUpload(validate, { context: 'notes' }, 'a.txt', eicar)
    expect(dryRun.body.data.validateFile).toMatchObject({ outcome: 'rejected', reason: 'virus_detected' })
    const { createDownloadUrl } = await request(
      'mutation ($id: ID!) { createDownloadUrl(fileId: $id) { downloadUrl expiresInSeconds } }',
      { id },
    )
    expect(createDownloadUrl.expiresInSeconds).toBe(300)
    expect(await (await fetch(createDownloadUrl.downloadUrl)).text()).toBe('text')
    expect(await request('mutation ($id: ID!) { deleteFile(fileId: $id) { fileId } }', { id })).toEqual({
      deleteFile: { fileId: id },
    })
  })

  test('returns the REST error code in upper case for a rejected GraphQL upload', async () => {
    const response = await user.graphqlUpload(upload, { context: 'notes' }, 'a.exe', 'x')
    const byRest = await user.upload('notes', 'a.exe', 'x')
    expect(response.body.errors[0]).toMatchObject({
      message: byRest.body.message,
      extensions: { code: 'INVALID_EXTENSION', details: byRest.body.error.details },
    })
  })

  test('uploads a file to a context that the same GraphQL request creates and enables', async () => {
    const document = `mutation ($file: Upload!) {
      unknown: uploadFile(file: $file, context: "later") { fileId }
      createContext(input: { contextKey: "later", displayName: "Later", allowedExtensions: ["txt"], maxFileSizeMb: 1 }) { contextKey }
      off: updateContext(contextKey: "later", input: { status: disabled }) { status }
      disabled: uploadFile(file: $file, context: "later") { fileId }
      on: updateContext(contextKey: "later", input: { status: active }) { status }
      accepted: uploadFile(file: $file, context: "later") { contextKey }
    }`
    const { body } = await user.graphqlUpload(document, {}, 'a.txt', 'text')
    expect(
      body.errors.map(({ path, extensions }: { path: string[]; extensions: { code: string } }) => [path[0], extensions.code]),
    ).toEqual([
      ['unknown', 'NOT_FOUND'],
      ['disabled', 'CONFLICT'],
    ])
    expect(body.data).toMatchObject({ unknown: null, disabled: null, accepted: { contextKey: 'later' } })
  })

  test('rejects a GraphQL upload without the Apollo-Require-Preflight header', async () => {
    const form = new FormData()
    form.append('operations', JSON.stringify({ query: upload, variables: { file: null, context: 'notes' } }))
    form.append('map', '{"0":["variables.file"]}')
    form.append('0', new Blob(['x']), 'a.txt')
    const response = await user.raw('/graphql', { method: 'POST', body: form })
    expect([response.status, getGraphqlCode(response)]).toEqual([400, 'BAD_USER_INPUT'])
  })

  test('logs failed GraphQL uploads as calls by the API key', async () => {
    const key = await tenant.createKey(['upload'])
    await key.graphqlUpload(upload, { context: 'notes' }, 'a.exe', 'x')
    await key.graphql(upload, { context: 'notes', file: 'not a file' })
    const { callLogs } = await request(
      'query ($id: ID!) { callLogs(apiKeyId: $id) { data { operation status errorCode contextKey validation { reason } } } }',
      { id: key.id },
    )
    expect(callLogs.data).toEqual([
      { operation: 'upload', status: 'failure', errorCode: 'bad_user_input', contextKey: null, validation: null },
      {
        operation: 'upload',
        status: 'failure',
        errorCode: 'invalid_extension',
        contextKey: 'notes',
        validation: { reason: 'invalid_extension' },
      },
    ])
  })
})

describe('GraphQL document limits', () => {
  const expectRejected = async (query: string, variables?: Record<string, unknown>) => {
    const { status, body } = await user.graphql(query, variables)
    expect([status < 500, body.errors?.[0]?.extensions?.code, body.data ?? null]).toEqual([true, 'BAD_USER_INPUT', null])
  }
  test('rejects a GraphQL document that is nested too deeply', () =>
    expectRejected(`{ __schema { types { ${'fields { type { '.repeat(15)} name ${'} }'.repeat(15)} } } }`))
  test('rejects a GraphQL document that costs too much', () => {
    const calls =
      'recentCalls(first: 20) { callId apiKeyId apiKeyName operation status fileId contextKey errorCode errorMessage ipAddress userAgent createdAt }'
    return expectRejected(
      `{ apiKeys(pageSize: 100) { data { ${['a', 'b', 'c'].map((alias) => `${alias}: ${calls}`).join(' ')} } } }`,
    )
  })
  test('rejects a GraphQL document with too many aliases', () =>
    expectRejected(`{ ${Array.from({ length: 30 }, (_, index) => `a${index}: me { id }`).join(' ')} }`))
  test('rejects a GraphQL document with too many aliased fields', () =>
    expectRejected(`{ me { ${Array.from({ length: 3_000 }, (_, index) => `a${index}: id`).join(' ')} } }`))
  test('rejects a GraphQL document with too many directives', () =>
    expectRejected(`{ me { id ${'@skip(if: false) '.repeat(60)} } }`))
  test('rejects a GraphQL document with too many tokens', () => expectRejected(`{ me { ${'id '.repeat(20_000)} } }`))
  test('rejects a GraphQL document with circular fragments', () =>
    expectRejected('fragment A on Query { ...B } fragment B on Query { ...A } { ...A }'))
  test('rejects a GraphQL document in which fragments multiply the number of fields', () =>
    expectRejected(
      `${Array.from({ length: 20 }, (_, index) => `fragment F${index} on Me { ${`...F${index + 1} `.repeat(10)} }`).join(' ')} fragment F20 on Me { id } { me { ...F0 } }`,
    ))
  test('reports a missing or mistyped GraphQL variable as a client error', async () => {
    await expectRejected('query ($p: Int!) { files(page: $p) { data { fileId } } }')
    await expectRejected('query ($p: Int!) { files(page: $p) { data { fileId } } }', { p: {} })
    await expectRejected('query ($p: Int!) { files(page: $p) { data { fileId } } }', { p: 2 ** 40 })
  })

  test('rejects a batch of GraphQL operations', async () => {
    const response = await user.raw('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([{ query: '{ me { id } }' }, { query: '{ me { id } }' }]),
    })
    expect([response.status, getGraphqlCode(response)]).toEqual([400, 'BAD_USER_INPUT'])
  })

  test('rejects a GraphQL GET request unless it has a header that HTML forms cannot send', async () => {
    const query = encodeURIComponent('{ me { id } }')
    const bare = await user.raw(`/graphql?query=${query}`)
    expect([bare.status, getGraphqlCode(bare)]).toEqual([400, 'BAD_USER_INPUT'])
    const preflighted = await user.raw(`/graphql?query=${query}`, {
      headers: { 'apollo-require-preflight': '1', accept: 'application/json' },
    })
    expect(preflighted.body.data.me.id).toEqual(anyId('usr'))
    const change = encodeURIComponent('mutation { updateTenant(input: { name: "by GET" }) { name } }')
    const refusedChange = await user.raw(`/graphql?query=${change}`, {
      headers: { 'apollo-require-preflight': '1', accept: 'application/json' },
    })
    expect(refusedChange.status).toBe(405)
  })
})

test('disables introspection and the GraphQL landing page in production by default', async () => {
  const introspection = '{ __schema { queryType { name } } }'
  expect((await user.graphql(introspection)).body.data.__schema.queryType.name).toBe('Query')
  const page = await fetch(`${world.url}/graphql`, { headers: { accept: 'text/html' } })
  expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')])
  expect(page.headers.get('content-security-policy')).not.toContain('http')
  const production = await World.open({ NODE_ENV: 'production' })
  try {
    for (const query of [introspection, '{ __type(name: "File") { name } }']) {
      const disabled = await production.firstAdmin.graphql(query)
      expect(getGraphqlCode(disabled)).toBe('BAD_USER_INPUT')
      const message = 'Introspection is disabled on this service. The operator can enable it with GRAPHQL_EXPLORER=on.'
      expect(disabled.body.errors[0]).toMatchObject({
        message,
        extensions: { details: { fields: [{ field: 'query', message }] } },
      })
    }
    expect((await production.firstAdmin.graphql('{ me { id } }')).body.data.me.id).toEqual(anyId('key'))
    const hint = await production.firstAdmin.graphql('{ fils { data { fileId } } }')
    expect(JSON.stringify(hint.body)).not.toContain('Did you mean')
    for (const path of ['/graphql', '/graphql?sandbox', '/graphql/page.html'])
      expect((await fetch(production.url + path, { headers: { accept: 'text/html' } })).status).toBe(404)
  } finally {
    await production.close()
  }
})
