import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createSystemActor } from '../../src/platform/actor.js'
import { setClock, synchronizeClock } from '../../src/platform/clock.js'
import { LinkClient, toComparable } from '../support/link-client.js'
import { shiftSystemClock } from '../support/system-clock.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let replica: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
  replica = await World.open({}, world)
  tenant = await world.createTenant()
  await tenant.createContext('notes')
})
afterAll(async () => {
  await replica.close()
  await world.close()
})

const link = (more: Record<string, unknown> = {}, by = tenant.admin) => LinkClient.create(by, 'notes', more)
const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }
const verify = () => world.app.services.storageHealth.verify({ tenantId: tenant.tenantId, readBlobs: true })
const getLink = async ({ id }: LinkClient) => (await tenant.admin.get(`/upload-links/${id}`)).body.data
const countFiles = async () => (await tenant.admin.get('/files')).body.data.pagination.total_items

/** Sends half of an upload body. `finish` sends the second half and returns the response. */
async function startHalfUpload(used: LinkClient, name = 'a.txt') {
  const request = httpRequest(`${used.url}/${name}`, {
    method: 'PUT',
    headers: { 'content-length': '10', expect: '100-continue' },
  })
  request.flushHeaders()
  await once(request, 'continue')
  request.write('hello')
  return {
    finish: async () => {
      request.end('world')
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      return { status: response.statusCode, body: JSON.parse(Buffer.concat(await response.toArray()).toString()) }
    },
  }
}

describe('parallel uploads through a link', () => {
  test.each([
    ['one process', false],
    ['two replicas', true],
  ])('stores exactly one of 50 files sent to %s through a link that accepts one file', async (_case, both) => {
    const used = await link()
    const clients = [used, both ? used.at(replica.url) : used]
    const before = await countFiles()
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => clients[n % 2]!.put(`${n}.txt`, `file ${n}`)))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([201, ...Array.from({ length: 49 }, () => 404)])
    expect(await countFiles()).toBe(before + 1)
    expect(await getLink(used)).toMatchObject({ status: 'used', accepted_files: 1, rejected_files: 0 })
    expect(await verify()).toEqual(healthy)
  })

  test('stores no more files through a link than the link allows', async () => {
    const used = await link({ max_files: 7 })
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => used.put(`${n}.txt`, `file ${n}`)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(7)
    expect(await getLink(used)).toMatchObject({ status: 'used', accepted_files: 7 })
  })
})

test('stores only one file if two replicas receive parallel retries with the same Idempotency-Key', async () => {
  const used = await link()
  const clients = [used, used.at(replica.url)]
  const key = { 'idempotency-key': 'repeated-in-parallel' }
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => clients[n % 2]!.put('a.txt', 'hello', key)))
  const stored = answers.filter(({ status }) => status === 201)
  // Each of the other requests arrives after the link is used up or while the first request is in progress.
  for (const { status } of answers) expect([201, 404, 409]).toContain(status)
  expect(new Set(stored.map(({ body }) => body.data.file_id)).size).toBe(1)
  expect((await used.put('a.txt', 'hello', key)).body.data.file_id).toBe(stored[0]!.body.data.file_id)
  expect(await getLink(used)).toMatchObject({ status: 'used', accepted_files: 1 })
  expect(await verify()).toEqual(healthy)
})

