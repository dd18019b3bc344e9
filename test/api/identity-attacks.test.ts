import { createHmac, createPrivateKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { getIntrospectionQuery } from 'graphql'
import { SignJWT } from 'jose'
import { routes } from '../../src/rest/routes.js'
import { dataOf, faultyFields, graphqlCode, itemsOf, refusal } from '../support/answers.js'
import { exchange, RawHttp } from '../support/raw-exchange.js'
import { type Answer, type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
  tenant = await world.tenant()
  await tenant.context('inbox')
})
afterAll(() => world.close())

/** Nothing that was thrown at it may have hurt it. */
const isWell = async () => {
  expect((await tenant.admin.get('/contexts')).status).toBe(200)
  // What is logged as our fault was one.
  expect(world.log.lines.filter((line) => JSON.parse(line).level >= 40)).toEqual([])
}
const get = (target: string, headers: string[]) =>
  exchange(
    world.url,
    `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`,
  )

describe('forged sessions', () => {
  let user: Caller
  let payload: Record<string, unknown>
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const now = () => Math.floor(Date.now() / 1000)
  beforeAll(async () => {
    user = await tenant.user(['metadata'])
    payload = JSON.parse(Buffer.from(user.credential!.split('.')[1]!, 'base64url').toString())
  })

  async function signed(claims: Record<string, unknown>, header: Record<string, unknown> = {}): Promise<string> {
    const key = await world.app.services.identity.signing.session.current()
    const merged = JSON.parse(JSON.stringify({ ...payload, ...claims }))
    return new SignJWT(merged)
      .setProtectedHeader({ alg: 'EdDSA', kid: key.id, ...header })
      .sign(createPrivateKey({ key: key.secret, format: 'der', type: 'pkcs8' }))
  }
  const refused = async (token: string) => {
    expect(refusal(await world.as(token).get('/files'))).toEqual([401, 'unauthenticated'])
    expect(graphqlCode(await world.as(token).graphql('{ me { id } }'))).toBe('UNAUTHENTICATED')
  }

  test('what is signed by the right key with the right claims passes: the rest fails for its own reason', async () => {
    expect((await world.as(await signed({})).get('/files')).status).toBe(200)
  })

  test.each([
    ['expired', () => ({ exp: now() - 1 })],
    ['not yet valid', () => ({ nbf: now() + 30 })],
    ['of another issuer', () => ({ iss: 'https://evil.example.com' })],
    ['of no issuer', () => ({ iss: undefined })],
    ['for another audience', () => ({ aud: 'someone else' })],
    ['for no audience', () => ({ aud: undefined })],
    ['without an expiry', () => ({ exp: undefined })],
    ['of another user', () => ({ sub: 'usr_00000000000000000000000000' })],
    ['of another tenant', () => ({ tid: 'ten_00000000000000000000000000' })],
    ['of a session that there is not', () => ({ sid: 'ses_00000000000000000000000000' })],
    ['of a session that is no id', () => ({ sid: { $ne: 1 } })],
  ])('%s', async (_what, claims) => refused(await signed(claims())))

  test('an unknown kid, no kid, and a kid that is a path', async () => {
    for (const kid of ['sig_00000000000000000000000000', undefined, '../../etc/passwd', "' OR 1=1 --"])
      await refused(await signed({}, { kid }))
  })

  test('alg none, and HS256 with the public key', async () => {
    const { body } = await world.stranger.raw('/.well-known/jwks.json')
    const [jwk] = body.keys
    const tokens = ['none', 'None', 'NONE', 'nOnE'].map((alg) => `${part({ alg, kid: jwk.kid })}.${part(payload)}.`)
    for (const secret of [jwk.x, Buffer.from(jwk.x, 'base64url'), JSON.stringify(jwk)]) {
      const head = `${part({ alg: 'HS256', kid: jwk.kid })}.${part(payload)}`
      tokens.push(`${head}.${createHmac('sha256', secret).update(head).digest('base64url')}`)
    }
    // The right signature, under another header.
    tokens.push(`${part({ alg: 'none', kid: jwk.kid })}.${user.credential!.split('.').slice(1).join('.')}`)
    // A key that the token brings along.
    tokens.push(await signed({}, { kid: undefined, jwk }))
    for (const token of tokens) await refused(token)
  })

  test('tokens of 8 KB are refused, of 100 KB with their headers, both in JSON', async () => {
    expect(refusal(await world.as(`${'a'.repeat(4000)}.${'b'.repeat(4500)}.c`).get('/files'))).toEqual([401, 'unauthenticated'])
    const answer = await get('/api/v1/files', [`Authorization: Bearer ${'a'.repeat(50_000)}.${'b'.repeat(50_000)}.c`])
    expect(answer.status).toBe(431)
    expect(answer.headers).toMatchObject({
      'content-type': expect.stringContaining('application/json'),
      'x-request-id': expect.any(String),
    })
    expect(JSON.parse(answer.body)).toMatchObject({
      status: 'ERROR',
      error: { code: 'bad_user_input' },
      request_id: answer.headers['x-request-id'],
    })
  })

  test('two Authorization headers, in whatever order', async () => {
    const good = `Authorization: Bearer ${tenant.admin.credential}`
    const bad = 'authorization: Bearer assay_nobody'
    for (const headers of [
      [good, bad],
      [bad, good],
      [good, good],
      [good, 'AUTHORIZATION:'],
    ])
      expect((await get('/api/v1/files', headers)).status).toBe(401)
    expect((await get('/api/v1/files', [good])).status).toBe(200)
  })

  test('other schemes, no scheme, the key in the query string or in a cookie', async () => {
    const key = tenant.admin.credential!
    for (const value of [key, `Basic ${key}`, `Bearer`, `Bearer ${key} ${key}`, `Bearer "${key}"`, `Bearer\t${key}`])
      expect((await get('/api/v1/files', [`Authorization: ${value}`])).status).toBe(401)
    expect((await get(`/api/v1/files?access_token=${key}`, [])).status).toBe(401)
    expect((await get('/api/v1/files', [`Cookie: token=${key}`])).status).toBe(401)
  })
})

