import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { routes } from '../../src/api/rest/routes.js'
import { LogStartTimes } from '../../src/features/maintenance/log-start-times.js'
import { OrphanedUploads } from '../../src/features/maintenance/orphaned-uploads.js'
import { dropExpired, dropOldHours } from '../../src/features/maintenance/retention.js'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import { ensurePartitions } from '../../src/ledger/partitions.js'
import { distribute, distributedTables, referenceTables } from '../../src/platform/db/distribution.js'
import { runExpiry } from '../support/life.js'
import { quarantinedFile } from '../support/quarantined.js'
import { describeWhere } from '../support/real-parts.js'
import { Tus } from '../support/tus.js'
import { appendEvents, replyWith, WebhookReceiver } from '../support/webhook-receiver.js'
import { type TestTenant, World } from '../support/world.js'

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))

const nowhere = 'http://127.0.0.1:9/nowhere'

/** Statements that read across tenants without locks, with reasons. Obsolete entries must be removed. */
const acrossTenants: Record<string, RegExp> = {
  'the sweep finds due blobs of all tenants': /^SELECT d\.tenant_id, d\.blob_path FROM blob_garbage d WHERE d\.due_at/,
  'the fold finds counts of other replicas': /^SELECT tenant_id FROM usage_deltas UNION/,
  'and for moves that a process which died left pending': /^SELECT DISTINCT tenant_id FROM pending_moves/,
  'answers to Idempotency-Keys are forgotten after a day': /^SELECT tenant_id, actor_id, key FROM idempotency_keys/,
  'abandoned resumable uploads are deleted': /^SELECT tenant_id, upload_id FROM resumable_uploads WHERE expires_at/,
  'rescans find files of all tenants': /^SELECT q\.tenant_id, q\.context_id, q\.attempts > 0 AS is_retry/,
  'new signatures find the tenants whose files could not be scanned':
    /^SELECT DISTINCT tenant_id FROM rescan_queue WHERE attempts/,
  'as are walks that are through': /^SELECT w\.tenant_id, w\.context_id FROM rescans w WHERE w\.walked/,
  'rescans in progress alternate between contexts': /^SELECT tenant_id, context_id FROM rescans WHERE NOT walked/,
  'the metrics count rescans and quarantined files': /^SELECT \(SELECT count\(\*\) FROM rescans/,
  'the reconciler goes through all rows in the order of their paths':
    /^SELECT \* FROM \(\(SELECT blob_path, .* WHERE \(tenant_id, blob_path\) > /,
}

let world: World
let tenant: TestTenant
const statements = new Set<string>()
const { query } = pg.Client.prototype

beforeAll(async () => {
  world = await World.open({ WEBHOOK_ALLOW_PRIVATE: 'true' })
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [first] = args
    const text = typeof first === 'string' ? first : (first as { text?: string })?.text
    if (text) statements.add(text)
    return (query as (...args: unknown[]) => unknown).apply(this, args)
  } as never
  tenant = await world.tenant()
})
afterAll(async () => {
  pg.Client.prototype.query = query
  await world.close()
})

/** Calls every route with valid data. */
async function callEverything(): Promise<string[]> {
  const { admin } = tenant
  await tenant.context('notes', { scan_for_viruses: false })
  await tenant.context('spare')
  const key = await tenant.key(['upload'])
  const files: string[] = []
  for (const name of ['a.txt', 'b.txt', 'c.txt'])
    files.push((await admin.upload('notes', name, `text of ${name}`, { headers: { 'idempotency-key': name } })).body.data.file_id)
  await admin.upload('notes', 'a.exe', 'MZ')
  const webhook = (await admin.post('/webhooks', { url: nowhere })).body.data.webhook_id
  const tus = new Tus(admin)
  const upload = await tus.begin('notes', 'd.txt', 4)
  // The second part is merged with the first.
  for (const at of [0, 1]) await tus.patch(upload, at, 'x')
  const values: Record<string, string> = {
    file_id: files[0]!,
    api_key_id: key.id,
    context_key: 'spare',
    entity_type: 'file',
    entity_id: files[0]!,
    webhook_id: webhook,
    call_id: (await admin.get('/stats/logs?operation=upload&page_size=1')).body.data.data[0].call_id,
    share_id: (await admin.post('/log/share', {})).body.data.share_id,
  }
  const infected: Record<string, string> = {}
  for (const name of ['POST /quarantine/{file_id}/release', 'DELETE /quarantine/{file_id}'])
    infected[name] = await quarantinedFile(world, tenant, 'notes')
  await tenant.context('binned', { scan_for_viruses: false })
  await admin.patch('/contexts/binned/policy', { trash_days: 1, retention_days: 1 })
  for (const name of ['POST /trash/{file_id}/restore', 'DELETE /trash/{file_id}', 'left in the trash']) {
    infected[name] = (await admin.upload('binned', 'bin.txt', name)).body.data.file_id
    await admin.delete(`/files/${infected[name]}`)
  }
  await admin.upload('binned', 'old.txt', 'old')
  const bodies: Record<string, unknown> = {
    'POST /contexts/{context_key}/preview': { max_file_size_mb: 1 },
    'POST /quarantine/{file_id}/release': { reason: 'A false alarm.' },
    'PUT /files/{file_id}/hold': { reason: 'A case.' },
    'POST /api-keys': { name: 'Another', scopes: ['metadata'] },
    'POST /contexts': { context_key: 'more', display_name: 'More', allowed_extensions: ['txt'], max_file_size_mb: 1 },
    'PATCH /contexts/{context_key}': { display_name: 'Other' },
    'PATCH /contexts/{context_key}/policy': { accept_unscanned: true },
    'POST /files/delete': { file_ids: [files[1]] },
    'PATCH /tenant': { name: 'Other' },
    'POST /webhooks': { url: nowhere },
    'PATCH /webhooks/{webhook_id}': { description: 'Other' },
    'POST /webhooks/{webhook_id}/replay': { from_sequence: 1 },
  }
  const form = () => {
    const body = new FormData()
    body.append('context', 'notes')
    body.append('file', new Blob(['more']), 'e.txt')
    return body
  }
  const last = [
    'POST /api-keys/{api_key_id}/disable',
    'POST /api-keys/{api_key_id}/enable',
    'DELETE /webhooks/{webhook_id}',
    'DELETE /contexts/{context_key}',
    'DELETE /files/{file_id}',
    'POST /api-keys/{api_key_id}/revoke',
  ]
  const order = [...routes].sort((a, b) => last.indexOf(`${a.method} ${a.path}`) - last.indexOf(`${b.method} ${b.path}`))
  const failed: string[] = []
  for (const { method, path, body } of order) {
    const name = `${method} ${path}`
    const filled = path.replaceAll(
      /\{(\w+)\}/g,
      (_all, value: string) => (value === 'file_id' && infected[name]) || (values[value] ?? value),
    )
    for (const more of method === 'GET' ? ['', '?page=2&page_size=1'] : ['']) {
      const { status } = await admin.rest(method, filled + more, body === 'multipart' ? form() : bodies[name])
      if (status >= 400 && more === '') failed.push(`${name}: ${status}`)
    }
  }
  for (const log of ['/stats/logs/export', '/audit-logs/export']) await admin.get(log)
  const auditor = world.as((await admin.post('/log/share', {})).body.data.token)
  for (const path of ['checkpoint', 'key', 'tile/0/000.p/1', 'tile/1/000.p/1', 'tile/entries/000.p/1'])
    await auditor.get(`/log/${path}`)
  for (const filter of ['context=notes', 'sort=size_bytes', 'name_prefix=a', `uploaded_by=${key.id}`])
    await admin.get(`/files?${filter}`)
  await admin.graphql(
    '{ storageHealth { countersDrift filesWithoutBlob blobsWithoutFile corrupted journalDrift } mySessions { id } }',
  )
  return failed
}

/** One event is delivered, and the next is rejected. */
async function sendEvents(): Promise<void> {
  const receiver = await WebhookReceiver.open()
  receiver.reply = (received, response, nth) => replyWith(nth === 1 ? 204 : 500)(received, response, nth)
  const { body } = await tenant.admin.post('/webhooks', { url: receiver.url, types: ['file.*'] })
  world.app.services.webhookSender.start()
  await appendEvents(world, tenant.tenantId, [{}, {}])
  const failing = async () => (await tenant.admin.get(`/webhooks/${body.data.webhook_id}`)).body.data.failing_since
  while ((await failing()) === null) await new Promise((resolve) => setTimeout(resolve, 20))
  await receiver.close()
}

test('every table is distributed by tenant or replicated to every node, and its keys begin with the tenant', async () => {
  const tables = await world.database.pool.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> '_prisma_migrations' ORDER BY 1`,
  )
  expect(tables.rows.map(({ name }) => name)).toEqual([...distributedTables, ...referenceTables].sort())
  const keys = await world.database.pool.query<{ key: string }>(
    `SELECT i.indexrelid::regclass::text AS key FROM pg_index i WHERE i.indisunique AND i.indrelid = ANY ($1::regclass[])
     AND (SELECT attname FROM pg_attribute WHERE attrelid = i.indrelid AND attnum = i.indkey[0]) <> 'tenant_id'`,
    [distributedTables],
  )
  expect(keys.rows).toEqual([])
})

test('a migration without the extension distributes nothing and reports it', async () => {
  const client = await world.database.dedicated('distribute')
  await expect(distribute(client)).rejects.toThrow(/^The database has no extension citus, /)
  await client.end()
})

describeWhere(existsSync(here('node_modules')), 'their parser is not installed (npm ci --prefix test/deploy)')(
  'the statements of the service',
  () => {
    let findings: { statement: string; found: string[] }[]
    beforeAll(async () => {
      expect(await callEverything()).toEqual([])
      const { services } = world.app
      await new Sweeper(world.database.pool, services.storage).sweep()
      await services.fold.run({ everyTenant: true })
      await services.idempotency.sweep(() => true)
      await services.resumableUploads.sweep(() => true)
      await services.signIns.sweep()
      await sendEvents()
      await services.webhookDeliveries.sweep()
      await services.tenants.deletion.finishAll()
      const { pool } = world.database
      await pool.query(
        `UPDATE files SET created_at = now() - interval '2 days' WHERE tenant_id = $1 AND original_filename = 'old.txt'`,
        [tenant.tenantId],
      )
      await pool.query(`UPDATE trash SET deleted_at = now() - interval '2 days' WHERE tenant_id = $1`, [tenant.tenantId])
      expect(await runExpiry(world)).toMatchObject({ purged: 1 })
      await ensurePartitions(world.database.pool)
      await dropExpired(world.database.pool, await LogStartTimes.open(world.database.pool, { calls: 30, audits: 30 }))
      const orphaned = new OrphanedUploads(world.database.pool, 1000)
      orphaned.note(`${tenant.tenantId}/notes/gone.txt`)
      await orphaned.hasten()
      await dropOldHours(world.database.pool)
      await services.storageHealth.verify({ deep: true })
      await services.rescans.counts()
      while (await world.app.rescanner.turn()) {}
      const { rows: functions } = await world.database.pool.query(
        `SELECT p.proname AS name, l.lanname AS language, pg_get_functiondef(p.oid) AS definition, p.prosrc AS body FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
         WHERE p.pronamespace = 'public'::regnamespace AND l.lanname IN ('sql', 'plpgsql')`,
      )
      expect(functions.length).toBeGreaterThan(0)
      const input = JSON.stringify({ statements: [...statements], functions, distributed: distributedTables })
      findings = JSON.parse(
        execFileSync(process.execPath, [here('statements.mjs')], { input, encoding: 'utf8', maxBuffer: 32 << 20 }),
      )
    }, 120_000)

    const isListed = (list: Record<string, RegExp>, { statement }: { statement: string }) =>
      Object.values(list).some((known) => known.test(statement.trim()))

    test('statements name one tenant for distributed tables, also in functions, except the listed ones', () => {
      expect(findings.filter((each) => !isListed(acrossTenants, each))).toEqual([])
    })

    test('statements change and lock rows of one tenant only', () => {
      const changing = findings.filter((each) => each.found.some((what) => !what.startsWith('reads ')))
      expect(changing).toEqual([])
    })

    test('every statement that is listed as an exception needs the exception', () => {
      const unused = Object.entries(acrossTenants).filter(
        ([, known]) => !findings.some(({ statement }) => known.test(statement.trim())),
      )
      expect(unused).toEqual([])
    })
  },
)