describe('uploads in progress through a link', () => {
  const changes: [string, (used: LinkClient) => Promise<unknown>][] = [
    ['the link is revoked', ({ id }) => tenant.admin.delete(`/upload-links/${id}`)],
    ['another replica revokes the link', ({ id }) => replica.createCaller(tenant.admin.credential).delete(`/upload-links/${id}`)],
    [
      'the link expires',
      ({ id }) => world.database.pool.query('UPDATE upload_links SET expires_at = now() WHERE link_id = $1', [id]),
    ],
    ['the link is used up', (used) => used.put('other.txt', 'the first')],
  ]
  test.each(changes)('does not store a file uploaded through a link if %s during the upload', async (_case, change) => {
    const used = await link()
    const upload = await startHalfUpload(used)
    await change(used)
    const before = await countFiles()
    const { status, body } = await upload.finish()
    expect([status, body.error.code]).toEqual([404, 'not_found'])
    expect(await countFiles()).toBe(before)
    expect(await verify()).toEqual(healthy)
  })

  const creators: [string, (by: { id: string }) => Promise<unknown>][] = [
    ["the creator's API key is disabled", ({ id }) => tenant.admin.post(`/api-keys/${id}/disable`)],
    ["the creator's API key is revoked", ({ id }) => tenant.admin.post(`/api-keys/${id}/revoke`)],
    [
      "the creator's API key expires",
      ({ id }) => world.database.pool.query('UPDATE api_keys SET expires_at = now() WHERE api_key_id = $1', [id]),
    ],
    [
      "the creator's API key loses the upload scope",
      ({ id }) => world.database.pool.query(`UPDATE api_keys SET scopes = '{metadata}' WHERE api_key_id = $1`, [id]),
    ],
  ]
  test.each(creators)('stores no file through a link if %s during the upload', async (_case, change) => {
    const key = await tenant.createKey(['upload'])
    const used = await link({}, key)
    const upload = await startHalfUpload(used)
    await change(key)
    const { status, body } = await upload.finish()
    expect([status, body.error.code]).toEqual([404, 'not_found'])
    expect((await used.rules()).status).toBe(404)
    expect(await getLink(used)).toMatchObject({ accepted_files: 0 })
  })

  test('does not store a file uploaded through a link if its creator is disabled during the upload', async () => {
    const user = await tenant.createUser(['upload'])
    const used = await link({}, user)
    expect((await used.rules()).status).toBe(200)
    const upload = await startHalfUpload(used)
    const { data } = (await tenant.admin.graphql('{ users { data { userId email } } }')).body
    const { userId } = data.users.data.find(({ email }: { email: string }) => email === user.email)
    await world.app.services.users.disable(createSystemActor(tenant.tenantId), userId)
    expect((await upload.finish()).status).toBe(404)
    expect((await used.rules()).status).toBe(404)
  })

  test('does not store a file uploaded through a link if its creator loses the upload scope during the upload', async () => {
    const user = await tenant.createUser(['upload', 'metadata'])
    const used = await link({}, user)
    const upload = await startHalfUpload(used)
    await world.database.pool.query(`UPDATE users SET scopes = '{metadata}' WHERE tenant_id = $1 AND email = $2`, [
      tenant.tenantId,
      user.email,
    ])
    expect((await upload.finish()).status).toBe(404)
    expect((await used.rules()).status).toBe(404)
    expect(await getLink(used)).toMatchObject({ accepted_files: 0 })
  })

  test('stores nothing if the link is revoked during the last request of a resumable upload', async () => {
    const used = await link()
    const path = await used.beginTus('a.txt', 10)
    const before = await countFiles()
    const patch = httpRequest(used.url + path, {
      method: 'PATCH',
      headers: {
        'tus-resumable': '1.0.0',
        'upload-offset': '0',
        'content-type': 'application/offset+octet-stream',
        'content-length': '10',
        expect: '100-continue',
      },
    })
    patch.flushHeaders()
    await once(patch, 'continue')
    patch.write('hello')
    await replica.createCaller(tenant.admin.credential).delete(`/upload-links/${used.id}`)
    patch.end('world')
    const [response] = (await once(patch, 'response')) as [IncomingMessage]
    response.resume()
    expect(response.statusCode).toBe(404)
    expect(await countFiles()).toBe(before)
    expect(await getLink(used)).toMatchObject({ status: 'revoked', accepted_files: 0 })
    expect(await verify()).toEqual(healthy)
  })

  test('does not store a file uploaded through a link if the context is disabled during the upload', async () => {
    await tenant.createContext('closing')
    const used = await LinkClient.create(tenant.admin, 'closing')
    const upload = await startHalfUpload(used)
    await tenant.admin.patch('/contexts/closing', { status: 'disabled' })
    expect((await upload.finish()).status).toBe(404)
    await tenant.admin.patch('/contexts/closing', { status: 'active' })
    expect((await used.put('a.txt', 'hello')).status).toBe(201)
  })
})