describe('prototype pollution', () => {
  const evil = '{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}}}'
  const clean = () => {
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect((Object.create(null) as Record<string, unknown>).polluted).toBeUndefined()
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  }
  const path = (route: string) => route.replace('{api_key_id}', tenant.admin.id).replace('{context_key}', 'inbox')

  test.each(routes.filter(({ body }) => body === 'json').map(({ method, path }) => [method, path]))(
    'in the body of %s %s',
    async (method, route) => {
      const send = (body: string) => tenant.admin.rest(method, path(route), body, { 'content-type': 'application/json' })
      expect(faultyFields(await send(evil))).toEqual(expect.arrayContaining(['__proto__', 'constructor']))
      clean()
      const nested = await send(
        `{"metadata":${evil},"name":${evil},"display_name":${evil},"scopes":${evil},"grace_seconds":${evil}}`,
      )
      expect(nested.status).toBe(400)
      clean()
    },
  )

  test('in metadata it is a member like any other', async () => {
    const made = await tenant.admin.rest('POST', '/api-keys', `{"name":"p","metadata":${evil}}`, {
      'content-type': 'application/json',
    })
    const { api_key_id: id } = dataOf(made, { status: 201, message: true })
    expect(dataOf(await tenant.admin.get(`/api-keys/${id}`)).metadata.constructor).toEqual({ prototype: { polluted: 'yes' } })
    clean()
  })

  test('in the metadata of an upload, and in the names of its parts', async () => {
    expect((await tenant.admin.upload('inbox', 'a.txt', 'a', { metadata: evil })).status).toBe(201)
    const form = new FormData()
    for (const name of ['__proto__', 'constructor', '__proto__[polluted]', 'constructor.prototype.polluted', 'toString'])
      form.append(name, 'yes')
    form.append('file', new Blob(['a']), 'a.txt')
    form.append('context', 'inbox')
    expect(faultyFields(await tenant.admin.post('/files/upload', form))).toEqual(
      expect.arrayContaining(['__proto__', 'constructor']),
    )
    clean()
  })

  test('in GraphQL: variables, literals, extensions, and the map of a multipart request', async () => {
    const post = (body: string) =>
      tenant.admin.raw('/graphql', { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const query = 'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKeyId } }'
    await post(
      `{"query":${JSON.stringify(query)},"variables":{"__proto__":{"polluted":"yes"},"input":{"name":"p","metadata":${evil}}},"extensions":${evil},"__proto__":{"polluted":"yes"}}`,
    )
    await post(`{"query":${JSON.stringify(query)},"variables":{"input":${evil}}}`)
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
      const answer = await tenant.admin.raw('/graphql', {
        method: 'POST',
        headers: { 'apollo-require-preflight': 'true' },
        body: form,
      })
      expect(graphqlCode(answer)).toBe('BAD_USER_INPUT')
      clean()
    }
    await isWell()
  })
})

describe('GraphQL bombs', () => {
  const spread = (count: number, write: (at: number) => string) => Array.from({ length: count }, (_, at) => write(at)).join(' ')
  const nested = (levels: number, open: string, close = '}') => `${open.repeat(levels)} x ${close.repeat(levels)}`
  const bombs: [string, string][] = [
    ['depth', `{ files { data { ${'context { '.repeat(20)} contextKey ${'} '.repeat(20)} } } }`],
    ['a depth that would take the parser’s stack', `{ files { data ${nested(3000, '{ context ')} } }`],
    ['lists of lists', `{ files(context: ${'['.repeat(5000)}) { pagination { page } } }`],
    ['objects of objects', `{ x(a: ${'{a:'.repeat(2000)}1${'}'.repeat(2000)}) }`],
    ['types of types', `query ($a: ${'['.repeat(3000)}Int${']'.repeat(3000)}) { me { id } }`],
    ['root aliases', `{ ${spread(21, (at) => `a${at}: files { pagination { totalItems } }`)} }`],
    ['root aliases by a fragment', `{ ...f } fragment f on Query { ${spread(21, (at) => `a${at}: me { id }`)} }`],
    ['aliases', `{ me { ${spread(1500, (at) => `a${at}: id`)} } }`],
    ['aliases of __typename', `{ me { ${spread(1500, (at) => `a${at}: __typename`)} } }`],
    ['the same field again and again', `{ me { ${'id '.repeat(7500)} } }`],
    ['a fragment in a circle', '{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }'],
    ['a fragment of itself', '{ me { ...a } } fragment a on Me { ...a }'],
    [
      'many fragments in circles',
      `{ me { ...f0 } } ${spread(300, (at) => `fragment f${at} on Me { id ...f${(at + 1) % 300} ...f${(at + 7) % 300} }`)}`,
    ],
    [
      'fragments that fan out',
      `{ ...f0 } ${spread(40, (at) => `fragment f${at} on Query { ...f${at + 1} ...f${at + 1} }`)} fragment f40 on Query { me { id } }`,
    ],
    [
      'fragments that fan out to nothing',
      `{ ...f0 } ${spread(60, (at) => `fragment f${at} on Query { ...f${at + 1} ...f${at + 1} }`)}`,
    ],
    [
      'fragments that fan out in a circle',
      `{ ...f0 } ${spread(30, (at) => `fragment f${at} on Query { ...f${(at + 1) % 30} ...f${(at + 1) % 30} }`)}`,
    ],
    [
      'a chain of fragments',
      `{ ...f0 } ${spread(1000, (at) => `fragment f${at} on Query { ...f${at + 1} }`)} fragment f1000 on Query { me { id } }`,
    ],
    ['inline fragments', `{ ${'... { '.repeat(400)} me { id } ${'} '.repeat(400)} }`],
    ['directives', `{ me { id ${'@include(if: true) '.repeat(60)} } }`],
    ['unknown directives', `{ me { id ${'@a'.repeat(3000)} } }`],
    ['tokens', `{ me { id } } # \n ${'{ '.repeat(5)} ${'a '.repeat(9000)}`],
    ['a huge comment', `{ me { id } } #${'x'.repeat(200_000)}`],
    ['a huge string', `{ context(contextKey: "${'x'.repeat(200_000)}") { contextId } }`],
    ['a huge block string', `{ context(contextKey: """${'\n x'.repeat(100_000)}""") { contextId } }`],
    [
      'pages in pages',
      `{ ${spread(10, (at) => `a${at}: apiKeys(pageSize: 100) { data { recentCalls(first: 20) { ${spread(30, (field) => `b${field}: callId`)} } } }`)} }`,
    ],
    [
      'connections of 100',
      `{ ${spread(20, (at) => `a${at}: filesConnection(first: 100) { edges { node { ${spread(40, (field) => `b${field}: fileId`)} } } }`)} }`,
    ],
    [
      'introspection of introspection',
      '{ __schema { types { fields { type { fields { type { fields { type { name } } } } } } } } }',
    ],
    ['introspection with aliases', `{ __schema { types { ${spread(30, (at) => `a${at}: fields { name type { name } }`)} } } }`],
    [
      'introspection with aliases in a fragment',
      `{ __schema { types { ...t } } } fragment t on __Type { ${spread(30, (at) => `a${at}: fields { name }`)} }`,
    ],
    ['introspection again and again', `{ ${spread(20, (at) => `a${at}: __schema { types { name } }`)} }`],
  ]

  test.each(bombs)('%s', async (_name, query) => {
    const before = process.cpuUsage()
    const answer = await tenant.admin.graphql(query)
    const spent = process.cpuUsage(before)
    expect(answer.status).toBe(400)
    expect(graphqlCode(answer)).toBe('BAD_USER_INPUT')
    expect(answer.body.data ?? null).toBeNull()
    expect(JSON.stringify(answer.body).length).toBeLessThan(20_000)
    // What it costs to refuse is bounded by what an ordinary answer may cost, not by what the bomb would do.
    expect((spent.user + spent.system) / 1000).toBeLessThan(2_000)
    await isWell()
  })

  test('batches, bodies that are too large, and things that are no request', async () => {
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
      const answer = await post(body)
      expect([body.slice(0, 40), answer.status, graphqlCode(answer)]).toEqual([body.slice(0, 40), 400, 'BAD_USER_INPUT'])
    }
    await isWell()
  })

  test('what is within the limits passes: twenty root fields, twelve levels, the standard introspection', async () => {
    const many = await tenant.admin.graphql(
      `{ ${spread(20, (at) => `a${at}: files(pageSize: 100) { data { fileId context { contextKey } } pagination { totalItems } }`)} }`,
    )
    expect(many.body.errors).toBeUndefined()
    for (const options of [
      {},
      { specifiedByUrl: true, directiveIsRepeatable: true, schemaDescription: true, inputValueDeprecation: true, oneOf: true },
    ]) {
      const schema = await world.stranger.graphql(getIntrospectionQuery(options))
      expect(schema.body.errors).toBeUndefined()
      expect(schema.body.data.__schema.types.length).toBeGreaterThan(50)
    }
    const year = await tenant.admin.graphql(
      '{ apiCallsChart(period: hourly, days: 365) { dataPoints { timestamp total success failure byOperation { upload download metadata delete } } } }',
    )
    expect(year.body.errors).toBeUndefined()
  })

  test('a bomb leaves as many rows in the log as a request may ask for, and no more', async () => {
    const fresh = await world.tenant()
    await fresh.admin.graphql(`{ ${spread(1500, (at) => `a${at}: files { pagination { page } }`)} }`)
    expect((await fresh.admin.get('/stats/logs')).body.data.pagination.total_items).toBeLessThanOrEqual(20)
  })

  test('in production nobody is told the schema', async () => {
    const production = await World.open({ NODE_ENV: 'production' }, world)
    try {
      const stranger = production.stranger
      const asked = await stranger.graphql('{ __schema { types { name } } }')
      expect([asked.status, graphqlCode(asked)]).toEqual([400, 'BAD_USER_INPUT'])
      // No "Did you mean".
      const guess = await stranger.graphql('{ file { filId } fils { data } }')
      expect(JSON.stringify(guess.body)).not.toMatch(/did you mean|"files"/i)
      expect((await stranger.raw('/graphql', { headers: { accept: 'text/html' } })).status).toBe(404)
    } finally {
      await production.close()
    }
  })
})

