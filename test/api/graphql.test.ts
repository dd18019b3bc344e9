import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  anyId,
  anyTimestamp,
  getData,
  getGraphqlCode,
  getInvalidFields,
  toStatusAndCode,
} from '../support/response-assertions.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let user: Caller
let fileId: string
let keyId: string
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('notes', { metadata: { a: [1] } })
  await tenant.createContext('empty')
  user = await tenant.createUser(['upload', 'download', 'metadata', 'delete', 'admin'])
  const key = await tenant.createKey(['upload', 'metadata'])
  keyId = key.id
  fileId = (await key.upload('notes', 'a.txt', 'text', { metadata: { page: 7 } })).body.data.file_id
  for (let index = 0; index < 6; index++) await key.upload('notes', `${index}.txt`, 'x'.repeat(index + 1))
  await key.upload('notes', 'a.exe', 'x')
})
afterAll(() => world.close())

const request = async (query: string, variables: Record<string, unknown> = {}, caller: Caller = user) => {
  const { status, body } = await caller.graphql(query, variables)
  expect([status, body.errors]).toEqual([200, undefined])
  return body.data
}

describe('REST values in GraphQL', () => {
  const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const camel = (name: string) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())
  const free = ['metadata', 'details', 'evidence']
  const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

  /** Builds a GraphQL selection of the fields in a REST response. */
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
  test.each(pairs)('returns the same values as REST, with camelCase names, for %s', async (field, path, args) => {
    const fill = (text: string) => text.replaceAll('KEY', keyId).replaceAll('FILE', fileId)
    const expected = getData(await user.get(fill(path)))
    const data = await request(`{ ${field}${fill(args)} ${selectionOf(expected)} }`)
    expect(inRestSpelling(data[field])).toEqual(expected)
  })
})

describe('GraphQL mutations', () => {
  test('creates, disables, enables, rotates and revokes keys over GraphQL', async () => {
    const { createApiKey } = await request(
      'mutation { createApiKey(input: { name: "G", scopes: [metadata], expiresInDays: 3 }) { apiKeyId apiKey name scopes expiresAt } }',
    )
    expect(createApiKey).toEqual({
      apiKeyId: anyId('key'),
      apiKey: expect.stringMatching(/^assay_[\w-]{43}$/),
      name: 'G',
      scopes: ['metadata'],
      expiresAt: anyTimestamp,
    })
    const id = { id: createApiKey.apiKeyId }
    for (const [move, status] of [
      ['disableApiKey', 'disabled'],
      ['enableApiKey', 'active'],
      ['revokeApiKey', 'revoked'],
    ])
      expect((await request(`mutation ($id: ID!) { ${move}(apiKeyId: $id) { status } }`, id))[move!]).toEqual({ status })
    expect(getGraphqlCode(await user.graphql('mutation ($id: ID!) { enableApiKey(apiKeyId: $id) { status } }', id))).toBe(
      'CONFLICT',
    )
    expect(getGraphqlCode(await user.graphql('mutation ($id: ID!) { rotateApiKey(apiKeyId: $id) { apiKey } }', id))).toBe(
      'CONFLICT',
    )
  })

  test('creates, updates and deletes contexts over GraphQL', async () => {
    const input = { contextKey: 'made', displayName: 'Made', allowedExtensions: ['.TXT'], maxFileSizeMb: 2 }
    const { createContext } = await request(
      'mutation ($input: CreateContextInput!) { createContext(input: $input) { contextId allowedExtensions storageQuotaMb scanForViruses } }',
      { input },
    )
    expect(createContext).toEqual({
      contextId: anyId('ctx'),
      allowedExtensions: ['txt'],
      storageQuotaMb: 10_240,
      scanForViruses: true,
    })
    const { updateContext } = await request(
      'mutation { updateContext(contextKey: "made", input: { status: disabled }) { status displayName } }',
    )
    expect(updateContext).toEqual({ status: 'disabled', displayName: 'Made' })
    expect(await request('mutation { deleteContext(contextKey: "made") { contextId contextKey } }')).toEqual({
      deleteContext: { contextId: createContext.contextId, contextKey: 'made' },
    })
  })

  test('executes a GraphQL mutation only once if it is repeated with the same idempotencyKey', async () => {
    const create = (maxFileSizeMb: number) =>
      user.graphql(
        'mutation ($mb: Int!) { createContext(idempotencyKey: "g-1", input: { contextKey: "once", displayName: "x", allowedExtensions: ["txt"], maxFileSizeMb: $mb }) { contextId createdAt } }',
        { mb: maxFileSizeMb },
      )
    const first = (await create(1)).body.data.createContext
    expect((await create(1)).body.data.createContext).toEqual(first)
    expect(getGraphqlCode(await create(2))).toBe('IDEMPOTENCY_MISMATCH')
    await user.delete('/contexts/once')
  })

  test('updates the tenant and returns the current user over GraphQL', async () => {
    expect(await request('mutation { updateTenant(input: { name: "Renamed" }) { name } }')).toEqual({
      updateTenant: { name: 'Renamed' },
    })
    expect(await request('{ me { id type name email scopes tenantId } }')).toEqual({
      me: {
        id: anyId('usr'),
        type: 'user',
        name: 'Ada',
        email: expect.stringContaining('@'),
        scopes: ['upload', 'download', 'metadata', 'delete', 'admin'],
        tenantId: tenant.tenantId,
      },
    })
    expect(await request('{ me { id type email } }', {}, tenant.admin)).toEqual({
      me: { id: tenant.admin.id, type: 'api_key', email: null },
    })
  })

  test('signs in and out with GraphQL mutations', async () => {
    const other = await tenant.createUser(['metadata'])
    const signIn =
      'mutation ($email: String!, $password: String!) { signIn(email: $email, password: $password) { token expiresAt user { userId email scopes } } }'
    const data = await request(signIn, { email: other.email.toUpperCase(), password: other.password }, world.unauthenticated)
    expect(data.signIn).toMatchObject({
      expiresAt: anyTimestamp,
      user: { userId: anyId('usr'), email: other.email, scopes: ['metadata'] },
    })
    const session = world.createCaller(data.signIn.token)
    getData(await session.get('/files'))
    expect(await request('mutation { signOut }', {}, session)).toEqual({ signOut: true })
    expect(toStatusAndCode(await session.get('/files'))).toEqual([401, 'unauthenticated'])
    const wrong = await world.unauthenticated.graphql(signIn, { email: other.email, password: 'wrong password' })
    expect(getGraphqlCode(wrong)).toBe('UNAUTHENTICATED')
  })

  test('reports a healthy store in the storageHealth query', async () => {
    expect(await request('{ storageHealth { countersDrift filesWithoutBlob blobsWithoutFile corrupted journalDrift } }')).toEqual(
      {
        storageHealth: { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 },
      },
    )
  })
})

