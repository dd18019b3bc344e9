import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { exchange, parseResponse, RawHttp } from '../support/raw-exchange.js'
import { watchUnhandledErrors } from '../support/residue.js'
import { getData } from '../support/response-assertions.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
const others: World[] = []
beforeAll(async () => {
  world = await World.open()
})
afterAll(async () => {
  for (const other of others) await other.close()
  await world.close()
})

async function openVariant(env: Record<string, string>): Promise<World> {
  const other = await World.open(env, world)
  others.push(other)
  return other
}

describe('HTTP security headers, CORS and connections', () => {
  test('adds security headers to every response and hides the server software', async () => {
    const tenant = await world.createTenant()
    const responses = {
      rest: await tenant.admin.get('/contexts'),
      refused: await world.unauthenticated.get('/contexts'),
      unknown: await world.unauthenticated.raw('/nowhere'),
      graphql: await tenant.admin.graphql('{ me { id } }'),
      live: await world.unauthenticated.raw('/health/live'),
      jwks: await world.unauthenticated.raw('/.well-known/jwks.json'),
      metrics: await world.unauthenticated.raw('/metrics'),
      download: await world.unauthenticated.raw('/download/file_x'),
    }
    for (const [door, { headers, body }] of Object.entries(responses)) {
      const values = Object.fromEntries(headers)
      expect([door, values]).toEqual([
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
      for (const header of ['x-powered-by', 'server', 'access-control-allow-origin']) expect(values).not.toHaveProperty(header)
      expect(JSON.stringify(body)).not.toMatch(/node_modules|\bat .*\.[jt]s:\d/)
    }
  })

  test('the content security policy permits Apollo Sandbox', async () => {
    const page = await world.unauthenticated.raw('/graphql?sandbox', { headers: { accept: 'text/html' } })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')])
    const policy = page.headers.get('content-security-policy')!
    for (const [, host] of String(page.body).matchAll(/(?:src|href)="(https:\/\/[^/"]+)/g)) expect(policy).toContain(host)
    expect(policy).toContain("default-src 'none'")
  })

  test('allows cross-origin requests only from the origins in CORS_ORIGINS', async () => {
    const origin = 'https://app.example.com'
    const preflight = (to: World, from: string, path = '/api/v1/files/upload') =>
      to.unauthenticated.raw(path, {
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
    const open = await openVariant({ CORS_ORIGINS: `${origin},https://other.example.com` })
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
    for (const origin of ['https://evil.example.com', 'https://app.example.com.evil.com', 'http://app.example.com', 'null'])
      expect((await preflight(open, origin)).headers.get('access-control-allow-origin')).toBeNull()
    const rejected = await open.unauthenticated.get('/contexts', { origin })
    expect([rejected.status, rejected.headers.get('access-control-allow-origin')]).toEqual([401, origin])
    expect(rejected.headers.get('access-control-expose-headers')).toContain('Retry-After')
  })

  test('returns an error to a client that sends headers too slowly, and closes the connection', async () => {
    const slow = await openVariant({})
    const { headersTimeout } = slow.app.httpServer
    slow.app.httpServer.headersTimeout = 200
    const raw = await RawHttp.open(slow.url)
    raw.write('GET /api/v1/contexts HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    const { status, body: text } = parseResponse(await raw.readAll())
    expect(status).toBe(408)
    expect(JSON.parse(text)).toMatchObject({ status: 'ERROR', message: 'The request headers were not received in time.' })
    slow.app.httpServer.headersTimeout = headersTimeout
    expect((await slow.unauthenticated.raw('/health/live')).status).toBe(200)
  })

  test('reuses a keep-alive connection without memory leak warnings', async () => {
    const { faults, stop } = watchUnhandledErrors()
    const tenant = await world.createTenant()
    const raw = await RawHttp.open(world.url)
    const request = `POST /api/v1/api-keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tenant.admin.credential}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`
    for (let time = 0; time < 25; time++) raw.write(request)
    raw.write('GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect((await raw.readAll()).match(/HTTP\/1\.1 400/g)).toHaveLength(25)
    await new Promise(setImmediate)
    stop()
    expect(faults().filter((fault) => /memory leak/.test(fault))).toEqual([])
  })
})

describe('secrets in logs and in the database', () => {
  const secrets: Record<string, string> = {}
  let tenant: TestTenant
  beforeAll(async () => {
    tenant = await world.createTenant()
    await tenant.createContext('inbox')
    secrets.adminKey = tenant.admin.credential!
    const key = await tenant.createKey(['upload', 'download', 'metadata'])
    secrets.key = key.credential!
    const rotated = await tenant.admin.post(`/api-keys/${key.id}/rotate`, { grace_seconds: 60 })
    secrets.rotated = getData(rotated, { message: true }).api_key
    const user = await tenant.createUser(['admin'])
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
    await world.unauthenticated.graphql(signIn(user.email, secrets.wrongPassword))
    await world.unauthenticated.graphql(`${signIn(user.email, secrets.literalPassword)} }`)
    await world.unauthenticated.graphql(signIn(user.email, `${secrets.literalPassword}") { nothing } x: me(a: "`))
    await world.unauthenticated.graphql('mutation ($p: Int!) { signIn(email: "x", password: $p) { token } }', {
      p: secrets.literalPassword,
    })
    await tenant.admin.graphql('query ($p: Int!) { files(page: $p) { pagination { page } } }', { p: secrets.literalPassword })
    secrets.unknownKey = `assay_${'u'.repeat(43)}`
    await world.createCaller(secrets.unknownKey).get('/files')
    await world.createCaller(`${secrets.token}x`).get('/files')
    await tenant.admin.raw(`/api/v1/files?token=${secrets.token}&key=${secrets.adminKey}`)
    await tenant.admin.post('/api-keys', `{"name": ${secrets.literalPassword}}`, { 'content-type': 'application/json' })
    await exchange(world.url, `GET /api/v1/files?key=${secrets.key} HTTP/9\r\nAuthorization: Bearer ${secrets.key}\r\n\r\n`)

    const { file_id: id } = getData(await key.upload('inbox', 'a.txt', 'hello'), { status: 201, message: true, timestamp: false })
    const { download_url: url } = getData(await key.get(`/files/${id}`), { timestamp: false })
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
    // The log contains the full details of unexpected errors.
    const { prisma, pool } = world.database
    const logError = (error: unknown) => world.log.logger.error({ err: error }, 'as the edge would')
    await prisma.apiKey.create({ data: { name: secrets.key } as never }).catch(logError)
    await pool.query('INSERT INTO api_keys SELECT * FROM api_keys WHERE api_key_id = $1', [key.id]).catch(logError)
    for (const [name, secret] of Object.entries(secrets)) expect([name, secret?.length > 9]).toEqual([name, true])
    await world.app.services.identity.lastUsed.flush()
  })

  test('excludes secrets and URL signatures from the service log', () => {
    // Finding a known log line proves that the search for secrets works.
    const lines = world.log.lines.filter((line) => !line.includes('as the edge would'))
    expect(lines.length).toBeGreaterThan(30)
    for (const [name, secret] of Object.entries(secrets))
      expect([name, lines.filter((line) => line.includes(secret))]).toEqual([name, []])
    expect(lines.filter((line) => /signature=|[?&]expires=|Bearer |password/i.test(line))).toEqual([])
  })

  test('excludes secrets from the PostgreSQL log, even if PostgreSQL rejects a statement', () => {
    const log = readFileSync(join(process.env.ASSAY_TEST_DATABASE!, 'data', 'postgres.log'), 'utf8')
    for (const [name, secret] of Object.entries(secrets)) expect([name, log.includes(secret)]).toEqual([name, false])
    expect(log).not.toMatch(/STATEMENT:|parameters:/)
  })

  test('stores no secret in the database in plain text, base64 or hexadecimal', async () => {
    const { rows: columns } = await world.database.pool.query<{ table: string; column: string; type: string }>(
      `SELECT table_name AS table, column_name AS column, data_type AS type FROM information_schema.columns
       WHERE table_schema = 'public' AND data_type IN ('text', 'bytea', 'jsonb', 'ARRAY', 'character varying')`,
    )
    expect(columns.length).toBeGreaterThan(50)
    const raw = world.app.services.identity
    const keys = await Promise.all(Object.values(raw.signing).map((secrets) => secrets.getCurrentKey()))
    const needles: [string, Buffer][] = [
      ...Object.entries(secrets).map(([name, secret]): [string, Buffer] => [name, Buffer.from(secret)]),
      ...keys.map(({ id, secret }): [string, Buffer] => [`signing key ${id}`, secret]),
      ['the master key', world.config.masterKey!],
    ]
    const sought = needles.flatMap(([name, needle]): [string, Buffer][] => [
      [name, needle],
      [name, Buffer.from(needle.toString('base64'))],
      [name, Buffer.from(needle.toString('hex'))],
    ])
    const find = async (table: string, bytes: string) => {
      const { rows } = await world.database.pool.query(
        `SELECT secret FROM unnest($1::text[], $2::bytea[]) AS sought (secret, needle) WHERE EXISTS (SELECT FROM "${table}" WHERE position(sought.needle in ${bytes}) > 0)`,
        [sought.map(([name]) => name), sought.map(([, needle]) => needle)],
      )
      return rows
    }
    for (const { table, column, type } of columns) {
      const bytes = type === 'bytea' ? `"${column}"` : `convert_to("${column}"::text, 'UTF8')`
      expect([table, column, await find(table, bytes)]).toEqual([table, column, []])
    }
    // Finding an allowed value proves that the search for secrets works.
    sought.push(['the beginning of a key', Buffer.from(secrets.adminKey!.slice(0, 12))])
    expect(await find('api_keys', "convert_to(key_prefix, 'UTF8')")).toEqual([{ secret: 'the beginning of a key' }])
    const hashes = await world.database.pool.query('SELECT password_hash FROM users WHERE password_hash IS NOT NULL')
    for (const { password_hash } of hashes.rows) expect(password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  })
})