describe('cross-site requests', () => {
  const query = 'mutation { signIn(email: "a@b.c", password: "12345678") { token } }'
  const simple: [string, string | FormData | URLSearchParams, string | undefined][] = [
    ['a form', new URLSearchParams({ query }), undefined],
    ['plain text', JSON.stringify({ query }), 'text/plain'],
    ['plain text that says json in a parameter', JSON.stringify({ query }), 'text/plain; application/json'],
    ['no type at all', JSON.stringify({ query }), ''],
  ]

  test.each(simple)('to GraphQL by %s', async (_what, body, type) => {
    const answer = await world.stranger.raw('/graphql', {
      method: 'POST',
      ...(type !== undefined && { headers: { 'content-type': type } }),
      body: typeof body === 'string' ? new Blob([body], { type: '' }) : body,
    })
    expect([400, 415]).toContain(answer.status)
    expect(answer.body.data ?? null).toBeNull()
  })

  test('to GraphQL by GET, as a picture would', async () => {
    expect((await tenant.admin.raw(`/graphql?query=${encodeURIComponent('{ me { id } }')}`)).status).toBe(400)
    const preflighted = { 'apollo-require-preflight': 'true' }
    expect(
      (await tenant.admin.raw(`/graphql?query=${encodeURIComponent('{ me { id } }')}`, { headers: preflighted })).status,
    ).toBe(200)
    const mutation = await tenant.admin.raw(`/graphql?query=${encodeURIComponent(query)}`, { headers: preflighted })
    expect([400, 405]).toContain(mutation.status)
    expect(mutation.body.data ?? null).toBeNull()
  })

  test('to GraphQL by multipart', async () => {
    const form = new FormData()
    form.append(
      'operations',
      JSON.stringify({
        query: 'mutation ($file: Upload!) { uploadFile(file: $file, context: "inbox") { fileId } }',
        variables: { file: null },
      }),
    )
    form.append('map', JSON.stringify({ 0: ['variables.file'] }))
    form.append('0', new Blob(['a']), 'a.txt')
    const answer = await tenant.admin.raw('/graphql', { method: 'POST', body: form })
    expect([answer.status, graphqlCode(answer)]).toEqual([400, 'BAD_USER_INPUT'])
  })

  test.each(routes.filter(({ body }) => body === 'json').map(({ method, path }) => [method, path]))(
    'to %s %s by a form or plain text',
    async (method, route) => {
      const path = route.replace('{api_key_id}', tenant.admin.id).replace('{context_key}', 'inbox')
      for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x'])
        expect(refusal(await tenant.admin.rest(method, path, '{"name":"x"}', { 'content-type': type }))).toEqual([
          415,
          'unsupported_media_type',
        ])
    },
  )
})

