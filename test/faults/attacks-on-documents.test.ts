import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { getIntrospectionQuery } from 'graphql'
import { expectHealthy } from '../support/expect-healthy.js'
import { getGraphqlCode } from '../support/response-assertions.js'
import { type ApiResponse, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('inbox')
})
afterAll(() => world.close())

describe('excessively expensive GraphQL documents', () => {
  const spread = (count: number, write: (at: number) => string) => Array.from({ length: count }, (_, at) => write(at)).join(' ')
  const nested = (levels: number, open: string, close = '}') => `${open.repeat(levels)} x ${close.repeat(levels)}`
  const bombs: [string, string][] = [
    ['too many levels', `{ files { data { ${'context { '.repeat(20)} contextKey ${'} '.repeat(20)} } } }`],
    ['enough levels to exhaust the stack of the parser', `{ files { data ${nested(3000, '{ context ')} } }`],
    ['nested lists', `{ files(context: ${'['.repeat(5000)}) { pagination { page } } }`],
    ['nested objects', `{ x(a: ${'{a:'.repeat(2000)}1${'}'.repeat(2000)}) }`],
    ['nested types', `query ($a: ${'['.repeat(3000)}Int${']'.repeat(3000)}) { me { id } }`],
    ['many root aliases', `{ ${spread(21, (at) => `a${at}: files { pagination { totalItems } }`)} }`],
    ['many root aliases in a fragment', `{ ...f } fragment f on Query { ${spread(21, (at) => `a${at}: me { id }`)} }`],
    ['many aliases', `{ me { ${spread(1500, (at) => `a${at}: id`)} } }`],
    ['many aliases of __typename', `{ me { ${spread(1500, (at) => `a${at}: __typename`)} } }`],
    ['a repeated field', `{ me { ${'id '.repeat(7500)} } }`],
    ['circular fragments', '{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }'],
    ['a fragment that contains itself', '{ me { ...a } } fragment a on Me { ...a }'],
    [
      'many circular fragments',
      `{ me { ...f0 } } ${spread(300, (at) => `fragment f${at} on Me { id ...f${(at + 1) % 300} ...f${(at + 7) % 300} }`)}`,
    ],
    [
      'fragments that multiply',
      `{ ...f0 } ${spread(40, (at) => `fragment f${at} on Query { ...f${at + 1} ...f${at + 1} }`)} fragment f40 on Query { me { id } }`,
    ],
    [
      'fragments that multiply without fields',
      `{ ...f0 } ${spread(60, (at) => `fragment f${at} on Query { ...f${at + 1} ...f${at + 1} }`)}`,
    ],
    [
      'circular fragments that multiply',
      `{ ...f0 } ${spread(30, (at) => `fragment f${at} on Query { ...f${(at + 1) % 30} ...f${(at + 1) % 30} }`)}`,
    ],
    [
      'a chain of fragments',
      `{ ...f0 } ${spread(1000, (at) => `fragment f${at} on Query { ...f${at + 1} }`)} fragment f1000 on Query { me { id } }`,
    ],
    ['many inline fragments', `{ ${'... { '.repeat(400)} me { id } ${'} '.repeat(400)} }`],
    ['many directives', `{ me { id ${'@include(if: true) '.repeat(60)} } }`],
    ['many unknown directives', `{ me { id ${'@a'.repeat(3000)} } }`],
    ['too many tokens', `{ me { id } } # \n ${'{ '.repeat(5)} ${'a '.repeat(9000)}`],
    ['a huge comment', `{ me { id } } #${'x'.repeat(200_000)}`],
    ['a huge string', `{ context(contextKey: "${'x'.repeat(200_000)}") { contextId } }`],
    ['a huge block string', `{ context(contextKey: """${'\n x'.repeat(100_000)}""") { contextId } }`],
    [
      'nested pages',
      `{ ${spread(10, (at) => `a${at}: apiKeys(pageSize: 100) { data { recentCalls(first: 20) { ${spread(30, (field) => `b${field}: callId`)} } } }`)} }`,
    ],
    [
      'connections of 100',
      `{ ${spread(20, (at) => `a${at}: filesConnection(first: 100) { edges { node { ${spread(40, (field) => `b${field}: fileId`)} } } }`)} }`,
    ],
    ['nested introspection', '{ __schema { types { fields { type { fields { type { fields { type { name } } } } } } } } }'],
    ['introspection with aliases', `{ __schema { types { ${spread(30, (at) => `a${at}: fields { name type { name } }`)} } } }`],
    [
      'introspection with aliases in a fragment',
      `{ __schema { types { ...t } } } fragment t on __Type { ${spread(30, (at) => `a${at}: fields { name }`)} }`,
    ],
    ['repeated introspection', `{ ${spread(20, (at) => `a${at}: __schema { types { name } }`)} }`],
  ]

  test.each(bombs)('rejects a GraphQL document with %s', async (_name, query) => {
    const before = process.cpuUsage()
    const response = await tenant.admin.graphql(query)
    const spent = process.cpuUsage(before)
    expect(response.status).toBe(400)
    expect(getGraphqlCode(response)).toBe('BAD_USER_INPUT')
    expect(response.body.data ?? null).toBeNull()
    expect(JSON.stringify(response.body).length).toBeLessThan(20_000)
    // Rejecting a document may cost no more than an ordinary response.
    expect((spent.user + spent.system) / 1000).toBeLessThan(2_000)
    await expectHealthy(world, tenant)
  })

  test('rejects GraphQL batches, oversized bodies and malformed requests', async () => {
    const post = (body: string, type = 'application/json') =>
      tenant.admin.raw('/graphql', { method: 'POST', headers: { 'content-type': type }, body })
    const request = { query: '{ me { id } }' }
    const bad = [
      JSON.stringify([request, request]),
      '[]',
      '""',
      'null',
      '{',
      '{"query":1}',
      '{"query":{}}',
      '{"query":"{ me { id } }","variables":[]}',
      '{}',
      '',
    ]
    for (const body of [...bad, JSON.stringify({ query: `{ me { id } } #${'x'.repeat(1_100_000)}` })]) {
      const response = await post(body)
      expect([body.slice(0, 40), response.status, getGraphqlCode(response)]).toEqual([body.slice(0, 40), 400, 'BAD_USER_INPUT'])
    }
    await expectHealthy(world, tenant)
  })

  test('accepts a GraphQL document with twenty root fields or twelve levels', async () => {
    const many = await tenant.admin.graphql(
      `{ ${spread(20, (at) => `a${at}: files(pageSize: 100) { data { fileId context { contextKey } } pagination { totalItems } }`)} }`,
    )
    expect(many.body.errors).toBeUndefined()
    for (const options of [
      {},
      { specifiedByUrl: true, directiveIsRepeatable: true, schemaDescription: true, inputValueDeprecation: true, oneOf: true },
    ]) {
      const schema = await world.unauthenticated.graphql(getIntrospectionQuery(options))
      expect(schema.body.errors).toBeUndefined()
      expect(schema.body.data.__schema.types.length).toBeGreaterThan(50)
    }
    const year = await tenant.admin.graphql(
      '{ apiCallsChart(period: hourly, days: 365) { dataPoints { timestamp total success failure byOperation { upload download metadata delete } } } }',
    )
    expect(year.body.errors).toBeUndefined()
  })

  test('limits a GraphQL document to one year of hourly chart points', async () => {
    const years = (count: number) =>
      tenant.admin.graphql(
        `{ ${Array.from({ length: count }, (_, at) => `y${at}: uploadsChart(period: hourly, days: 365) { __typename dataPoints { __typename } }`)} }`,
      )
    expect((await years(1)).body.errors).toBeUndefined()
    const two = await years(2)
    expect([two.status, getGraphqlCode(two)]).toEqual([400, 'BAD_USER_INPUT'])
    const months = Array.from(
      { length: 12 },
      (_, at) => `m${at}: uploadsChart(days: 365) { dataPoints { timestamp count totalBytes } }`,
    )
    expect((await tenant.admin.graphql(`{ ${months} }`)).body.errors).toBeUndefined()
  })

  test('adds at most 20 call log entries for an expensive GraphQL document', async () => {
    const fresh = await world.createTenant()
    await fresh.admin.graphql(`{ ${spread(1500, (at) => `a${at}: files { pagination { page } }`)} }`)
    expect((await fresh.admin.get('/stats/logs')).body.data.pagination.total_items).toBeLessThanOrEqual(20)
  })

  test('does not reveal the GraphQL schema in production', async () => {
    const production = await World.open({ NODE_ENV: 'production' }, world)
    try {
      const anonymous = production.unauthenticated
      const requested = await anonymous.graphql('{ __schema { types { name } } }')
      expect([requested.status, getGraphqlCode(requested)]).toEqual([400, 'BAD_USER_INPUT'])
      // Errors must not suggest field names with "Did you mean".
      const guess = await anonymous.graphql('{ file { filId } fils { data } }')
      expect(JSON.stringify(guess.body)).not.toMatch(/did you mean|"files"/i)
      expect((await anonymous.raw('/graphql', { headers: { accept: 'text/html' } })).status).toBe(404)
    } finally {
      await production.close()
    }
  })
})

