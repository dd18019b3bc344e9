import { request } from 'node:http'
import { connect as connectTo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { readEvents } from '../support/event-reader.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open({ MAX_UPLOAD_MB: '20' })
  tenant = await world.createTenant()
  await tenant.createContext('notes', { scan_for_viruses: false })
})
afterAll(() => world.close())

const last = async (admin = tenant.admin): Promise<number> => (await admin.get('/events?limit=1')).body.data.last_sequence

async function collectEvents(work: () => Promise<unknown>) {
  const after = await last()
  await work()
  return (await tenant.admin.get(`/events?after=${after}`)).body.data.data as { type: string; data: Record<string, unknown> }[]
}

describe('GET /events', () => {
  test('returns the last sequence number and the events after a cursor', async () => {
    const { status, body } = await tenant.admin.get('/events')
    expect(status).toBe(200)
    const { data, last_sequence } = body.data
    expect(data.map(({ sequence }: { sequence: number }) => sequence)).toEqual([...Array(last_sequence).keys()].map((n) => n + 1))
    expect(data[0]).toEqual({
      sequence: 1,
      event_id: expect.stringMatching(/^evt_/),
      type: 'tenant.created',
      occurred_at: expect.stringMatching(/Z$/),
      data: { tenant_id: tenant.tenantId, storage_quota_mb: 102400, performed_by_id: 'system', performed_by_type: 'system' },
    })
    expect((await tenant.admin.get('/events?after=1&limit=1')).body.data).toEqual({ data: [data[1]], last_sequence })
    expect((await tenant.admin.get('/events?after=900000')).body.data).toEqual({ data: [], last_sequence })
  })

  test('filters events by type and wildcard, and rejects unknown types', async () => {
    await tenant.admin.upload('notes', 'typed.txt', 'typed')
    await tenant.admin.upload('notes', 'typed.exe', 'MZ')
    const typesOf = async (types: string) =>
      new Set(((await tenant.admin.get(`/events?types=${types}`)).body.data.data as { type: string }[]).map(({ type }) => type))
    expect(await typesOf('file.accepted')).toEqual(new Set(['file.accepted']))
    expect(await typesOf('file.*,context.created')).toEqual(new Set(['file.accepted', 'file.rejected', 'context.created']))
    expect(await typesOf('*')).toContain('tenant.created')
    for (const query of ['types=file.eaten', 'types=', 'types=file.*,', 'limit=0', 'limit=1001', 'after=-1', 'before=1'])
      expect([query, (await tenant.admin.get(`/events?${query}`)).status]).toEqual([query, 400])
  })

  test('creates one event for each upload verdict', async () => {
    const user = await tenant.createUser(['upload'])
    const upload = (caller: Caller) => caller.upload('notes', 'a.exe', 'MZ')
    const [byKey] = await collectEvents(() => upload(tenant.admin))
    expect(byKey).toMatchObject({
      type: 'file.rejected',
      data: {
        call_id: expect.stringMatching(/^call_/),
        original_filename: 'a.exe',
        size_bytes: 2,
        checksum: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        context_key: 'notes',
        rules_version: 1,
        reason: 'invalid_extension',
        message: expect.stringContaining('exe'),
        uploaded_by: tenant.admin.id,
      },
    })
    const byUser = await collectEvents(() => upload(user))
    expect(byUser.map(({ type, data }) => [type, data.call_id])).toEqual([['file.rejected', null]])
    const tooLarge = await collectEvents(() => tenant.admin.upload('notes', 'large.txt', 'x'.repeat(5 * 1_048_576 + 1)))
    expect(tooLarge.map(({ type, data }) => [type, data.reason, data.checksum])).toEqual([
      ['file.rejected', 'size_exceeded', null],
    ])
    const beyondAll = await collectEvents(() => tenant.admin.upload('notes', 'larger.txt', 'x'.repeat(21 * 1_048_576)))
    expect(beyondAll.map(({ type, data }) => [type, data.reason, data.original_filename])).toEqual([
      ['file.rejected', 'size_exceeded', null],
    ])
    expect(await collectEvents(() => tenant.admin.upload('notes', 'b.exe', 'MZ', { path: '/files/validate' }))).toEqual([])
  })

  test('creates an event for each change within a tenant, but includes no secrets or IP addresses', async () => {
    const events = await collectEvents(async () => {
      const key = await tenant.createKey(['metadata'])
      for (const action of ['disable', 'enable', 'rotate', 'revoke'])
        await tenant.admin.post(`/api-keys/${key.id}/${action}`, action === 'rotate' ? {} : undefined)
      await tenant.createContext('short')
      await tenant.admin.patch('/contexts/short', { display_name: 'Shorter' })
      await tenant.admin.delete('/contexts/short')
      await tenant.createUser(['metadata'])
      await tenant.admin.patch('/tenant', { name: 'Renamed' })
      const { body } = await tenant.admin.upload('notes', 'gone.txt', 'gone')
      await tenant.admin.delete(`/files/${body.data.file_id}`)
      await world.createCaller('assay_none').get('/files')
    })
    expect(events.map(({ type }) => type)).toEqual([
      'api_key.created',
      'api_key.disabled',
      'api_key.enabled',
      'api_key.rotated',
      'api_key.revoked',
      'context.created',
      'context.updated',
      'context.deleted',
      'user.created',
      'user.session_created',
      'tenant.updated',
      'file.accepted',
      'file.deleted',
    ])
    expect(events[6]!.data).toMatchObject({
      context_key: 'short',
      changed: { display_name: { previous: 'short', new: 'Shorter' } },
    })
    expect(JSON.stringify(events)).not.toMatch(/assay_[0-9A-Za-z]{20}|127\.0\.0\.1|::1/)
  })
})

