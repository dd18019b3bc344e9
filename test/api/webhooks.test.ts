import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { appendEvents, createReply, type Received, WebhookReceiver } from '../support/webhook-receiver.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let receiver: WebhookReceiver
beforeAll(async () => {
  world = await World.open({ WEBHOOK_ALLOW_PRIVATE: 'true' })
  world.app.services.webhookSender.start()
})
afterAll(() => world.close())
beforeEach(async () => {
  tenant = await world.createTenant()
  receiver = await WebhookReceiver.open()
})
afterEach(() => receiver.close())

async function createWebhook(more: Record<string, unknown> = {}) {
  const { status, body } = await tenant.admin.post('/webhooks', { url: receiver.url, ...more })
  expect([status, body]).toEqual([201, expect.anything()])
  return body.data as { webhook_id: string; secret: string }
}
const isSignedBy = (secret: string, received: Received): boolean => {
  try {
    return WebhookReceiver.verify(secret, received) !== undefined
  } catch {
    return false
  }
}
const events = (...drafts: Parameters<typeof appendEvents>[2]) => appendEvents(world, tenant.tenantId, drafts)

describe('webhook management', () => {
  test("returns a new webhook's secret only once and stores it encrypted", async () => {
    const created = await createWebhook({ description: 'Our ledger', types: ['file.*', 'quota.threshold'] })
    const { webhook_id: id, secret } = created
    expect(id).toMatch(/^whk_[0-9a-hjkmnp-tv-z]{26}$/)
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(created).toEqual({
      webhook_id: id,
      secret,
      url: receiver.url,
      types: ['file.*', 'quota.threshold'],
      contexts: null,
      description: 'Our ledger',
      status: 'active',
      disabled_reason: null,
      last_sequence: expect.any(Number),
      failing_since: null,
      next_attempt_at: null,
      previous_secret_expires_at: null,
      created_by: tenant.admin.id,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    })
    const { body } = await tenant.admin.get(`/webhooks/${id}`)
    const { secret: _secret, ...record } = created
    expect(Object.keys(body.data)).toEqual(Object.keys(record))
    expect(body.data).toMatchObject({ webhook_id: id, types: ['file.*', 'quota.threshold'] })
    const listed = await tenant.admin.get('/webhooks')
    expect(JSON.stringify([body, listed.body])).not.toContain(secret)
    const { rows } = await world.database.pool.query('SELECT * FROM webhooks WHERE tenant_id = $1', [tenant.tenantId])
    expect(JSON.stringify(rows)).not.toContain(Buffer.from(secret).toString('hex').slice(0, 20))
    expect(Buffer.from(rows[0].secret_encrypted).includes(secret)).toBe(false)
  })

  test('reports all invalid webhook fields in one response', async () => {
    const { status, body } = await tenant.admin.post('/webhooks', {
      url: 'http://user:password@127.0.0.1/',
      contexts: ['nowhere'],
    })
    expect(status).toBe(400)
    expect(body.error.details.fields).toEqual([
      { field: 'url', message: 'must not contain credentials, because the signature authenticates the sender' },
      { field: 'contexts', message: 'must contain only existing context keys. Unknown key: nowhere' },
    ])
    const odd = await tenant.admin.post('/webhooks', { url: '', types: ['file.exploded'], contexts: [] })
    expect(odd.body.error.details.fields.map(({ field }: { field: string }) => field).sort()).toEqual([
      'contexts',
      'types',
      'url',
    ])
  })

  test('audits webhook changes with the host instead of the full URL', async () => {
    await tenant.createContext('invoices')
    const { webhook_id: id } = await createWebhook()
    const { body } = await tenant.admin.patch(`/webhooks/${id}`, { url: `${receiver.url}/token`, contexts: ['invoices'] })
    expect(body.data).toMatchObject({ url: `${receiver.url}/token`, contexts: ['invoices'] })
    const all = await tenant.admin.patch(`/webhooks/${id}`, { contexts: null })
    expect(all.body.data.contexts).toBeNull()
    const off = await tenant.admin.patch(`/webhooks/${id}`, { status: 'disabled' })
    expect(off.body.data).toMatchObject({ status: 'disabled', disabled_reason: 'requested' })
    const on = await tenant.admin.patch(`/webhooks/${id}`, { status: 'active' })
    expect(on.body.data).toMatchObject({ status: 'active', disabled_reason: null })
    await tenant.admin.delete(`/webhooks/${id}`)
    const audit = await tenant.admin.get(`/audit-logs/entity/webhook/${id}`)
    expect(audit.body.data.data.map(({ action, details }: { action: string; details: object }) => [action, details])).toEqual([
      ['deleted', {}],
      ['enabled', { previous_status: 'disabled', new_status: 'active' }],
      ['disabled', { previous_status: 'active', new_status: 'disabled' }],
      ['updated', { changed: { contexts: { previous: ['invoices'], new: null } } }],
      ['updated', { changed: { contexts: { previous: null, new: ['invoices'] }, url: true } }],
      ['created', { host: new URL(receiver.url).host, types: ['*'], contexts: null, description: '' }],
    ])
    expect((await tenant.admin.get(`/webhooks/${id}`)).status).toBe(404)
  })

  test('stores and returns the canonical form of a webhook URL', async () => {
    const { origin, host } = new URL(receiver.url)
    const { webhook_id: id } = await createWebhook({ url: `HTTP://${host}\\@example.com/a/../hook` })
    const created = await tenant.admin.get(`/webhooks/${id}`)
    expect(created.body.data.url).toBe(`${origin}/@example.com/hook`)
    const changed = await tenant.admin.patch(`/webhooks/${id}`, { url: `http:${host}` })
    expect(changed.body.data.url).toBe(`${origin}/`)
  })

  test('limits a tenant to twenty webhooks', async () => {
    for (let created = 0; created < 20; created++) await createWebhook()
    const { status, body } = await tenant.admin.post('/webhooks', { url: receiver.url })
    expect([status, body.error.code]).toEqual([409, 'conflict'])
  })
})