describe('resumable uploads through a link', () => {
  test('does not resume an upload through a link after the link has expired', async () => {
    const used = await link()
    const path = await used.beginTus('a.txt', 10)
    await used.patch(path, 0, 'hello')
    await world.database.pool.query('UPDATE upload_links SET expires_at = now() WHERE link_id = $1', [used.id])
    const before = await countFiles()
    expect((await used.patch(path, 5, 'world')).status).toBe(404)
    expect((await used.tus('HEAD', path)).status).toBe(404)
    expect(await countFiles()).toBe(before)
    expect(await verify()).toEqual(healthy)
  })

  test('continues a resumable upload only through the link that created it', async () => {
    const [a, b] = [await link(), await link()]
    const path = await a.beginTus('a.txt', 10)
    expect((await b.patch(path, 0, 'hello')).status).toBe(404)
    const byKey = await tenant.admin.raw(`/api/v1/uploads/${path.split('/').at(-1)}`, {
      method: 'HEAD',
      headers: { 'tus-resumable': '1.0.0' },
    })
    expect(byKey.status).toBe(404)
  })

  test('continues a resumable upload through a link on another replica', async () => {
    const used = await link()
    const path = await used.beginTus('a.txt', 10)
    await used.patch(path, 0, 'hello')
    const last = await used.at(replica.url).patch(path, 5, 'world')
    expect([last.status, last.headers.get('assay-file-id')]).toEqual([204, expect.stringMatching(/^file_/)])
  })
})

describe('upload link expiry', () => {
  test.each([
    ['an hour ahead', 3_600_000],
    ['an hour behind', -3_600_000],
  ])('uses only the database clock for upload link expiry, even if other clocks are %s', async (_case, shift) => {
    const [open, closed] = [await link(), await link()]
    await world.database.pool.query('UPDATE upload_links SET expires_at = now() WHERE link_id = $1', [closed.id])
    shiftSystemClock(shift)
    setClock(Date.now())
    try {
      expect((await closed.put('a.txt', 'hello')).status).toBe(404)
      expect((await open.put('a.txt', 'hello')).status).toBe(201)
    } finally {
      shiftSystemClock(0)
      await synchronizeClock(world.database.pool)
    }
  })
})