describe('server-sent events', () => {
  const url = (query = '') => `${world.url}/api/v1/events${query}`

  test('streams all past and new events exactly once and in order', async () => {
    const reader = await readEvents(url(), tenant.admin.credential!)
    const before = await last()
    for (const name of ['one', 'two', 'three']) await tenant.admin.upload('notes', `${name}.txt`, name)
    await reader.until(before + 3)
    expect(reader.events.map(({ id }) => id)).toEqual([...Array(before + 3).keys()].map((n) => n + 1))
    expect(reader.events.every(({ id, data }) => id === data.sequence)).toBe(true)
    reader.leave()
  })

  test('prefers Last-Event-ID to the `after` parameter, so that browsers resume correctly', async () => {
    const before = await last()
    await tenant.admin.upload('notes', 'again.txt', 'again')
    const reader = await readEvents(url('?after=0&types=file.*'), tenant.admin.credential!, { 'last-event-id': String(before) })
    await reader.until(1)
    expect(reader.events.map(({ id }) => id)).toEqual([before + 1])
    reader.leave()
    await expect(readEvents(url(), tenant.admin.credential!, { 'last-event-id': 'x' })).rejects.toThrow('400')
  })

  test('streams events that other replicas create', async () => {
    const other = await World.open({}, world)
    const before = await last()
    const reader = await readEvents(`${other.url}/api/v1/events?after=${before}`, tenant.admin.credential!)
    await tenant.admin.upload('notes', 'elsewhere.txt', 'elsewhere')
    await reader.until(1)
    expect(reader.events[0]!.data.type).toBe('file.accepted')
    reader.leave()
    await other.close()
  })

  test('ends the event stream of a revoked key', async () => {
    const key = await tenant.createKey(['admin'])
    const reader = await readEvents(url(`?after=${await last()}`), key.credential!)
    await tenant.admin.post(`/api-keys/${key.id}/revoke`)
    await reader.ended
    await expect(readEvents(url(), key.credential!)).rejects.toThrow('401')
  })

  test('closes the event stream of a client that does not read it', async () => {
    const full = await world.createTenant()
    const { rows } = await world.database.pool.query<{ length: number }>(
      'SELECT journal_length AS length FROM tenant_heads WHERE tenant_id = $1',
      [full.tenantId],
    )
    await world.database.pool.query(
      `INSERT INTO journal SELECT $1, $2 + n, 'evt_' || n, 'file.accepted', 'file_' || n, 'notes', now(),
         '{"data":{"note":"' || repeat('x', 2000) || '"},"sequence":' || $2 + n || '}', sha256(n::text::bytea) FROM generate_series(1, 10000) n`,
      [full.tenantId, rows[0]!.length],
    )
    await world.database.pool.query('UPDATE tenant_heads SET journal_length = journal_length + 10000 WHERE tenant_id = $1', [
      full.tenantId,
    ])
    const closed = new Promise<void>((resolve) => {
      world.app.httpServer.once('request', (_request, response) => response.once('close', resolve))
    })
    const socket = connectTo({ port: Number(new URL(world.url).port), host: '127.0.0.1' })
    socket.on('error', () => {})
    socket.pause()
    socket.write(
      `GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${full.admin.credential}\r\n\r\n`,
    )
    await closed
    socket.destroy()
  })

  test('closes all event streams and subscriptions when the process starts draining', async () => {
    const other = await World.open({}, world)
    const reader = await readEvents(`${other.url}/api/v1/events`, tenant.admin.credential!)
    const client = createClient({
      url: `${other.url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { Authorization: `Bearer ${tenant.admin.credential}` },
      retryAttempts: 0,
    })
    const subscribed = client.iterate({ query: 'subscription { events { sequence } }' })
    await subscribed.next()
    other.app.endStreams()
    await reader.ended
    await expect(
      (async () => {
        for await (const _ of subscribed);
      })(),
    ).rejects.toMatchObject({ code: 1001 })
    await expect(readEvents(`${other.url}/api/v1/events`, tenant.admin.credential!)).rejects.toThrow('503')
    await other.close()
  })

  test('limits the number of concurrent event streams per tenant', async () => {
    const crowded = await world.createTenant()
    const readers = await Promise.all(Array.from({ length: 50 }, () => readEvents(url(), crowded.admin.credential!)))
    await expect(readEvents(url(), crowded.admin.credential!)).rejects.toThrow('429')
    for (const reader of readers) reader.leave()
    await Promise.all(readers.map(({ ended }) => ended))
  })
})

describe('event subscriptions in GraphQL', () => {
  const connect = (credential: string | undefined) =>
    createClient({
      url: `${world.url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: credential === undefined ? {} : { Authorization: `Bearer ${credential}` },
      retryAttempts: 0,
    })
  const subscription =
    'subscription ($after: Long, $types: [String!]) { events(after: $after, types: $types) { sequence type data } }'

  test('delivers new events after a cursor to a GraphQL subscriber and filters them by type', async () => {
    const client = connect(tenant.admin.credential)
    const events = client.iterate({ query: subscription, variables: { after: await last(), types: ['file.*'] } })
    await tenant.admin.patch('/tenant', { name: 'Named again' })
    await tenant.admin.upload('notes', 'subscribed.txt', 'subscribed')
    const { value } = await events.next()
    expect(value.data.events).toMatchObject({ type: 'file.accepted', data: { original_filename: 'subscribed.txt' } })
    await events.return!()
    await client.dispose()
  })

  test.each([
    ['no credential', () => undefined, 4401],
    ['an unknown credential', () => 'assay_unknown', 4401],
    ['a credential without the scope', async () => (await tenant.createKey(['metadata'])).credential, 4403],
  ])('rejects a subscription connection with %s', async (_what, credential, code) => {
    const client = connect(await credential())
    const events = client.iterate({ query: subscription })
    await expect(events.next()).rejects.toMatchObject({ code })
  })

  test('disconnects all subscribers that use a revoked key', async () => {
    const key = await tenant.createKey(['admin'])
    const client = connect(key.credential)
    const closed = new Promise<{ code: number }>((resolve) => client.on('closed', (event) => resolve(event as { code: number })))
    const events = client.iterate({ query: subscription, variables: { after: await last() } })
    // Receiving the first event proves that the credential was accepted.
    await tenant.admin.patch('/tenant', { name: 'Named for one who listens' })
    await events.next()
    const ended = expect(events.next().then(() => events.next())).rejects.toMatchObject({ code: 4403 })
    await tenant.admin.post(`/api-keys/${key.id}/revoke`)
    expect((await closed).code).toBe(4403)
    await ended
  })

  test('returns errors for invalid requests on a subscription connection', async () => {
    const client = connect(tenant.admin.credential)
    const getError = async (query: string) => {
      try {
        const { value } = await client.iterate({ query }).next()
        return value.errors[0].extensions.code
      } catch (errors) {
        return (errors as { extensions?: { code: string } }[])[0]!.extensions?.code
      }
    }
    expect(await getError('{ tenant { name } }')).toBe('BAD_USER_INPUT')
    expect(await getError('subscription { events { nothing } }')).toBe('BAD_USER_INPUT')
    expect(await getError('subscription { events(types: ["file.eaten"]) { type } }')).toBe('BAD_USER_INPUT')
    await client.dispose()
  })

  test('rejects a GraphQL subscription over HTTP', async () => {
    const { status, body } = await tenant.admin.graphql('subscription { events { type } }')
    expect([status, body.errors[0].extensions.code]).toEqual([400, 'BAD_USER_INPUT'])
  })
})

test('ignores an Upgrade header for a protocol other than WebSocket', async () => {
  const response = await new Promise<{ status?: number; text: string }>((resolve, reject) => {
    const upgrade = request(
      `${world.url}/graphql`,
      {
        method: 'POST',
        headers: {
          connection: 'Upgrade, HTTP2-Settings',
          upgrade: 'h2c',
          'http2-settings': 'AAMAAABk',
          'content-type': 'application/json',
          authorization: `Bearer ${tenant.admin.credential}`,
        },
      },
      async (response) => {
        let text = ''
        for await (const chunk of response) text += chunk
        resolve({ status: response.statusCode!, text })
      },
    )
    upgrade.on('error', reject)
    upgrade.end(JSON.stringify({ query: '{ tenant { tenantId } }' }))
  })
  expect(response).toEqual({ status: 200, text: expect.stringContaining(tenant.tenantId) })
})
