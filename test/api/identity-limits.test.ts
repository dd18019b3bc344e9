import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { dataOf, graphqlCode, itemsOf, refusal } from '../support/answers.js'
import { multipart } from '../support/multipart.js'
import { exchange, parsed, RawHttp } from '../support/raw-exchange.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
const others: World[] = []
beforeAll(async () => {
  world = await World.open()
})
afterAll(async () => {
  for (const other of others) await other.close()
  await world.close()
})

async function variant(env: Record<string, string>): Promise<World> {
  const other = await World.open(env, world)
  others.push(other)
  return other
}

// A window may end between two calls of a test: then it begins again in the next.
async function inOneMinute<T>(work: () => Promise<T>): Promise<T> {
  const left = 60 - ((Date.now() / 1000) % 60)
  if (left < 8) await sleep(left * 1000 + 50)
  return work()
}

const body = multipart([
  { name: 'context', content: 'inbox' },
  { name: 'file', filename: 'a.txt', content: `text ${'x'.repeat(3000)}` },
])
/** An upload that has been let in, and waits with its body. */
async function begin(url: string, key: Caller): Promise<RawHttp> {
  const raw = await RawHttp.open(url)
  raw.write(
    `POST /api/v1/files/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.credential}\r\nContent-Type: ${body.headers['content-type']}\r\n` +
      `Content-Length: ${body.body.length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`,
  )
  return raw
}
const admitted = async (raw: RawHttp) => (await raw.says('\r\n\r\n')).startsWith('HTTP/1.1 100')
async function finish(raw: RawHttp): Promise<number> {
  raw.write(body.body)
  return parsed(await raw.whole()).status
}

