import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { openWebhooks } from '../../src/features/webhooks/open-webhooks.js'
import type { OutboundClient } from '../../src/features/webhooks/outbound.js'
import { WebhookSender } from '../../src/features/webhooks/webhook-sender.js'
import { appendEvents, createReply, WebhookReceiver } from '../support/webhook-receiver.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let receiver: WebhookReceiver
const opened: { close(): Promise<void> }[] = []
beforeAll(async () => {
  world = await World.open({ WEBHOOK_ALLOW_PRIVATE: 'true' })
})
afterAll(() => world.close())
beforeEach(async () => {
  tenant = await world.createTenant()
  receiver = await openReceiver()
})
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
  const { tenants } = world.app.services
  // Suspending the tenant prevents deliveries during the next test.
  await tenants.suspend(tenant.tenantId)
})

async function openReceiver(): Promise<WebhookReceiver> {
  const created = await WebhookReceiver.open()
  opened.push(created)
  return created
}

/** Creates a webhook sender with the given retry intervals, as another replica would. */
function createSender(retrySeconds?: number[], on = world): WebhookSender {
  const { webhookSender } = openWebhooks(
    { ...on.app.services, db: on.database, onError: (error) => failures.push(error), ...(retrySeconds && { retrySeconds }) },
    { allowPrivate: true },
  )
  opened.push(webhookSender)
  webhookSender.start()
  return webhookSender
}
const failures: Error[] = []
const switchProtocols: WebhookReceiver['reply'] = (_, response) =>
  void response.socket!.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
afterEach(() => expect(failures.splice(0)).toEqual([]))

async function createWebhook(to = receiver, admin: Caller = tenant.admin): Promise<string> {
  const { status, body } = await admin.post('/webhooks', { url: to.url, types: ['file.*'] })
  expect(status).toBe(201)
  return body.data.webhook_id
}
const events = (...drafts: Parameters<typeof appendEvents>[2]) => appendEvents(world, tenant.tenantId, drafts)

