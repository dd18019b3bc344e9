import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.js'
import { describeWith } from '../support/installed-programs.js'
import { type RealPgbouncer, startPgbouncer } from '../support/real-pgbouncer.js'
import { measurePropagation } from '../support/replicas.js'
import { runCommand } from '../support/service.js'
import { appendEvents, createReply, WebhookReceiver } from '../support/webhook-receiver.js'
import { type TestTenant, World } from '../support/world.js'

const transactions = 'pool_mode = transaction'
// Clients must share these few connections.
const few = 'default_pool_size = 3'
const takesAll = 'ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout'

const open: { close(): Promise<void> }[] = []
async function bouncer(url: string, ...settings: string[]): Promise<RealPgbouncer> {
  const started = await startPgbouncer(url, settings)
  open.push(started)
  return started
}
afterAll(async () => {
  for (const each of open.reverse()) await each.close()
})

const migrating = async (env: NodeJS.ProcessEnv) => {
  const { status, stderr } = await runCommand(['migrate'], env)
  return [status, stderr]
}

describeWith('pgbouncer')('startup and migration through PgBouncer', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createEmptyDatabase()
  })
  afterAll(() => database.drop())

  test('refuses to start through PgBouncer if its default settings reject startup parameters', async () => {
    const { url } = await bouncer(database.url)
    expect(await migrating({ DATABASE_URL: url })).toEqual([
      1,
      "DATABASE_URL points to a pooler that rejects the startup parameter 'statement_timeout'. Keep it, and set DATABASE_DIRECT_URL to a URL that connects directly to PostgreSQL.\n",
    ])
  })

  test('rejects PgBouncer in transaction mode as the only database URL and as DATABASE_DIRECT_URL', async () => {
    const { url } = await bouncer(database.url, transactions, takesAll)
    expect(await migrating({ DATABASE_URL: url })).toEqual([
      1,
      'DATABASE_URL points to a pooler in transaction mode, but some features require a session. Keep DATABASE_URL, and set DATABASE_DIRECT_URL to a URL that connects directly to PostgreSQL.\n',
    ])
    expect(await migrating({ DATABASE_URL: `${url}&x=1`, DATABASE_DIRECT_URL: url })).toEqual([
      1,
      'DATABASE_DIRECT_URL points to a pooler in transaction mode. It must point directly to PostgreSQL, or to a pooler in session mode.\n',
    ])
  })

  test('rejects database URLs that point to different databases', async () => {
    const other = await createTestDatabase()
    const { url } = await bouncer(other.url, transactions)
    const [status, message] = await migrating({ DATABASE_URL: url, DATABASE_DIRECT_URL: database.url })
    expect([status, message]).toEqual([
      1,
      expect.stringMatching(
        /^DATABASE_URL \(.*\) and DATABASE_DIRECT_URL \(.*\) point to different databases\. Both must point to the same one\.\n$/,
      ),
    ])
  })

  test('accepts PgBouncer in session mode if it allows the startup parameters', async () => {
    const { url } = await bouncer(database.url, takesAll)
    expect(await migrating({ DATABASE_URL: url })).toEqual([0, ''])
  })
})

describeWith('pgbouncer')('service behind PgBouncer in transaction mode', () => {
  let world: World
  let replica: World
  let tenant: TestTenant
  let direct: pg.Client
  beforeAll(async () => {
    const database = await createTestDatabase()
    const { url } = await bouncer(database.url, transactions, few)
    const env = { DATABASE_URL: url, DATABASE_DIRECT_URL: database.url, WEBHOOK_ALLOW_PRIVATE: 'true' }
    world = await World.open(env)
    replica = await World.open(env, world)
    tenant = await world.createTenant()
    await tenant.createContext('notes')
    direct = new pg.Client({ connectionString: database.url })
    await direct.connect()
  })
  afterAll(async () => {
    await direct?.end()
    await replica?.close()
    await world?.close()
  })

  test('serves forty concurrent clients through three PgBouncer connections', async () => {
    const uploads = await Promise.all(
      Array.from({ length: 40 }, (_each, n) =>
        tenant.admin.upload('notes', `${n}.txt`, `note ${n} ${randomBytes(8).toString('hex')}`),
      ),
    )
    expect(uploads.map(({ status }) => status)).toEqual(uploads.map(() => 201))
    const ids = uploads.map(({ body }) => body.data.file_id as string)
    const signed = await Promise.all(ids.map((id) => tenant.admin.get(`/files/${id}`)))
    expect(signed.map(({ status }) => status)).toEqual(signed.map(() => 200))
    const deleted = await Promise.all(ids.slice(0, 10).map((id) => tenant.admin.delete(`/files/${id}`)))
    expect(deleted.map(({ status }) => status)).toEqual(deleted.map(() => 200))
    const pages = await Promise.all([1, 2, 3].map((page) => tenant.admin.get(`/files?page_size=10&page=${page}`)))
    expect(pages.flatMap(({ body }) => body.data.data)).toHaveLength(30)
    const { body } = await tenant.admin.raw('/api/v1/stats/logs/export?operation=upload')
    expect(String(body).trim().split('\n')).toHaveLength(40)
  })

  test('sends webhook events in order and retries failed deliveries through PgBouncer', async () => {
    const receiver = await WebhookReceiver.open()
    open.push(receiver)
    for (const each of [world, replica]) each.app.services.webhookSender.start()
    const { body } = await tenant.admin.post('/webhooks', { url: receiver.url, types: ['context.updated'] })
    const last = await appendEvents(
      world,
      tenant.tenantId,
      Array.from({ length: 40 }, () => ({ type: 'context.updated' })),
    )
    await receiver.atLeast(40)
    expect(receiver.sequences).toEqual(Array.from({ length: 40 }, (_, n) => last - 39 + n))
    receiver.reply = (received, response, nth) => createReply(nth === 41 ? 500 : 204)(received, response, nth)
    await appendEvents(world, tenant.tenantId, [{ type: 'context.updated' }])
    await receiver.atLeast(41)
    // Retries immediately instead of after five seconds.
    await tenant.admin.patch(`/webhooks/${body.data.webhook_id}`, { description: 'again' })
    const [again, before] = (await receiver.atLeast(42)).slice().reverse()
    expect(again!.id).toBe(before!.id)
  })

  test('rejects a key within a second after it is disabled, even if the service is behind PgBouncer', async () => {
    const key = await tenant.createKey(['metadata'])
    const there = replica.createCaller(key.credential)
    const status = async () => (await there.get('/files')).status
    expect(await status()).toBe(200)
    expect(await measurePropagation(() => tenant.admin.post(`/api-keys/${key.id}/disable`), status, 401)).toBeLessThan(1000)
  })

  test('enforces lock and statement timeouts behind PgBouncer', async () => {
    await direct.query('BEGIN')
    await direct.query('SELECT 1 FROM tenant_heads WHERE tenant_id = $1 FOR UPDATE', [tenant.tenantId])
    const group = JSON.stringify([{ tenant: tenant.tenantId, moves: { entries: 0 } }])
    const { rows: moved } = await world.database.writes.query(`CALL ledger_groups($1, '1s', '[]')`, [group])
    expect(moved).toEqual([{ answers: [{ tenant: tenant.tenantId, left: true }] }])
    await direct.query('ROLLBACK')
    const client = await world.database.writes.connect()
    await client.query('BEGIN')
    const { rows } = await client.query(
      "SELECT current_setting('lock_timeout') AS lock, current_setting('statement_timeout') AS statement",
    )
    await client.query('ROLLBACK')
    client.release()
    expect(rows).toEqual([{ lock: '1s', statement: '30s' }])
  })
})