describe('webhook events', () => {
  test('sends webhook events for uploads, rejected uploads, deletions and webhook changes', async () => {
    await tenant.createContext('notes')
    const { webhook_id: id, secret } = await createWebhook()
    const uploaded = await tenant.admin.upload('notes', 'a.txt', 'text')
    await tenant.admin.upload('notes', 'blank.txt', ' ')
    await tenant.admin.delete(`/files/${uploaded.body.data.file_id}`)
    await tenant.admin.patch(`/webhooks/${id}`, { description: 'Ours' })
    const all = await receiver.until((each) => each.some(({ body }) => body.type === 'webhook.updated'))
    // Duplicates are removed because a delivery in progress during a change can be repeated.
    const received = all.filter(({ body }, n) => all.findIndex((each) => each.body.data.sequence === body.data.sequence) === n)
    expect(received.map(({ body }) => [body.type, body.data.file_id ?? body.data.reason ?? body.data.webhook_id])).toEqual([
      ['file.accepted', uploaded.body.data.file_id],
      ['file.rejected', 'blank_file'],
      ['file.deleted', uploaded.body.data.file_id],
      ['webhook.updated', id],
    ])
    for (const each of received) expect(WebhookReceiver.verify(secret, each)).toEqual(each.body)
    const { body } = await tenant.admin.get('/events?types=file.*')
    expect(received.slice(0, 3).map((each) => each.body.data.sequence)).toEqual(
      body.data.data.map(({ sequence }: { sequence: number }) => sequence),
    )
  })

  test('sends webhook events in order with Standard Webhooks signatures', async () => {
    await events({}, {})
    const { secret } = await createWebhook({ types: ['file.*'] })
    const last = await events({ data: { file_id: 'file_1' } }, { data: { file_id: 'file_2' } }, { data: { file_id: 'file_3' } })
    const received = await receiver.atLeast(3)
    expect(receiver.sequences).toEqual([last - 2, last - 1, last])
    expect(received[0]!.body).toEqual({
      type: 'file.deleted',
      timestamp: '2026-11-22T10:00:00.000Z',
      data: { file_id: 'file_1', sequence: last - 2 },
    })
    expect(received.map(({ id }) => id)).toEqual([last - 2, last - 1, last].map((sequence) => `evt_${sequence}`))
    for (const each of received) expect(WebhookReceiver.verify(secret, each)).toEqual(each.body)
    expect(() =>
      WebhookReceiver.verify(secret, { ...received[0]!, text: received[0]!.text.replace('file_1', 'file_2') }),
    ).toThrow()
  })

  test('sends a webhook only the events that match its selected types and contexts', async () => {
    await tenant.createContext('invoices')
    await tenant.createContext('photos')
    await createWebhook({ types: ['file.*', 'quota.threshold'], contexts: ['invoices'] })
    const last = await events(
      { contextKey: 'photos' },
      { contextKey: 'invoices' },
      { type: 'api_key.created' },
      { type: 'quota.threshold' },
      { contextKey: 'invoices' },
    )
    await receiver.atLeast(3)
    expect(receiver.sequences).toEqual([last - 3, last - 1, last])
  })

  test('lists webhook deliveries newest first and deletes them with the webhook', async () => {
    const { webhook_id: id } = await createWebhook({ types: ['file.*'] })
    const last = await events({}, {}, {})
    await receiver.atLeast(3)
    const log = async (query = '') => (await tenant.admin.get(`/webhooks/${id}/deliveries${query}`)).body.data.data
    while ((await log()).length < 3) await sleep(10)
    expect(await log()).toEqual(
      [last, last - 1, last - 2].map((sequence) => ({
        delivery_id: expect.stringMatching(/^dlv_/),
        event_id: `evt_${sequence}`,
        type: 'file.deleted',
        sequence,
        status: 'delivered',
        attempts: 1,
        response_status: 204,
        error: null,
        duration_ms: expect.any(Number),
        created_at: expect.any(String),
        attempted_at: expect.any(String),
        next_attempt_at: null,
      })),
    )
    expect(await log('?status=failed')).toEqual([])
    await tenant.admin.delete(`/webhooks/${id}`)
    const { rows } = await world.database.pool.query(
      'SELECT (SELECT count(*) FROM webhook_deliveries WHERE tenant_id = $1) + (SELECT count(*) FROM webhook_positions WHERE tenant_id = $1) AS left',
      [tenant.tenantId],
    )
    expect(rows).toEqual([{ left: 0 }])
  })

  test('sends a test event immediately, even to a disabled webhook', async () => {
    const { webhook_id: id, secret } = await createWebhook({ types: ['file.*'] })
    await tenant.admin.patch(`/webhooks/${id}`, { status: 'disabled' })
    const { body } = await tenant.admin.post(`/webhooks/${id}/test`)
    expect(body.data).toMatchObject({
      type: 'webhook.test',
      sequence: null,
      status: 'delivered',
      response_status: 204,
      attempts: 1,
    })
    const [sent] = receiver.received
    expect(WebhookReceiver.verify(secret, sent!)).toEqual({
      type: 'webhook.test',
      timestamp: expect.any(String),
      data: { webhook_id: id, sequence: null },
    })
    receiver.reply = createReply(500)
    expect((await tenant.admin.post(`/webhooks/${id}/test`)).body.data).toMatchObject({ status: 'failed', response_status: 500 })
    expect((await tenant.admin.get(`/webhooks/${id}/deliveries`)).body.data.pagination.total_items).toBe(2)
  })

  test('signs webhook events with both secrets for a day after a rotation', async () => {
    const { webhook_id: id, secret: before } = await createWebhook({ types: ['file.*'] })
    const { body } = await tenant.admin.post(`/webhooks/${id}/rotate-secret`)
    const { secret: after, previous_secret_expires_at: until } = body.data
    expect(after).not.toBe(before)
    expect(Date.parse(until) - Date.now()).toBeGreaterThan(23.9 * 3_600_000)
    // A delivery in progress during a rotation may use the previous secrets.
    let first: Received | undefined
    while (!first || !isSignedBy(after, first)) {
      const observed = receiver.received.length
      await events({})
      first = (await receiver.atLeast(observed + 1))[observed]!
    }
    expect(WebhookReceiver.verify(before, first)).toEqual(first.body)
    const sent = receiver.received.length
    await world.database.pool.query(
      "UPDATE webhooks SET previous_expires_at = now() - interval '1 second' WHERE webhook_id = $1",
      [id],
    )
    await tenant.admin.post(`/webhooks/${id}/replay`, { from_sequence: first.body.data.sequence })
    // A delivery that is in progress when the old secret expires may still use that secret.
    const all = await receiver.until((received) => received.slice(sent).some((each) => !isSignedBy(before, each)))
    const second = all.slice(sent).find((each) => !isSignedBy(before, each))!
    expect(WebhookReceiver.verify(after, second)).toEqual(second.body)
    expect((await tenant.admin.get(`/webhooks/${id}`)).body.data.previous_secret_expires_at).toBeNull()
  })

  test('resends webhook events from a given sequence number with the same ids', async () => {
    const { webhook_id: id } = await createWebhook({ types: ['file.*'] })
    const last = await events({}, {}, {})
    await receiver.atLeast(3)
    const { body } = await tenant.admin.post(`/webhooks/${id}/replay`, { from_sequence: last - 1 })
    expect(body).toMatchObject({ data: { last_sequence: last - 2 } })
    const received = await receiver.atLeast(5)
    expect(receiver.sequences).toEqual([last - 2, last - 1, last, last - 1, last])
    expect(received[3]!.id).toBe(received[1]!.id)
    const beyond = await tenant.admin.post(`/webhooks/${id}/replay`, { from_sequence: last + 1000 })
    expect([beyond.status, beyond.body.error.details.fields[0].field]).toEqual([400, 'from_sequence'])
  })

  test('offers the same webhook operations over GraphQL as over REST', async () => {
    const newWebhook = await tenant.admin.graphql(
      'mutation ($url: String!) { createWebhook(input: { url: $url, types: ["file.*"] }) { webhookId url types status secret webhook { id types } } }',
      { url: receiver.url },
    )
    const { webhookId, webhook, ...created } = newWebhook.body.data.createWebhook
    expect(webhook).toEqual({ id: webhookId, types: ['file.*'] })
    expect(created).toEqual({
      url: receiver.url,
      types: ['file.*'],
      status: 'active',
      secret: expect.stringMatching(/^whsec_/),
    })
    const last = await events({})
    await receiver.atLeast(1)
    const requested = await tenant.admin.graphql(
      `mutation ($id: ID!, $from: Long!) {
        testWebhook(webhookId: $id) { status }
        rotateWebhookSecret(webhookId: $id) { webhookId secret }
        updateWebhook(webhookId: $id, input: { description: "x" }) { description }
        replayWebhook(webhookId: $id, fromSequence: $from) { lastSequence }
      }`,
      { id: webhookId, from: last },
    )
    expect(requested.body).toEqual({
      data: {
        testWebhook: { status: 'delivered' },
        rotateWebhookSecret: { webhookId, secret: expect.stringMatching(/^whsec_/) },
        updateWebhook: { description: 'x' },
        replayWebhook: { lastSequence: last - 1 },
      },
    })
    await receiver.atLeast(3)
    const read = await tenant.admin.graphql(
      `query ($id: ID!) { webhook(webhookId: $id) { status } webhooks { pagination { totalItems } }
        webhookDeliveries(webhookId: $id, status: delivered) { data { type } } node(id: $id) { id } }`,
      { id: webhookId },
    )
    expect(read.body.data).toMatchObject({
      webhook: { status: 'active' },
      webhooks: { pagination: { totalItems: 1 } },
      node: { id: webhookId },
    })
    expect(
      (await tenant.admin.graphql('mutation ($id: ID!) { deleteWebhook(webhookId: $id) { webhookId } }', { id: webhookId })).body,
    ).toEqual({
      data: { deleteWebhook: { webhookId } },
    })
  })
})