describe('GraphQL connections', () => {
  interface Connection {
    edges: { cursor: string; node: { id: string } }[]
    pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null }
  }
  const walk = async (field: string, id: string, filter = '') => {
    const observed: string[] = []
    let after: string | null = null
    for (let pages = 0; pages < 50; pages++) {
      const data: Record<string, Connection> = await request(
        `query ($after: String) { ${field}(first: 2, after: $after${filter}) { edges { cursor node { id: ${id} } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`,
        { after },
      )
      const { edges, pageInfo } = data[field]!
      expect(pageInfo.hasPreviousPage).toBe(after !== null)
      expect([pageInfo.startCursor, pageInfo.endCursor]).toEqual([edges[0]?.cursor ?? null, edges.at(-1)?.cursor ?? null])
      observed.push(...edges.map(({ node }) => node.id))
      if (!pageInfo.hasNextPage) return observed
      expect(edges).toHaveLength(2)
      after = pageInfo.endCursor
    }
    throw new Error('The connection did not end after the maximum number of pages.')
  }
  const all = async (field: string, id: string, filter = '') =>
    (await request(`{ ${field}(pageSize: 100${filter}) { data { id: ${id} } } }`))[field].data.map(
      (item: { id: string }) => item.id,
    )

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
  ])('pages through a GraphQL connection without duplicates or gaps: %s (id field: %s%s)', async (field, id, filter) => {
    const expected = await all(field, id, filter)
    expect(await walk(`${field}Connection`, id, filter)).toEqual(expected)
    expect(expected).toEqual([...new Set(expected)].sort().reverse())
    if (!/empty|unknown/.test(filter)) expect(expected.length).toBeGreaterThan(0)
  })

  test('returns later pages without gaps or duplicates even if items are created in the meantime', async () => {
    const first = await request('{ filesConnection(first: 3) { edges { node { fileId } } pageInfo { endCursor } } }')
    await user.upload('notes', 'late.txt', 'x')
    const rest = await request(
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

  test.each(['nonsense', '', 'ZmlsZV94', 'x'.repeat(5_000)])('rejects the connection cursor %s', async (after) => {
    for (const field of ['filesConnection', 'callLogsConnection', 'auditLogsConnection'])
      expect(
        getGraphqlCode(await user.graphql(`query ($after: String) { ${field}(after: $after) { edges { cursor } } }`, { after })),
      ).toBe('BAD_USER_INPUT')
  })
})

test('logs each root field of a GraphQL request like a REST call', async () => {
  const key = await tenant.createKey(['metadata', 'download'])
  await key.graphql(
    '{ a: files { data { fileId } } b: stats { overview { totalFiles } } contexts { data { contextId } } me { id } }',
  )
  await key.graphql('mutation ($id: ID!) { createDownloadUrl(fileId: $id) { fileId } deleteFile(fileId: $id) { fileId } }', {
    id: fileId,
  })
  await key.graphql('{ files(page: "x") { data { fileId } } }')
  const { callLogs } = await request(
    'query ($id: ID!) { callLogs(apiKeyId: $id) { data { operation status errorCode fileId } } }',
    {
      id: key.id,
    },
  )
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
  expect(getInvalidFields(await key.get('/files?page=x'))).toEqual(['page'])
})
