import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { LinkClient } from '../support/link-client.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
/** Bodies of all requests received by the trace collector. */
const traces: string[] = []
const collector = createServer(async (request, response) => {
  traces.push(Buffer.concat(await request.toArray()).toString())
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
})
beforeAll(async () => {
  await once(collector.listen(0, '127.0.0.1'), 'listening')
  const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/`
  world = await World.open({ OTEL_EXPORTER_OTLP_ENDPOINT, LOG_LEVEL: 'info' })
  tenant = await world.createTenant()
  await tenant.createContext('notes')
})
afterAll(() => {
  collector.closeAllConnections()
  collector.close()
})

const create = (more: Record<string, unknown> = {}) => LinkClient.create(tenant.admin, 'notes', more)

/** Returns a response without its request ID and time. Each request uses a new connection so that headers are comparable. */
async function rawResponse(method: string, url: string, body?: string): Promise<string> {
  const headers = { origin: 'https://example.com', connection: 'close', 'access-control-request-method': 'PUT' }
  const outgoing = httpRequest(url, { method, headers })
  outgoing.end(body)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  const text = Buffer.concat(await response.toArray()).toString()
  const sent = response.rawHeaders.join('\n').replace(/^(X-Request-Id|Date)\n.*$/gim, '$1')
  return [response.statusCode, sent, text.replace(/"(request_id|timestamp)":"[^"]*"/g, '"$1"')].join('\n')
}

test('returns identical responses to all invalid upload link tokens for every method and path', async () => {
  const [forged, expired, used, revoked] = [
    await create(),
    await create(),
    await create(),
    await create({ origins: ['https://a.example'] }),
  ]
  await world.database.pool.query('UPDATE upload_links SET expires_at = now() WHERE link_id = $1', [expired.id])
  await used.put('a.txt', 'hello')
  await tenant.admin.delete(`/upload-links/${revoked.id}`)
  const urls = [
    forged.url.replace(/.{43}$/, 'A'.repeat(43)),
    ...[expired, used, revoked].map(({ url }) => url),
    `${world.url}/upload/nothing`,
    `${world.url}/upload/${tenant.admin.credential}`,
  ]
  for (const [method, path, body] of [
    ['GET', ''],
    ['OPTIONS', ''],
    ['DELETE', ''],
    ['PUT', '/a.txt', 'hello'],
    ['POST', '', 'hello'],
    ['POST', '/tus'],
    ['PATCH', '/tus/upl_01kqzv6y8xw3f5t2n7m4c9d1b0', 'hello'],
  ] as const) {
    const responses = new Set(await Promise.all(urls.map((url) => rawResponse(method, url + path, body))))
    expect([...responses]).toHaveLength(1)
    expect([...responses][0]).toMatch(/^404\n/)
  }
})

test('never writes an upload link token to a log line, trace or database table', async () => {
  const link = await create({ max_files: 3 })
  const secret = link.token.slice(-43)
  await link.put('a.txt', 'hello', { 'idempotency-key': 'once' })
  await link.put('a.exe', 'hello')
  await link.patch(await link.beginTus('b.txt', 5), 0, 'hello')
  // Tests paths from a misconfigured proxy, other letter cases and misplaced tokens.
  for (const path of [
    `//upload/${link.token}`,
    `/UPLOAD/${link.token}/a.txt`,
    `/files/upload/${link.token}`,
    `/upload/x/${link.token}`,
  ])
    await world.unauthenticated.raw(path)
  await world.createCaller(link.token).get('/files')
  await world.unauthenticated.raw(`/upload/${link.token}/tus?url=${link.token}`)

  const { rows: tables } = await world.database.pool.query<{ name: string }>(
    `SELECT quote_ident(table_name) AS name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'`,
  )
  expect(tables.length).toBeGreaterThan(10)
  for (const { name } of tables) {
    const { rows } = await world.database.pool.query(`SELECT count(*)::int AS n FROM ${name} AS t WHERE t::text LIKE $1`, [
      `%${secret}%`,
    ])
    expect([name, rows[0].n]).toEqual([name, 0])
  }
  // The service exports remaining spans at shutdown.
  await world.close()
  expect(traces.join()).toContain('/upload/:token')
  expect(traces.join()).not.toContain(secret)
  expect(world.log.text).toContain('/upload/:token')
  expect(world.log.text).not.toContain(secret)
})