async function until<T>(poll: () => Promise<T>, isSo: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await poll()
    if (isSo(value)) return value
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
const listDeliveries = async (id: string) => (await tenant.admin.get(`/webhooks/${id}/deliveries`)).body.data.data
const getWebhook = async (id: string) => (await tenant.admin.get(`/webhooks/${id}`)).body.data

describe('failed webhook deliveries', () => {
  test('retries a failed webhook delivery with the same id and delays later events', async () => {
    createSender([0.05, 0.05, 0.05])
    receiver.reply = (received, response, nth) => createReply(nth <= 2 ? 503 : 200)(received, response, nth)
    const id = await createWebhook()
    const last = await events({}, {})
    await receiver.atLeast(4)
    expect(receiver.sequences).toEqual([last - 1, last - 1, last - 1, last])
    expect(new Set(receiver.received.slice(0, 3).map((received) => received.id)).size).toBe(1)
    const log = await until(
      () => listDeliveries(id),
      (found) => found.length === 2 && found[0].status === 'delivered',
    )
    expect(log).toMatchObject([
      { sequence: last, status: 'delivered', attempts: 1 },
      { sequence: last - 1, status: 'delivered', attempts: 3, response_status: 200, next_attempt_at: null },
    ])
    expect(await getWebhook(id)).toMatchObject({ failing_since: null, next_attempt_at: null, last_sequence: last })
  })

  test('abandons a webhook delivery after the last attempt and sends the next event', async () => {
    createSender([0.05, 0.05])
    receiver.reply = (received, response, nth) => createReply(nth <= 3 ? 500 : 204)(received, response, nth)
    const id = await createWebhook()
    const last = await events({}, {})
    await receiver.atLeast(4)
    expect(receiver.sequences).toEqual([last - 1, last - 1, last - 1, last])
    const log = await until(
      () => listDeliveries(id),
      (found) => found.length === 2,
    )
    expect(log).toMatchObject([
      { sequence: last, status: 'delivered', attempts: 1 },
      { sequence: last - 1, status: 'failed', attempts: 3, response_status: 500, next_attempt_at: null },
    ])
  })

  test('retries a webhook delivery at the documented intervals, measured by the database clock', async () => {
    createSender()
    receiver.reply = createReply(500)
    const id = await createWebhook()
    await events({})
    const waits: number[] = []
    for (let attempt = 1; attempt <= 9; attempt++) {
      await receiver.atLeast(attempt)
      const { rows } = await until(
        () =>
          world.database.pool.query<{ seconds: number }>(
            `SELECT round(extract(epoch FROM p.next_attempt_at - d.attempted_at))::int AS seconds FROM webhook_positions p JOIN webhook_deliveries d USING (tenant_id, webhook_id) WHERE p.tenant_id = $1 AND p.attempts = $2`,
            [tenant.tenantId, attempt],
          ),
        (found) => found.rows.length === 1,
      )
      waits.push(rows[0]!.seconds)
      // Makes the next delivery attempt due.
      await world.database.pool.query('UPDATE webhook_positions SET next_attempt_at = now() WHERE tenant_id = $1', [
        tenant.tenantId,
      ])
    }
    // The retry interval starts with the attempt, which takes longer on a busy machine.
    for (const [at, seconds] of [5, 30, 120, 600, 3600, 10_800, 21_600, 43_200, 86_400].entries())
      expect([at, waits[at]! >= seconds - 1 && waits[at]! <= seconds + 15]).toEqual([at, true])
    await until(
      () => listDeliveries(id),
      ([delivery]) => delivery.status === 'failed',
    )
    expect(receiver.received).toHaveLength(10)
  })

  test('disables a webhook after a 410 response, and resends the event once the webhook is enabled', async () => {
    createSender([0.05])
    receiver.reply = createReply(410)
    const id = await createWebhook()
    const last = await events({}, {})
    const deleted = await until(
      () => getWebhook(id),
      ({ status }) => status === 'disabled',
    )
    expect(deleted).toMatchObject({ disabled_reason: 'gone', next_attempt_at: null })
    expect(deleted.last_sequence).toBeLessThan(last - 1)
    expect(receiver.sequences).toEqual([last - 1])
    expect(await listDeliveries(id)).toMatchObject([{ sequence: last - 1, status: 'failed', response_status: 410 }])
    const audit = await tenant.admin.get(`/audit-logs/entity/webhook/${id}`)
    expect(audit.body.data.data[0]).toMatchObject({
      action: 'disabled',
      performed_by_type: 'system',
      details: { reason: 'gone' },
    })
    receiver.reply = createReply(200)
    await tenant.admin.patch(`/webhooks/${id}`, { status: 'active' })
    await receiver.atLeast(3)
    expect(receiver.sequences).toEqual([last - 1, last - 1, last])
  })

  test('disables a webhook only after five days without a successful delivery', async () => {
    createSender([0.05])
    receiver.reply = createReply(500)
    const id = await createWebhook()
    const failingFor = (days: number) =>
      world.database.pool.query(
        'UPDATE webhook_positions SET failing_since = now() - make_interval(days => $2) WHERE tenant_id = $1',
        [tenant.tenantId, days],
      )
    await failingFor(4)
    await events({})
    await receiver.atLeast(2)
    expect(await getWebhook(id)).toMatchObject({ status: 'active' })
    receiver.reply = createReply(200)
    await events({})
    await until(
      () => getWebhook(id),
      ({ failing_since }) => failing_since === null,
    )
    receiver.reply = createReply(500)
    await failingFor(5)
    await events({})
    const off = await until(
      () => getWebhook(id),
      ({ status }) => status === 'disabled',
    )
    expect(off).toMatchObject({ disabled_reason: 'failing' })
  })

  test('does not follow redirects in a webhook delivery', async () => {
    createSender([60])
    const other = await openReceiver()
    receiver.reply = createReply(302, { location: other.url })
    const id = await createWebhook()
    await events({})
    const log = await until(
      () => listDeliveries(id),
      (found) => found.length === 1,
    )
    expect(log).toMatchObject([{ status: 'pending', response_status: 302, error: 'redirects are not followed' }])
    expect(other.received).toEqual([])
  })

  test('logs a failed attempt to deliver a webhook event if the receiver responds with 101', async () => {
    const used = createSender([60])
    receiver.reply = switchProtocols
    const id = await createWebhook()
    await events({})
    const log = await until(
      () => listDeliveries(id),
      (found) => found.length === 1,
    )
    expect(log).toMatchObject([
      { status: 'pending', attempts: 1, response_status: 101, error: 'protocol upgrades are not supported' },
    ])
    expect((await getWebhook(id)).next_attempt_at).not.toBeNull()
    await used.close()
  })

  test('marks a test event as failed without blocking the next one if the receiver responds with 101', async () => {
    receiver.reply = switchProtocols
    const id = await createWebhook()
    // A tenant can send two test events concurrently.
    for (let round = 0; round < 3; round++) {
      const { status, body } = await tenant.admin.post(`/webhooks/${id}/test`)
      expect([status, body.data.status, body.data.response_status]).toEqual([200, 'failed', 101])
    }
  })

  test('stops reading an endless webhook response and stores no part of it', async () => {
    createSender([60])
    let sent = 0
    receiver.reply = (_, response) => {
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write('sesame '.repeat(10_000))) sent += 70_000
      }
      response.on('drain', more)
      more()
    }
    const id = await createWebhook()
    await events({}, {})
    const log = await until(
      () => listDeliveries(id),
      (found) => found.length === 2,
    )
    expect(log).toMatchObject([{ status: 'delivered' }, { status: 'delivered' }])
    expect(JSON.stringify(log)).not.toContain('sesame')
    expect(sent).toBeLessThan(50_000_000)
  })

  test('does not delay other webhooks if a receiver never responds', async () => {
    createSender([60])
    receiver.reply = () => {}
    const good = await openReceiver()
    const others = await openReceiver()
    const another = await world.createTenant()
    await createWebhook(receiver)
    await createWebhook(good)
    await createWebhook(others, another.admin)
    const last = await events(...Array.from({ length: 60 }, () => ({})))
    await appendEvents(world, another.tenantId, [{}, {}])
    await Promise.all([receiver.atLeast(1), good.atLeast(60), others.atLeast(2)])
    expect(good.sequences).toEqual(Array.from({ length: 60 }, (_, n) => last - 59 + n))
    // The first webhook delivery is still in progress.
    expect(receiver.received).toHaveLength(1)
  })
})