describe('regular expression backtracking', () => {
  // Inputs per pattern: long strings that match partially and fail at the end.
  const long = 100_000
  const strings = [
    `${'a'.repeat(long)}!`,
    `${'a@'.repeat(long / 2)}`,
    `${' '.repeat(long)}x`,
    `${'{'.repeat(long)}`,
    `${'/'.repeat(long)}`,
    `${'0-'.repeat(long / 2)}`,
    `${'\t'.repeat(long)}`,
    `${'+json'.repeat(long / 5)}!`,
  ]
  const attempts: [string, (text: string) => Promise<ApiResponse>][] = [
    [
      'context_key',
      (text) =>
        tenant.admin.post('/contexts', {
          context_key: text,
          display_name: 'x',
          allowed_extensions: ['txt'],
          max_file_size_mb: 1,
        }),
    ],
    [
      'allowed_extensions',
      (text) =>
        tenant.admin.post('/contexts', { context_key: 'x', display_name: 'x', allowed_extensions: [text], max_file_size_mb: 1 }),
    ],
    ['storage_path_template', (text) => tenant.admin.patch('/contexts/inbox', { storage_path_template: text })],
    ['display_name', (text) => tenant.admin.patch('/contexts/inbox', { display_name: text })],
    ['name', (text) => tenant.admin.post('/api-keys', { name: text })],
    [
      'e-mail',
      (text) =>
        tenant.admin.graphql('mutation ($input: InviteUserInput!) { inviteUser(input: $input) { password } }', {
          input: { email: text, name: 'x', scopes: ['upload'] },
        }),
    ],
    [
      'sign-in',
      (text) =>
        world.unauthenticated.graphql('mutation ($e: String!) { signIn(email: $e, password: "12345678") { token } }', {
          e: text,
        }),
    ],
    ['id', (text) => tenant.admin.graphql('query ($id: ID!) { file(fileId: $id) { fileId } }', { id: text })],
    [
      'cursor',
      (text) =>
        tenant.admin.graphql('query ($after: String!) { filesConnection(after: $after) { edges { cursor } } }', { after: text }),
    ],
    [
      'date',
      (text) => tenant.admin.graphql('query ($d: String!) { callLogs(startDate: $d) { pagination { page } } }', { d: text }),
    ],
    ['file name', (text) => tenant.admin.upload('inbox', `${text}.txt`, 'hello')],
    ['content', (text) => tenant.admin.upload('inbox', 'a.csv', text)],
    [
      'idempotency',
      (text) =>
        tenant.admin.graphql('mutation ($k: String!) { createApiKey(input: { name: "x" }, idempotencyKey: $k) { apiKeyId } }', {
          k: text,
        }),
    ],
    ['a document', (text) => tenant.admin.graphql(text)],
    [
      'a type',
      (text) => tenant.admin.post('/api-keys', '{}', { 'content-type': `application/${text.slice(0, 8000).trim() || 'x'}` }),
    ],
    ['an Accept header', (text) => tenant.admin.get('/contexts', { accept: text.slice(0, 8000).trim() || 'x' })],
    ['a user agent', (text) => tenant.admin.get('/contexts', { 'user-agent': text.slice(0, 8000).trim() || 'x' })],
    ['a credential', (text) => world.unauthenticated.get('/contexts', { authorization: `Bearer ${text.slice(0, 8000)}` })],
    [
      'a range',
      (text) =>
        world.unauthenticated.raw('/download/file_x', {
          headers: { range: `bytes=${text.slice(0, 8000)}`, 'if-none-match': text.slice(0, 4000).trim() || 'x' },
        }),
    ],
    [
      'a query string',
      (text) =>
        tenant.admin.get(
          `/stats/logs?start_date=${encodeURIComponent(text.slice(0, 4000))}&page=${encodeURIComponent(text.slice(0, 1000))}`,
        ),
    ],
    ['a path', (text) => tenant.admin.get(`/files/${encodeURIComponent(text.slice(0, 4000))}`)],
  ]

  test.each(attempts)('processes %s without catastrophic regular expression backtracking', async (_what, attempt) => {
    const cpu = async (text: string) => {
      const before = process.cpuUsage()
      const response = await attempt(text)
      expect(response.status).not.toBe(500)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    }
    await cpu('x')
    const harmless = Math.max(await cpu('x'), await cpu(`x${'é'.repeat(1000)}`))
    // A backtracking pattern would take minutes. Any other pattern takes only the time to read the input.
    for (const text of strings) expect(await cpu(text)).toBeLessThan(harmless * 20 + 2_000)
  })
})
