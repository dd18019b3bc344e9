import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { anId, aTime, dataOf, faultyFields, graphqlCode, refusal } from '../support/answers.js'
import { eicar } from '../support/eicar.js'
import { type Answer, type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let user: Caller
let fileId: string
let keyId: string
beforeAll(async () => {
  world = await World.open()
  tenant = await world.tenant()
  await tenant.context('notes', { metadata: { a: [1] } })
  await tenant.context('empty')
  user = await tenant.user(['upload', 'download', 'metadata', 'delete', 'admin'])
  const key = await tenant.key(['upload', 'metadata'])
  keyId = key.id
  fileId = (await key.upload('notes', 'a.txt', 'text', { metadata: { page: 7 } })).body.data.file_id
  for (let index = 0; index < 6; index++) await key.upload('notes', `${index}.txt`, 'x'.repeat(index + 1))
  await key.upload('notes', 'a.exe', 'x')
})
afterAll(() => world.close())

const ask = async (query: string, variables: Record<string, unknown> = {}, caller: Caller = user) => {
  const { status, body } = await caller.graphql(query, variables)
  expect([status, body.errors]).toEqual([200, undefined])
  return body.data
}

describe('the same values as REST, in camelCase', () => {
  const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const camel = (name: string) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())
  const free = ['metadata', 'details', 'evidence']
  const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

  /** The selection that asks for just what REST answered. */
  function selectionOf(value: unknown, name = ''): string {
    if (Array.isArray(value)) return selectionOf(value.find(isObject) ?? value[0], name)
    if (!isObject(value) || free.includes(name)) return ''
    return `{ ${Object.entries(value)
      .map(
        ([member, inner]) =>
          `${camel(member)} ${member === 'metadata' && typeof inner === 'number' ? '' : selectionOf(inner, member)}`,
      )
      .join(' ')} }`
  }
  function inRestSpelling(value: unknown, name = ''): unknown {
    if (Array.isArray(value)) return value.map((item) => inRestSpelling(item, name))
    if (!isObject(value) || free.includes(name)) return value
    return Object.fromEntries(
      Object.entries(value).map(([member, inner]) => [snake(member), inRestSpelling(inner, snake(member))]),
    )
  }

  const pairs: [string, string, string][] = [
    ['tenant', '/tenant', ''],
    ['apiKeys', '/api-keys?page_size=2', '(pageSize: 2)'],
    ['apiKey', '/api-keys/KEY', '(apiKeyId: "KEY")'],
    ['contexts', '/contexts?page=2&page_size=1&status=active', '(page: 2, pageSize: 1, status: active)'],
    ['context', '/contexts/notes', '(contextKey: "notes")'],
    [
      'files',
      '/files?context=notes&uploaded_by=KEY&page_size=3&page=2',
      '(context: "notes", uploadedBy: "KEY", pageSize: 3, page: 2)',
    ],
    ['file', '/files/FILE/metadata', '(fileId: "FILE")'],
    ['fileValidation', '/files/FILE/validation', '(fileId: "FILE")'],
    [
      'callLogs',
      '/stats/logs?operation=upload&status=failure&api_key_id=KEY',
      '(operation: upload, status: failure, apiKeyId: "KEY")',
    ],
    ['auditLogs', '/audit-logs?audit_type=file&action=created', '(auditType: file, action: created)'],
    ['auditLogsOfEntity', '/audit-logs/entity/api_key/KEY', '(entityType: api_key, entityId: "KEY")'],
    ['stats', '/stats', ''],
    ['apiCallsChart', '/stats/charts/api-calls?period=hourly&days=1', '(period: hourly, days: 1)'],
    ['storageChart', '/stats/charts/storage?period=weekly', '(period: weekly)'],
    ['uploadsChart', '/stats/charts/uploads?days=3', '(days: 3)'],
    ['apiCallsByContext', '/stats/by-context/api-calls', ''],
    ['filesByContext', '/stats/by-context/files', ''],
  ]
  test.each(pairs)('%s', async (field, path, args) => {
    const fill = (text: string) => text.replaceAll('KEY', keyId).replaceAll('FILE', fileId)
    const expected = dataOf(await user.get(fill(path)))
    const data = await ask(`{ ${field}${fill(args)} ${selectionOf(expected)} }`)
    expect(inRestSpelling(data[field])).toEqual(expected)
  })
})