test("limits a tenant to 16 delivery slots, so that other tenants' webhooks are delivered", async () => {
  createSender([60])
  let [open, maxOpen] = [0, 0]
  receiver.reply = (_, response) => {
    maxOpen = Math.max(maxOpen, ++open)
    response.on('close', () => open--)
  }
  for (let created = 0; created < 20; created++) await createWebhook()
  await events({})
  await receiver.until(() => maxOpen >= 16)
  const [other, witness] = [await world.createTenant(), await openReceiver()]
  await createWebhook(witness, other.admin)
  // Each poll by the sender claims due deliveries for both tenants.
  for (let round = 1; round <= 5; round++) {
    await appendEvents(world, other.tenantId, [{}])
    await witness.atLeast(round)
  }
  expect(maxOpen).toBe(16)
}, 120_000)

test('does not wait at shutdown for a webhook delivery that never completes', async () => {
  const { masterKey, journal } = world.app.services
  const pending: ((error: Error) => void)[] = []
  const errors: Error[] = []
  const stuck = new WebhookSender({
    masterKey,
    journal,
    pool: world.database.pool,
    outbound: { post: () => new Promise((_, reject) => pending.push(reject)), close: () => {} } as unknown as OutboundClient,
    disable: async () => {},
    onAttempt: () => {},
    onError: (error) => errors.push(error),
  })
  await createWebhook()
  stuck.start()
  await events({})
  await until(
    async () => pending.length,
    (count) => count === 1,
  )
  await stuck.close()
  expect(errors.map(({ message }) => message)).toEqual(['1 webhook deliveries did not finish within 6000 ms.'])
  pending[0]!(new Error('ended by the test'))
}, 60_000)

describe('webhook deliveries by several replicas', () => {
  test('sends each webhook event exactly once and in order, even with several replicas', async () => {
    const replica = await World.open({ WEBHOOK_ALLOW_PRIVATE: 'true' }, world)
    opened.push(replica)
    createSender()
    createSender(undefined, replica)
    const receivers = await Promise.all(Array.from({ length: 6 }, openReceiver))
    for (const each of receivers) await createWebhook(each)
    let last = 0
    for (let group = 0; group < 5; group++) {
      last = await events(...Array.from({ length: 20 }, () => ({})))
      await Promise.all(receivers.map((each) => each.until(() => each.sequences.includes(last))))
    }
    const all = Array.from({ length: 100 }, (_, n) => last - 99 + n)
    for (const each of receivers) expect(each.sequences).toEqual(all)
  })

  test('sends no webhook events for a suspended tenant until it is resumed', async () => {
    createSender()
    const id = await createWebhook()
    const { tenants } = world.app.services
    // Waits for the suspension event so that later deliveries start after it.
    const written = `SELECT journal_length AS last FROM tenant_heads WHERE tenant_id = $1`
    const { last } = (await world.database.pool.query<{ last: number }>(written, [tenant.tenantId])).rows[0]!
    await until(
      () => getWebhook(id),
      ({ last_sequence }) => last_sequence === last,
    )
    await tenants.suspend(tenant.tenantId)
    await events({}, {})
    const other = await world.createTenant()
    const witness = await openReceiver()
    await createWebhook(witness, other.admin)
    await appendEvents(world, other.tenantId, [{}])
    await witness.atLeast(1)
    expect(receiver.received).toEqual([])
    await tenants.resume(tenant.tenantId)
    await receiver.atLeast(2)
  })
})

test('keeps only the latest 1,000 webhook deliveries', async () => {
  const id = await createWebhook()
  await world.database.pool.query(
    `INSERT INTO webhook_deliveries (tenant_id, webhook_id, delivery_id, event_id, type, status, attempts, created_at, attempted_at)
     SELECT $1, $2, 'dlv_' || lpad(n::text, 26, '0'), 'evt_x', 'file.deleted', 'delivered', 1, now(), now() FROM generate_series(1, 1500) n`,
    [tenant.tenantId, id],
  )
  await world.app.services.webhookDeliveries.deleteOldDeliveries()
  const { body } = await tenant.admin.get(`/webhooks/${id}/deliveries?page_size=1`)
  expect(body.data.pagination.total_items).toBe(1000)
  expect(body.data.data[0].delivery_id).toMatch(/1500$/)
})