describe('upload link tokens', () => {
  test('returns an identical 404 response for all invalid upload link tokens', async () => {
    const [unknown, expired, used, revoked] = [
      await link(),
      await link(),
      await link(),
      await link({ origins: ['https://example.com'] }),
    ]
    const forged = new LinkClient(unknown.url.replace(/.{10}$/, 'AAAAAAAAAA'), unknown.link)
    await world.database.pool.query('UPDATE upload_links SET expires_at = now() WHERE link_id = $1', [expired.id])
    await used.put('a.txt', 'hello')
    await tenant.admin.delete(`/upload-links/${revoked.id}`)
    const malformed = new LinkClient(`${world.url}/upload/nothing`, unknown.link)
    const key = new LinkClient(`${world.url}/upload/${tenant.admin.credential}`, unknown.link)
    const clients = [forged, expired, used, revoked, malformed, key]
    for (const ask of [
      (client: LinkClient) => client.rules({ origin: 'https://example.com' }),
      (client: LinkClient) => client.put('a.txt', 'hello'),
      (client: LinkClient) => client.post('a.txt', 'hello'),
      (client: LinkClient) => client.tus('POST', '/tus', { 'upload-length': '5' }),
      (client: LinkClient) => client.tus('HEAD', '/tus/upl_01kqzv6y8xw3f5t2n7m4c9d1b0'),
      (client: LinkClient) =>
        client.request('OPTIONS', '', { headers: { origin: 'https://example.com', 'access-control-request-method': 'PUT' } }),
      (client: LinkClient) => client.request('DELETE'),
    ]) {
      const answers = await Promise.all(clients.map(async (client) => toComparable(await ask(client))))
      expect(answers[0]).toMatchObject({ status: 404 })
      for (const answer of answers) expect(answer).toEqual(answers[0])
    }
  })

  test("counts only invalid upload link tokens towards the rate limit of the client's IP address", async () => {
    const limited = await World.open({ TRUST_PROXY: '1' }, world)
    try {
      const from = { 'x-forwarded-for': '192.0.2.7' }
      const guesses = new LinkClient(`${limited.url}/upload/ulk_guess`, {})
      const statuses = new Set<number>()
      // A rate limit window may end during the loop, so more requests are sent.
      for (let sent = 0; sent < 5_000 && !statuses.has(429); sent += 50)
        for (const { status } of await Promise.all(Array.from({ length: 50 }, () => guesses.rules(from)))) statuses.add(status)
      expect([...statuses].sort()).toEqual([404, 429])
      const used = (await link()).at(limited.url)
      expect((await used.rules(from)).status).toBe(200)
    } finally {
      await limited.close()
    }
  })

  test('rejects an upload link token at all other endpoints', async () => {
    const { token, link: data } = await link()
    const caller = world.createCaller(token)
    for (const [method, path] of [
      ['GET', '/files'],
      ['POST', '/files/upload'],
      ['POST', '/uploads'],
      ['GET', '/upload-links'],
      ['GET', `/upload-links/${data.link_id}`],
      ['GET', '/log/checkpoint'],
      ['GET', '/contexts'],
    ] as const) {
      const { status, body } = await caller.rest(method, path)
      expect([path, status, body.error.code]).toEqual([path, 401, 'unauthenticated'])
    }
    const { body } = await caller.graphql('{ files { data { fileId } } }')
    expect(body.errors[0].extensions.code).toBe('UNAUTHENTICATED')
  })

  test('never writes an upload link token to the service log', async () => {
    const used = await link()
    await used.put('a.txt', 'hello')
    await used.rules()
    const path = `/upload/${used.token}/tus`
    await used.tus('POST', '/tus')
    const text = world.log.text
    expect(text).toContain('/upload/:token')
    expect(text).not.toContain(used.token.slice(-43))
    expect(text).not.toContain(path)
  })
})

describe('CORS rules of upload links', () => {
  const preflight = (used: LinkClient, origin: string) =>
    used.request('OPTIONS', '/a.txt', {
      headers: { origin, 'access-control-request-method': 'PUT', 'access-control-request-headers': 'content-type' },
    })

  test('allows CORS requests from all origins, but without credentials, if an upload link lists no origins', async () => {
    const used = await link()
    const answer = await preflight(used, 'https://example.com')
    expect(answer.status).toBe(204)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': expect.stringContaining('PUT'),
      'access-control-allow-headers': 'content-type',
    })
    expect(answer.headers.has('access-control-allow-credentials')).toBe(false)
    const put = await used.put('a.txt', 'hello', { origin: 'https://example.com' })
    expect([put.status, put.headers.get('access-control-allow-origin')]).toEqual([201, '*'])
    expect(put.headers.get('access-control-expose-headers')).toContain('Retry-After')
  })

  test('allows only the origins that an upload link lists, even for requests without a preflight', async () => {
    const used = await link({ origins: ['https://example.com', 'http://localhost:3000'], max_files: 2 })
    expect((await preflight(used, 'https://example.com')).headers.get('access-control-allow-origin')).toBe('https://example.com')
    expect((await preflight(used, 'https://evil.example')).headers.has('access-control-allow-origin')).toBe(false)
    const rejected = await used.post('a.txt', 'hello', {}, { origin: 'https://evil.example' })
    expect([rejected.status, rejected.body.error.code]).toEqual([403, 'forbidden'])
    expect((await used.post('a.txt', 'hello', {}, { origin: 'http://localhost:3000' })).status).toBe(201)
    // Clients other than browsers send no Origin header.
    expect((await used.put('a.txt', 'hello')).status).toBe(201)
  })

  test('does not apply the CORS rules of upload links to other paths', async () => {
    for (const path of ['/api/v1/upload-links', '/api/v1/files', '/graphql', '/'])
      expect(
        (await world.unauthenticated.raw(path, { headers: { origin: 'https://example.com' } })).headers.has(
          'access-control-allow-origin',
        ),
      ).toBe(false)
  })
})