describe('mutations', () => {
  test('keys: created, disabled, enabled, rotated, revoked', async () => {
    const { createApiKey } = await ask(
      'mutation { createApiKey(input: { name: "G", scopes: [metadata], expiresInDays: 3 }) { apiKeyId apiKey name scopes expiresAt } }',
    )
    expect(createApiKey).toEqual({
      apiKeyId: anId('key'),
      apiKey: expect.stringMatching(/^assay_[\w-]{43}$/),
      name: 'G',
      scopes: ['metadata'],
      expiresAt: aTime,
    })
    const id = { id: createApiKey.apiKeyId }
    for (const [move, status] of [
      ['disableApiKey', 'disabled'],
      ['enableApiKey', 'active'],
      ['revokeApiKey', 'revoked'],
    ])
      expect((await ask(`mutation ($id: ID!) { ${move}(apiKeyId: $id) { status } }`, id))[move!]).toEqual({ status })
    expect(graphqlCode(await user.graphql('mutation ($id: ID!) { enableApiKey(apiKeyId: $id) { status } }', id))).toBe('CONFLICT')
    expect(graphqlCode(await user.graphql('mutation ($id: ID!) { rotateApiKey(apiKeyId: $id) { apiKey } }', id))).toBe('CONFLICT')
  })

  test('contexts: created, changed, deleted', async () => {
    const input = { contextKey: 'made', displayName: 'Made', allowedExtensions: ['.TXT'], maxFileSizeMb: 2 }
    const { createContext } = await ask(
      'mutation ($input: CreateContextInput!) { createContext(input: $input) { contextId allowedExtensions storageQuotaMb scanForViruses } }',
      { input },
    )
    expect(createContext).toEqual({
      contextId: anId('ctx'),
      allowedExtensions: ['txt'],
      storageQuotaMb: 10_240,
      scanForViruses: true,
    })
    const { updateContext } = await ask(
      'mutation { updateContext(contextKey: "made", input: { status: disabled }) { status displayName } }',
    )
    expect(updateContext).toEqual({ status: 'disabled', displayName: 'Made' })
    expect(await ask('mutation { deleteContext(contextKey: "made") { contextId contextKey } }')).toEqual({
      deleteContext: { contextId: createContext.contextId, contextKey: 'made' },
    })
  })

  test('idempotencyKey does once what is asked twice', async () => {
    const create = (maxFileSizeMb: number) =>
      user.graphql(
        'mutation ($mb: Int!) { createContext(idempotencyKey: "g-1", input: { contextKey: "once", displayName: "x", allowedExtensions: ["txt"], maxFileSizeMb: $mb }) { contextId createdAt } }',
        { mb: maxFileSizeMb },
      )
    const first = (await create(1)).body.data.createContext
    expect((await create(1)).body.data.createContext).toEqual(first)
    expect(graphqlCode(await create(2))).toBe('IDEMPOTENCY_MISMATCH')
    await user.delete('/contexts/once')
  })

  test('the tenant, and who is signed in', async () => {
    expect(await ask('mutation { updateTenant(input: { name: "Renamed" }) { name } }')).toEqual({
      updateTenant: { name: 'Renamed' },
    })
    expect(await ask('{ me { id type name email scopes tenantId } }')).toEqual({
      me: {
        id: anId('usr'),
        type: 'user',
        name: 'Ada',
        email: expect.stringContaining('@'),
        scopes: ['upload', 'download', 'metadata', 'delete', 'admin'],
        tenantId: tenant.tenantId,
      },
    })
    expect(await ask('{ me { id type email } }', {}, tenant.admin)).toEqual({
      me: { id: tenant.admin.id, type: 'api_key', email: null },
    })
  })

  test('signing in and out', async () => {
    const other = await tenant.user(['metadata'])
    const signIn =
      'mutation ($email: String!, $password: String!) { signIn(email: $email, password: $password) { token expiresAt user { userId email scopes } } }'
    const data = await ask(signIn, { email: other.email.toUpperCase(), password: other.password }, world.stranger)
    expect(data.signIn).toMatchObject({
      expiresAt: aTime,
      user: { userId: anId('usr'), email: other.email, scopes: ['metadata'] },
    })
    const session = world.as(data.signIn.token)
    dataOf(await session.get('/files'))
    expect(await ask('mutation { signOut }', {}, session)).toEqual({ signOut: true })
    expect(refusal(await session.get('/files'))).toEqual([401, 'unauthenticated'])
    const wrong = await world.stranger.graphql(signIn, { email: other.email, password: 'wrong password' })
    expect(graphqlCode(wrong)).toBe('UNAUTHENTICATED')
  })

  test('storage is healthy', async () => {
    expect(await ask('{ storageHealth { countersDrift filesWithoutBlob blobsWithoutFile corrupted } }')).toEqual({
      storageHealth: { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0 },
    })
  })
})