describe('calls a minute', () => {
  let limited: World
  beforeAll(async () => {
    limited = await variant({ RATE_LIMIT_PER_MINUTE: '5' })
  })
  const at = (caller: Caller) => limited.as(caller.credential)

  test('by a key: 429 with Retry-After and the IETF headers, logged as the failure that it is; other keys go on', () =>
    inOneMinute(async () => {
      const tenant = await world.tenant()
      const [key, neighbour] = [await tenant.key(['metadata']), await tenant.key(['metadata'])]
      for (let left = 4; left >= 0; left--) {
        const answer = await at(key).get('/files')
        expect(answer.status).toBe(200)
        expect(answer.headers.get('ratelimit-policy')).toBe('"key";q=5;w=60')
        expect(answer.headers.get('ratelimit')).toMatch(new RegExp(`^"key";r=${left};t=\\d+$`))
      }
      const refused = await at(key).get('/files')
      expect(refusal(refused)).toEqual([429, 'rate_limited'])
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60)
      expect(refused.headers.get('ratelimit-policy')).toBe('"key";q=5;w=60')
      expect(refused.headers.get('ratelimit')).toMatch(/^"key";r=0;t=\d+$/)
      expect((await at(neighbour).get('/files')).status).toBe(200)
      const logged = itemsOf(await tenant.admin.get(`/stats/logs?api_key_id=${key.id}`))
      expect(logged.map((call: Record<string, string>) => call.status)).toEqual(['failure', ...Array(5).fill('success')])
      expect(logged[0].error_message).toMatch(/^Too many calls by this credential: at most 5 a minute/)
    }))

  test('a 403 and a 404 count as well; by GraphQL each root field does', () =>
    inOneMinute(async () => {
      const tenant = await world.tenant()
      const [key, other] = [await tenant.key(['upload']), await tenant.key(['metadata'])]
      for (let time = 0; time < 5; time++) expect((await at(key).get('/files')).status).toBe(403)
      expect(refusal(await at(key).get('/files'))).toEqual([429, 'rate_limited'])
      const many = await at(other).graphql(
        `{ ${[1, 2, 3, 4, 5, 6, 7].map((alias) => `a${alias}: files { pagination { page } }`).join(' ')} }`,
      )
      // One is enough for all: none of the fields may be null.
      expect([many.body.data, graphqlCode(many)]).toEqual([null, 'RATE_LIMITED'])
      expect(Number(many.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(many.headers.get('ratelimit')).toMatch(/r=0/)
    }))

  test('beyond it nothing of a body is read', () =>
    inOneMinute(async () => {
      const tenant = await world.tenant()
      await tenant.context('inbox')
      const key = await tenant.key(['upload'])
      for (let time = 0; time < 5; time++) expect((await at(key).upload('inbox', 'a.txt', 'a')).status).toBe(201)
      const raw = await begin(limited.url, key)
      const { status, headers } = parsed(await raw.says('}'))
      raw.close()
      expect([status, headers['retry-after']]).toEqual([429, expect.stringMatching(/^\d+$/)])
      expect(itemsOf(await tenant.admin.get(`/stats/logs?api_key_id=${key.id}`))[0]).toMatchObject({
        operation: 'upload',
        status: 'failure',
      })
    }))

  test('by a user; by all of a tenant, five times as many', () =>
    inOneMinute(async () => {
      const tenant = await world.tenant()
      const user = await tenant.user(['metadata'])
      for (let time = 0; time < 5; time++) expect((await at(user).get('/files')).status).toBe(200)
      expect(refusal(await at(user).get('/files'))).toEqual([429, 'rate_limited'])
      const keys = await Promise.all(Array.from({ length: 5 }, () => tenant.key(['metadata'])))
      const statuses: number[] = []
      for (const key of keys) for (let time = 0; time < 5; time++) statuses.push((await at(key).get('/files')).status)
      expect(statuses.filter((status) => status === 200)).toHaveLength(20)
      const last = await at(keys[4]!).get('/files')
      expect(last.body.message).toMatch(/at most 25 a minute|at most 5 a minute/)
      expect((await at(await (await world.tenant()).key(['metadata'])).get('/files')).status).toBe(200)
    }))
})

test('failed credentials are slowed down by their address, and never block good ones', () =>
  inOneMinute(async () => {
    const tenant = await world.tenant()
    const { limits } = world.app.services
    const nobody = world.as(`assay_${'x'.repeat(43)}`)
    expect(refusal(await nobody.get('/contexts'))).toEqual([401, 'unauthenticated'])
    for (let time = 0; time < 1000; time++) await limits.failedCredential('127.0.0.1').catch(() => {})
    expect(refusal(await nobody.get('/contexts'))).toEqual([429, 'rate_limited'])
    expect(graphqlCode(await nobody.graphql('{ me { id } }'))).toBe('RATE_LIMITED')
    expect((await tenant.admin.get('/contexts')).status).toBe(200)
    expect((await world.stranger.raw('/health/live')).status).toBe(200)
  }))

describe('simultaneous uploads', () => {
  test('have a limit for each tenant and one in all; a place is free again however an upload ends', async () => {
    const small = await variant({ MAX_UPLOADS_AT_ONCE: '4' })
    const tenants = await Promise.all([world.tenant(), world.tenant(), world.tenant()])
    for (const tenant of tenants) await tenant.context('inbox')
    const [one, two, three] = tenants.map(({ admin }) => admin) as [Caller, Caller, Caller]
    const held = await Promise.all([begin(small.url, one), begin(small.url, one), begin(small.url, two), begin(small.url, two)])
    expect(await Promise.all(held.map(admitted))).toEqual([true, true, true, true])

    for (const key of [one, three]) {
      const over = await begin(small.url, key)
      const { status, headers } = parsed(await over.says('}'))
      over.close()
      expect([status, headers['retry-after']]).toEqual([429, '1'])
    }
    // The rest goes on as ever.
    expect((await small.as(one.credential).get('/files')).status).toBe(200)
    expect(await finish(held[0]!)).toBe(201)
    expect((await small.as(three.credential).upload('inbox', 'a.txt', 'a')).status).toBe(201)
    // Hung up without a word.
    held[1]!.close()
    // A place is given back a moment after its answer.
    const place = async (key: Caller) => {
      for (;;) {
        const raw = await begin(small.url, key)
        if (await admitted(raw)) return raw
        raw.close()
        await sleep(10)
      }
    }
    const again = await place(one)
    const second = await place(one)
    expect(await Promise.all([again, second, held[2]!, held[3]!].map(finish))).toEqual([201, 201, 201, 201])
  })

  test('64 of one key are not refused by default', async () => {
    const tenant = await world.tenant()
    await tenant.context('inbox')
    const held = await Promise.all(Array.from({ length: 64 }, () => begin(world.url, tenant.admin)))
    expect(await Promise.all(held.map(admitted))).toEqual(Array(64).fill(true))
    expect(await Promise.all(held.map(finish))).toEqual(Array(64).fill(201))
  })
})

describe('edges', () => {
  test('every answer has the headers that keep a browser safe, and tells nothing of what answers', async () => {
    const tenant = await world.tenant()
    const answers = {
      rest: await tenant.admin.get('/contexts'),
      refused: await world.stranger.get('/contexts'),
      unknown: await world.stranger.raw('/nowhere'),
      graphql: await tenant.admin.graphql('{ me { id } }'),
      live: await world.stranger.raw('/health/live'),
      jwks: await world.stranger.raw('/.well-known/jwks.json'),
      metrics: await world.stranger.raw('/metrics'),
      download: await world.stranger.raw('/download/file_x'),
    }
    for (const [door, { headers, body }] of Object.entries(answers)) {
      const told = Object.fromEntries(headers)
      expect([door, told]).toEqual([
        door,
        expect.objectContaining({
          'x-content-type-options': 'nosniff',
          'x-frame-options': expect.any(String),
          'referrer-policy': 'no-referrer',
          'strict-transport-security': expect.any(String),
          'content-security-policy': expect.stringContaining("default-src 'none'"),
          'x-request-id': expect.stringMatching(/^req_/),
        }),
      ])
      for (const header of ['x-powered-by', 'server', 'access-control-allow-origin']) expect(told).not.toHaveProperty(header)
      expect(JSON.stringify(body)).not.toMatch(/node_modules|\bat .*\.[jt]s:\d/)
    }
  })

  test('the Sandbox has a policy under which it lives', async () => {
    const page = await world.stranger.raw('/graphql', { headers: { accept: 'text/html' } })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')])
    const policy = page.headers.get('content-security-policy')!
    for (const [, host] of String(page.body).matchAll(/(?:src|href)="(https:\/\/[^/"]+)/g)) expect(policy).toContain(host)
    expect(policy).toContain("default-src 'none'")
  })

  test('CORS is closed, and opened by CORS_ORIGINS to whom it names', async () => {
    const origin = 'https://app.example.com'
    const preflight = (to: World, from: string, path = '/api/v1/files/upload') =>
      to.stranger.raw(path, {
        method: 'OPTIONS',
        headers: {
          origin: from,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type',
        },
      })
    const closed = await preflight(world, origin)
    expect(closed.status).toBe(405)
    expect(closed.headers.get('access-control-allow-origin')).toBeNull()
    const open = await variant({ CORS_ORIGINS: `${origin},https://other.example.com` })
    for (const path of ['/api/v1/files/upload', '/graphql']) {
      const allowed = await preflight(open, origin, path)
      expect(allowed.status).toBe(204)
      expect(Object.fromEntries(allowed.headers)).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-headers': 'authorization,content-type',
        'access-control-allow-methods': expect.stringContaining('DELETE'),
        vary: expect.stringMatching(/origin/i),
      })
      expect(allowed.headers.get('access-control-allow-credentials')).toBeNull()
    }
    for (const evil of ['https://evil.example.com', 'https://app.example.com.evil.com', 'http://app.example.com', 'null'])
      expect((await preflight(open, evil)).headers.get('access-control-allow-origin')).toBeNull()
    const refused = await open.stranger.get('/contexts', { origin })
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, origin])
    expect(refused.headers.get('access-control-expose-headers')).toContain('Retry-After')
  })

  test('who sends headers drop by drop is answered, and dropped', async () => {
    const slow = await variant({})
    slow.app.httpServer.headersTimeout = 200
    const raw = await RawHttp.open(slow.url)
    raw.write('GET /api/v1/contexts HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    const { status, body: text } = parsed(await raw.whole())
    expect(status).toBe(408)
    expect(JSON.parse(text)).toMatchObject({ status: 'ERROR', message: 'The headers did not come in time.' })
    expect((await slow.stranger.raw('/health/live')).status).toBe(200)
  })

  test('connections that are kept alive gather nothing', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error) => void warnings.push(warning)
    process.on('warning', onWarning)
    const tenant = await world.tenant()
    const raw = await RawHttp.open(world.url)
    const request = `POST /api/v1/api-keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tenant.admin.credential}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`
    for (let time = 0; time < 25; time++) raw.write(request)
    raw.write('GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect((await raw.whole()).match(/HTTP\/1\.1 400/g)).toHaveLength(25)
    await new Promise(setImmediate)
    process.off('warning', onWarning)
    expect(warnings).toEqual([])
  })
})