describe('names and headers', () => {
  test('a forged Host has no part in a signed URL', async () => {
    const { file_id: id } = dataOf(await tenant.admin.upload('inbox', 'a.txt', 'hello'), {
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
      const answer = await exchange(world.url, `${request}${auth}\r\nConnection: close\r\n\r\n`)
      expect(answer.status).toBe(200)
      expect(answer.body).not.toContain('evil')
      expect(JSON.parse(answer.body).data.download_url).toMatch(new RegExp(`^${world.url}/download/${id}\\?`))
    }
  })

  test('an address in X-Forwarded-For is believed from a trusted proxy only', async () => {
    const fresh = await world.tenant()
    await fresh.admin.get('/files', { 'x-forwarded-for': '203.0.113.9' })
    expect(itemsOf(await fresh.admin.get('/stats/logs'))[0].ip_address).toBe('127.0.0.1')
    const proxied = await World.open({ TRUST_PROXY: 'loopback' }, world)
    try {
      await proxied.as(fresh.admin.credential).get('/files', { 'x-forwarded-for': '198.51.100.7, 203.0.113.9' })
      expect(
        itemsOf(await fresh.admin.get('/stats/logs?page_size=5')).map((call: Record<string, string>) => call.ip_address),
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
  ])('the file name %j breaks out of nothing', async (name) => {
    const uploaded = await tenant.admin.upload('inbox', name, 'hello')
    const { file_id: id, original_filename: kept } = dataOf(uploaded, { status: 201, message: true, timestamp: false })
    expect(kept).not.toMatch(/[\r\n/\\]/)
    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(255)
    const { download_url: url } = dataOf(await tenant.admin.get(`/files/${id}`), { timestamp: false })
    const { pathname, search } = new URL(url)
    const answer = await get(pathname + search, [])
    expect(answer.status).toBe(200)
    expect(answer.headers['set-cookie']).toBeUndefined()
    expect(answer.headers.x).toBeUndefined()
    expect(answer.headers['content-disposition']).toMatch(/^attachment; filename="/)
    expect(answer.body).toBe('hello')
  })

  test('CR and LF in names of things, in headers and in paths', async () => {
    const made = await tenant.admin.post('/api-keys', { name: 'a\r\nX-Evil: 1' })
    expect(made.status).toBe(201)
    expect((await tenant.admin.get('/contexts/a%0d%0aX-Evil:%201')).headers.get('x-evil')).toBeNull()
    expect(
      faultyFields(
        await tenant.admin.post('/contexts', {
          context_key: 'a\r\nb',
          display_name: 'x',
          allowed_extensions: ['txt'],
          max_file_size_mb: 1,
        }),
      ),
    ).toEqual(['context_key'])
    const folded = await get('/api/v1/contexts', [
      `Authorization: Bearer ${tenant.admin.credential}`,
      'Idempotency-Key: a\r\n b',
      'User-Agent: x\x01\x7f',
    ])
    expect([200, 400]).toContain(folded.status)
    // One line a request, whatever it says.
    for (const line of world.log.lines) expect(line.trimEnd()).not.toContain('\n')
  })

  test('what is no HTTP is answered in JSON, without a word on what answers', async () => {
    const answers = await Promise.all(
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
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 431, 431])
    for (const { headers, body } of answers) {
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
      const answer = await get(target, [`Authorization: Bearer ${tenant.admin.credential}`])
      expect([target, [200, 400, 404].includes(answer.status)]).toEqual([target, true])
      expect(answer.body).not.toMatch(/node_modules|at .*\.js/)
    }
    await isWell()
  })

  test('a request that is cut in two is not two requests', async () => {
    const raw = await RawHttp.open(world.url)
    raw.write(
      `POST /api/v1/api-keys HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\nGET /api/v1/contexts HTTP/1.1\r\nHost: x\r\n\r\n`,
    )
    const said = await raw.says('unauthenticated')
    raw.close()
    expect(said.match(/HTTP\/1\.1 /g)).toHaveLength(1)
  })
})

describe('patterns that backtrack', () => {
  // Each against its own shape: long runs that match a part and fail at the end.
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
  const attempts: [string, (text: string) => Promise<Answer>][] = [
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
        world.stranger.graphql('mutation ($e: String!) { signIn(email: $e, password: "12345678") { token } }', { e: text }),
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
    ['an acceptance', (text) => tenant.admin.get('/contexts', { accept: text.slice(0, 8000).trim() || 'x' })],
    ['a user agent', (text) => tenant.admin.get('/contexts', { 'user-agent': text.slice(0, 8000).trim() || 'x' })],
    ['a credential', (text) => world.stranger.get('/contexts', { authorization: `Bearer ${text.slice(0, 8000)}` })],
    [
      'a range',
      (text) =>
        world.stranger.raw('/download/file_x', {
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

  test.each(attempts)('in %s', async (_what, attempt) => {
    const cpu = async (text: string) => {
      const before = process.cpuUsage()
      const answer = await attempt(text)
      expect(answer.status).not.toBe(500)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    }
    await cpu('x')
    const harmless = Math.max(await cpu('x'), await cpu(`x${'é'.repeat(1000)}`))
    // A pattern that backtracks takes minutes on these; what they cost beyond a harmless one is reading them.
    for (const text of strings) expect(await cpu(text)).toBeLessThan(harmless * 20 + 2_000)
  })
})