describe('uploads by the multipart request specification', () => {
  const upload =
    'mutation ($file: Upload!, $context: String!, $metadata: JSONObject) { uploadFile(file: $file, context: $context, metadata: $metadata) { fileId originalFilename contentType sizeBytes metadata } }'
  const validate =
    'mutation ($file: Upload!, $context: String!) { validateFile(file: $file, context: $context) { outcome reason checks { check outcome } } }'

  test('a file is kept, dry-run, handed out and deleted', async () => {
    const { body } = await user.graphqlUpload(upload, { context: 'notes', metadata: { b: 1 } }, 'ü.txt', 'text')
    expect(body.errors).toBeUndefined()
    const { fileId: id, ...rest } = body.data.uploadFile
    expect(rest).toEqual({ originalFilename: 'ü.txt', contentType: 'text/plain', sizeBytes: 4, metadata: { b: 1 } })
    const dryRun = await user.graphqlUpload(validate, { context: 'notes' }, 'a.txt', eicar)
    expect(dryRun.body.data.validateFile).toMatchObject({ outcome: 'rejected', reason: 'virus_detected' })
    const { createDownloadUrl } = await ask(
      'mutation ($id: ID!) { createDownloadUrl(fileId: $id) { downloadUrl expiresInSeconds } }',
      { id },
    )
    expect(createDownloadUrl.expiresInSeconds).toBe(300)
    expect(await (await fetch(createDownloadUrl.downloadUrl)).text()).toBe('text')
    expect(await ask('mutation ($id: ID!) { deleteFile(fileId: $id) { fileId } }', { id })).toEqual({
      deleteFile: { fileId: id },
    })
  })

  test('what a check refuses has REST’s code in upper case, and its details', async () => {
    const answer = await user.graphqlUpload(upload, { context: 'notes' }, 'a.exe', 'x')
    const byRest = await user.upload('notes', 'a.exe', 'x')
    expect(answer.body.errors[0]).toMatchObject({
      message: byRest.body.message,
      extensions: { code: 'INVALID_EXTENSION', details: byRest.body.error.details },
    })
  })

  test('without Apollo-Require-Preflight it is refused', async () => {
    const form = new FormData()
    form.append('operations', JSON.stringify({ query: upload, variables: { file: null, context: 'notes' } }))
    form.append('map', '{"0":["variables.file"]}')
    form.append('0', new Blob(['x']), 'a.txt')
    const answer = await user.raw('/graphql', { method: 'POST', body: form })
    expect([answer.status, graphqlCode(answer)]).toEqual([400, 'BAD_USER_INPUT'])
  })

  test('a call by key is logged, an upload that is no file is a fault of the input', async () => {
    const key = await tenant.key(['upload'])
    await key.graphqlUpload(upload, { context: 'notes' }, 'a.exe', 'x')
    await key.graphql(upload, { context: 'notes', file: 'not a file' })
    const { callLogs } = await ask(
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

describe('connections', () => {
  interface Connection {
    edges: { cursor: string; node: { id: string } }[]
    pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null }
  }
  const walk = async (field: string, id: string, filter = '') => {
    const seen: string[] = []
    let after: string | null = null
    for (let pages = 0; pages < 50; pages++) {
      const data: Record<string, Connection> = await ask(
        `query ($after: String) { ${field}(first: 2, after: $after${filter}) { edges { cursor node { id: ${id} } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`,
        { after },
      )
      const { edges, pageInfo } = data[field]!
      expect(pageInfo.hasPreviousPage).toBe(after !== null)
      expect([pageInfo.startCursor, pageInfo.endCursor]).toEqual([edges[0]?.cursor ?? null, edges.at(-1)?.cursor ?? null])
      seen.push(...edges.map(({ node }) => node.id))
      if (!pageInfo.hasNextPage) return seen
      expect(edges).toHaveLength(2)
      after = pageInfo.endCursor
    }
    throw new Error('It has no end.')
  }
  const all = async (field: string, id: string, filter = '') =>
    (await ask(`{ ${field}(pageSize: 100${filter}) { data { id: ${id} } } }`))[field].data.map((item: { id: string }) => item.id)

  test.each([
    ['files', 'fileId', ''],
    ['files', 'fileId', ', context: "notes"'],
    ['files', 'fileId', ', context: "empty"'],
    ['files', 'fileId', ', context: "unknown"'],
    ['callLogs', 'callId', ''],
    ['callLogs', 'callId', ', operation: upload, status: success'],
    ['callLogs', 'callId', ', status: failure'],
    ['auditLogs', 'auditId', ''],
    ['auditLogs', 'auditId', ', auditType: file, action: created'],
  ])('%s by %s%s: walked to the end, nothing repeats and nothing is skipped', async (field, id, filter) => {
    const expected = await all(field, id, filter)
    expect(await walk(`${field}Connection`, id, filter)).toEqual(expected)
    expect(expected).toEqual([...new Set(expected)].sort().reverse())
    if (!/empty|unknown/.test(filter)) expect(expected.length).toBeGreaterThan(0)
  })

  test('what comes in while it is walked neither shifts nor repeats what follows', async () => {
    const first = await ask('{ filesConnection(first: 3) { edges { node { fileId } } pageInfo { endCursor } } }')
    await user.upload('notes', 'late.txt', 'x')
    const rest = await ask(
      'query ($after: String) { filesConnection(first: 100, after: $after) { edges { node { fileId } } } }',
      {
        after: first.filesConnection.pageInfo.endCursor,
      },
    )
    const ids = [...first.filesConnection.edges, ...rest.filesConnection.edges].map(
      ({ node }: { node: { fileId: string } }) => node.fileId,
    )
    expect(ids).toEqual((await all('files', 'fileId')).slice(1))
  })

  test.each(['nonsense', '', 'ZmlsZV94', 'x'.repeat(5_000)])('the cursor %s is a fault', async (after) => {
    for (const field of ['filesConnection', 'callLogsConnection', 'auditLogsConnection'])
      expect(
        graphqlCode(await user.graphql(`query ($after: String) { ${field}(after: $after) { edges { cursor } } }`, { after })),
      ).toBe('BAD_USER_INPUT')
  })
})

describe('refusals have REST’s codes', () => {
  /** The same act through both doors, and what both answer. */
  const table: [string, () => Promise<Answer>, () => Promise<Answer>, number, string][] = [
    [
      'no credential',
      () => world.stranger.get('/files'),
      () => world.stranger.graphql('{ files { data { fileId } } }'),
      401,
      'unauthenticated',
    ],
    [
      'an unknown key',
      () => world.as(`assay_${'x'.repeat(43)}`).get('/contexts'),
      () => world.as(`assay_${'x'.repeat(43)}`).graphql('{ contexts { data { contextId } } }'),
      401,
      'unauthenticated',
    ],
    [
      'a missing scope',
      async () => (await poor()).get('/files'),
      async () => (await poor()).graphql('{ files { data { fileId } } }'),
      403,
      'forbidden',
    ],
    [
      'a missing admin scope',
      async () => (await poor()).patch('/tenant', {}),
      async () => (await poor()).graphql('mutation { updateTenant(input: {}) { name } }'),
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
      'an unknown file to hand out',
      () => user.get('/files/file_x'),
      () => user.graphql('mutation { createDownloadUrl(fileId: "file_x") { downloadUrl } }'),
      404,
      'not_found',
    ],
    [
      'an unknown file to delete',
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
      'an unknown context to delete',
      () => user.delete('/contexts/no'),
      () => user.graphql('mutation { deleteContext(contextKey: "no") { contextKey } }'),
      404,
      'not_found',
    ],
    [
      'an unknown key to revoke',
      () => user.post('/api-keys/key_x/revoke'),
      () => user.graphql('mutation { revokeApiKey(apiKeyId: "key_x") { apiKeyId } }'),
      404,
      'not_found',
    ],
    [
      'a page of nothing',
      () => user.get('/files?page=0'),
      () => user.graphql('{ files(page: 0) { data { fileId } } }'),
      400,
      'bad_user_input',
    ],
    [
      'a page of too much',
      () => user.get('/files?page_size=101'),
      () => user.graphql('{ files(pageSize: 101) { data { fileId } } }'),
      400,
      'bad_user_input',
    ],
    [
      'a status that is none',
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
      'a date that is none',
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
      'a duplicate',
      () => user.post('/contexts', notes()),
      () =>
        user.graphql(
          'mutation { createContext(input: { contextKey: "notes", displayName: "x", allowedExtensions: ["txt"], maxFileSizeMb: 1 }) { contextId } }',
        ),
      409,
      'conflict',
    ],
    [
      'a context that holds files',
      () => user.delete('/contexts/notes'),
      () => user.graphql('mutation { deleteContext(contextKey: "notes") { contextId } }'),
      409,
      'conflict',
    ],
    [
      'enabling what is active',
      () => user.post(`/api-keys/${keyId}/enable`),
      () => user.graphql('mutation ($id: ID!) { enableApiKey(apiKeyId: $id) { status } }', { id: keyId }),
      409,
      'conflict',
    ],
    [
      'a size that no context may have',
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
      'too large a file',
      () => user.upload('notes', 'a.txt', 'x'.repeat(5_242_881)),
      () => uploadByGraphql('a.txt', 'x'.repeat(5_242_881)),
      413,
      'size_exceeded',
    ],
    ['a file without a name', () => user.upload('notes', '..', 'x'), () => uploadByGraphql('..', 'x'), 400, 'bad_user_input'],
  ]
  const notes = (key = 'notes') => ({ context_key: key, display_name: 'x', allowed_extensions: ['txt'], max_file_size_mb: 1 })
  let cached: Promise<Caller> | undefined
  const poor = () => (cached ??= tenant.key(['delete']))
  const uploadByGraphql = (name: string, content: Uint8Array | string) =>
    user.graphqlUpload('mutation ($file: Upload!) { uploadFile(file: $file, context: "notes") { fileId } }', {}, name, content)

  test.each(table)('%s', async (_what, byRest, byGraphql, status, code) => {
    const rest = await byRest()
    const graphql = await byGraphql()
    expect(refusal(rest)).toEqual([status, code])
    expect(graphqlCode(graphql)).toBe(code.toUpperCase())
    expect(graphql.body.errors[0].extensions.details).toEqual(expect.any(Object))
    if (!/bad_user/.test(code)) expect(graphql.body.errors[0].message).toBe(rest.body.message)
  })

  test('the fields at fault are spelled as GraphQL spells them', async () => {
    const answer = await user.graphql(
      'mutation { createContext(input: { contextKey: "X", displayName: "", allowedExtensions: [], maxFileSizeMb: 9999 }) { contextId } }',
    )
    expect(answer.body.errors[0].extensions.details.fields.map(({ field }: { field: string }) => field).sort()).toEqual([
      'input.allowedExtensions',
      'input.contextKey',
      'input.displayName',
      'input.maxFileSizeMb',
    ])
    const variable = await user.graphql('query ($p: Int!) { files(page: $p) { data { fileId } } }', { p: 'x' })
    expect(variable.body.errors[0].extensions).toMatchObject({ code: 'BAD_USER_INPUT', details: { fields: [{ field: 'p' }] } })
  })
})

describe('limits', () => {
  const refused = async (query: string, variables?: Record<string, unknown>) => {
    const { status, body } = await user.graphql(query, variables)
    expect([status < 500, body.errors?.[0]?.extensions?.code, body.data ?? null]).toEqual([true, 'BAD_USER_INPUT', null])
  }
  test('depth', () => refused(`{ __schema { types { ${'fields { type { '.repeat(15)} name ${'} }'.repeat(15)} } } }`))
  test('cost', () => {
    const calls =
      'recentCalls(first: 20) { callId apiKeyId apiKeyName operation status fileId contextKey errorCode errorMessage ipAddress userAgent createdAt }'
    return refused(`{ apiKeys(pageSize: 100) { data { ${['a', 'b', 'c'].map((alias) => `${alias}: ${calls}`).join(' ')} } } }`)
  })
  test('aliases', () => refused(`{ ${Array.from({ length: 30 }, (_, index) => `a${index}: me { id }`).join(' ')} }`))
  test('fields by alias', () => refused(`{ me { ${Array.from({ length: 3_000 }, (_, index) => `a${index}: id`).join(' ')} } }`))
  test('directives', () => refused(`{ me { id ${'@skip(if: false) '.repeat(60)} } }`))
  test('tokens', () => refused(`{ me { ${'id '.repeat(20_000)} } }`))
  test('fragments in a circle', () => refused('fragment A on Query { ...B } fragment B on Query { ...A } { ...A }'))
  test('fragments that multiply', () =>
    refused(
      `${Array.from({ length: 20 }, (_, index) => `fragment F${index} on Me { ${`...F${index + 1} `.repeat(10)} }`).join(' ')} fragment F20 on Me { id } { me { ...F0 } }`,
    ))
  test('a variable that is missing, or of another type, is no fault of ours', async () => {
    await refused('query ($p: Int!) { files(page: $p) { data { fileId } } }')
    await refused('query ($p: Int!) { files(page: $p) { data { fileId } } }', { p: {} })
    await refused('query ($p: Int!) { files(page: $p) { data { fileId } } }', { p: 2 ** 40 })
  })

  test('a batch is refused', async () => {
    const answer = await user.raw('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([{ query: '{ me { id } }' }, { query: '{ me { id } }' }]),
    })
    expect([answer.status, graphqlCode(answer)]).toEqual([400, 'BAD_USER_INPUT'])
  })

  test('a GET needs a header that no form can send, and makes no changes', async () => {
    const query = encodeURIComponent('{ me { id } }')
    const bare = await user.raw(`/graphql?query=${query}`)
    expect([bare.status, graphqlCode(bare)]).toEqual([400, 'BAD_USER_INPUT'])
    const preflighted = await user.raw(`/graphql?query=${query}`, {
      headers: { 'apollo-require-preflight': '1', accept: 'application/json' },
    })
    expect(preflighted.body.data.me.id).toEqual(anId('usr'))
    const change = encodeURIComponent('mutation { updateTenant(input: { name: "by GET" }) { name } }')
    const refusedChange = await user.raw(`/graphql?query=${change}`, {
      headers: { 'apollo-require-preflight': '1', accept: 'application/json' },
    })
    expect(refusedChange.status).toBe(405)
  })
})

test('introspection and Sandbox are for development: off in production, unless asked for', async () => {
  const introspection = '{ __schema { queryType { name } } }'
  expect((await user.graphql(introspection)).body.data.__schema.queryType.name).toBe('Query')
  const page = await fetch(`${world.url}/graphql`, { headers: { accept: 'text/html' } })
  expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')])
  expect(page.headers.get('content-security-policy')).toContain('apollographql.com')
  const production = await World.open({ NODE_ENV: 'production' })
  try {
    expect(graphqlCode(await production.first.graphql(introspection))).toBe('BAD_USER_INPUT')
    expect((await production.first.graphql('{ me { id } }')).body.data.me.id).toEqual(anId('key'))
    const hint = await production.first.graphql('{ fils { data { fileId } } }')
    expect(JSON.stringify(hint.body)).not.toContain('Did you mean')
    expect((await fetch(`${production.url}/graphql`, { headers: { accept: 'text/html' } })).status).toBe(404)
  } finally {
    await production.close()
  }
})

test('the calls of one request are logged each, those that REST would not log are not', async () => {
  const key = await tenant.key(['metadata', 'download'])
  await key.graphql(
    '{ a: files { data { fileId } } b: stats { overview { totalFiles } } contexts { data { contextId } } me { id } }',
  )
  await key.graphql('mutation ($id: ID!) { createDownloadUrl(fileId: $id) { fileId } deleteFile(fileId: $id) { fileId } }', {
    id: fileId,
  })
  await key.graphql('{ files(page: "x") { data { fileId } } }')
  const { callLogs } = await ask('query ($id: ID!) { callLogs(apiKeyId: $id) { data { operation status errorCode fileId } } }', {
    id: key.id,
  })
  expect(
    callLogs.data.map(
      (call: { operation: string; status: string; errorCode: string | null }) =>
        `${call.operation} ${call.errorCode ?? call.status}`,
    ),
  ).toEqual([
    'metadata bad_user_input',
    'delete forbidden',
    'download success',
    expect.stringMatching(/^metadata success$/),
    expect.stringMatching(/^metadata success$/),
  ])
  expect(faultyFields(await key.get('/files?page=x'))).toEqual(['page'])
})