describe('secrets', () => {
  const secrets: Record<string, string> = {}
  let tenant: TestTenant
  beforeAll(async () => {
    tenant = await world.tenant()
    await tenant.context('inbox')
    secrets.adminKey = tenant.admin.credential!
    const key = await tenant.key(['upload', 'download', 'metadata'])
    secrets.key = key.credential!
    secrets.rotated = dataOf(await tenant.admin.post(`/api-keys/${key.id}/rotate`, { grace_seconds: 60 })).api_key
    const user = await tenant.user(['admin'])
    secrets.token = user.credential!
    secrets.tokenSignature = user.credential!.split('.')[2]!
    secrets.password = user.password
    const invited = await tenant.admin.graphql(
      'mutation { inviteUser(input: { email: "i@example.com", name: "I", scopes: [upload] }) { password } }',
    )
    secrets.madePassword = invited.body.data.inviteUser.password
    secrets.givenPassword = 'given-by-the-admin-1'
    await tenant.admin.graphql('mutation ($i: InviteUserInput!) { inviteUser(input: $i) { password } }', {
      i: { email: 'g@example.com', name: 'G', scopes: ['upload'], password: secrets.givenPassword },
    })
    secrets.newPassword = 'chosen-by-the-user-2'
    const changed = await user.graphql(
      'mutation ($a: String!, $b: String!) { changePassword(currentPassword: $a, newPassword: $b) }',
      {
        a: user.password,
        b: secrets.newPassword,
      },
    )
    expect(changed.body.data.changePassword).toBe(true)

    const signIn = (email: string, password: string) =>
      `mutation { signIn(email: "${email}", password: "${password}") { token } }`
    secrets.wrongPassword = 'a-wrong-password-3'
    secrets.literalPassword = 'in-the-document-4'
    await world.stranger.graphql(signIn(user.email, secrets.wrongPassword))
    await world.stranger.graphql(`${signIn(user.email, secrets.literalPassword)} }`)
    await world.stranger.graphql(signIn(user.email, `${secrets.literalPassword}") { nothing } x: me(a: "`))
    await world.stranger.graphql('mutation ($p: Int!) { signIn(email: "x", password: $p) { token } }', {
      p: secrets.literalPassword,
    })
    await tenant.admin.graphql('query ($p: Int!) { files(page: $p) { pagination { page } } }', { p: secrets.literalPassword })
    secrets.unknownKey = `assay_${'u'.repeat(43)}`
    await world.as(secrets.unknownKey).get('/files')
    await world.as(`${secrets.token}x`).get('/files')
    await tenant.admin.raw(`/api/v1/files?token=${secrets.token}&key=${secrets.adminKey}`)
    await tenant.admin.post('/api-keys', `{"name": ${secrets.literalPassword}}`, { 'content-type': 'application/json' })
    await exchange(world.url, `GET /api/v1/files?key=${secrets.key} HTTP/9\r\nAuthorization: Bearer ${secrets.key}\r\n\r\n`)

    const { file_id: id } = dataOf(await key.upload('inbox', 'a.txt', 'hello'), { status: 201, message: true, timestamp: false })
    const { download_url: url } = dataOf(await key.get(`/files/${id}`), { timestamp: false })
    const byGraphql = await tenant.admin.graphql('mutation ($id: ID!) { createDownloadUrl(fileId: $id) { downloadUrl } }', { id })
    for (const [name, signed] of Object.entries({
      url,
      graphqlUrl: byGraphql.body.data.createDownloadUrl.downloadUrl as string,
    })) {
      secrets[name] = new URL(signed).searchParams.get('signature')!
      expect((await fetch(signed)).status).toBe(200)
      expect((await fetch(signed, { method: 'HEAD' })).status).toBe(200)
      expect((await fetch(`${signed}x`)).status).toBe(403)
      expect((await fetch(signed, { headers: { range: 'bytes=99-' } })).status).toBe(416)
    }
    // What fails for a reason of ours is logged whole.
    const { prisma, pool } = world.database
    const told = (error: unknown) => world.log.logger.error({ err: error }, 'as the edge would')
    await prisma.apiKey.create({ data: { name: secrets.key } as never }).catch(told)
    await pool.query('INSERT INTO api_keys SELECT * FROM api_keys WHERE api_key_id = $1', [key.id]).catch(told)
    for (const [name, secret] of Object.entries(secrets)) expect([name, secret?.length > 9]).toEqual([name, true])
    await world.app.services.identity.lastUsed.flush()
  })

  test('are in none of our logs, nor in the first line of any request', () => {
    // The one that a test wrote there by hand shows that a search would find it.
    const lines = world.log.lines.filter((line) => !line.includes('as the edge would'))
    expect(lines.length).toBeGreaterThan(30)
    for (const [name, secret] of Object.entries(secrets))
      expect([name, lines.filter((line) => line.includes(secret))]).toEqual([name, []])
    expect(lines.filter((line) => /signature=|[?&]expires=|Bearer |password/i.test(line))).toEqual([])
  })

  test('are not in what PostgreSQL logs, though it has refused statements of theirs', () => {
    const log = readFileSync(join(process.env.ASSAY_TEST_DATABASE!, 'data', 'postgres.log'), 'utf8')
    for (const [name, secret] of Object.entries(secrets)) expect([name, log.includes(secret)]).toEqual([name, false])
    expect(log).not.toMatch(/STATEMENT:|parameters:/)
  })

  test('are nowhere in the database', async () => {
    const { rows: columns } = await world.database.pool.query<{ table: string; column: string; type: string }>(
      `SELECT table_name AS table, column_name AS column, data_type AS type FROM information_schema.columns
       WHERE table_schema = 'public' AND data_type IN ('text', 'bytea', 'jsonb', 'ARRAY', 'character varying')`,
    )
    expect(columns.length).toBeGreaterThan(50)
    const raw = world.app.services.identity
    const keys = await Promise.all(Object.values(raw.signing).map((secrets) => secrets.current()))
    const needles: [string, Buffer][] = [
      ...Object.entries(secrets).map(([name, secret]): [string, Buffer] => [name, Buffer.from(secret)]),
      ...keys.map(({ id, secret }): [string, Buffer] => [`signing key ${id}`, secret]),
      ['the master key', world.config.masterKey!],
    ]
    for (const { table, column, type } of columns) {
      const bytes = type === 'bytea' ? `"${column}"` : `convert_to("${column}"::text, 'UTF8')`
      for (const [name, needle] of needles) {
        const forms = [needle, Buffer.from(needle.toString('base64')), Buffer.from(needle.toString('hex'))]
        const { rows } = await world.database.pool.query(
          `SELECT 1 FROM "${table}" WHERE ${forms.map((_, at) => `position($${at + 1}::bytea in ${bytes}) > 0`).join(' OR ')} LIMIT 1`,
          forms,
        )
        expect([table, column, name, rows]).toEqual([table, column, name, []])
      }
    }
    // The search would find them: what may be there, is.
    const { rows } = await world.database.pool.query(
      "SELECT 1 FROM api_keys WHERE position($1::bytea in convert_to(key_prefix, 'UTF8')) > 0",
      [Buffer.from(secrets.adminKey!.slice(0, 12))],
    )
    expect(rows).toHaveLength(1)
    const hashes = await world.database.pool.query('SELECT password_hash FROM users WHERE password_hash IS NOT NULL')
    for (const { password_hash } of hashes.rows) expect(password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  })
})
