import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { deleteExpiredLogs, deleteOldHourlyCounters, LogStartTimes } from '../../src/features/maintenance/retention.js'
import { OrphanedUploads, Sweeper } from '../../src/features/maintenance/sweeper.js'
import { RescanQueue } from '../../src/features/rescan/rescan-queue.js'
import { ensurePartitions } from '../../src/ledger/partitions.js'
import { distributeDatabase } from '../../src/platform/db/distribute.js'
import { distributedTables, localTables, referenceTables } from '../../src/platform/db/distribution.js'
import { runExpiry } from '../support/file-lifecycle.js'
import { describeIf } from '../support/installed-programs.js'
import { type TestTenant, World } from '../support/world.js'
import { adoptObject, callEverything, deleteTenant, sendEvents } from './all-calls.js'
import { rejectedStatements } from './rejected-statements.js'

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** Permitted statements that read across tenants without locks, with reasons. */
const acrossTenants: Record<string, RegExp> = {
  'the sweep finds due blobs of all tenants': /^SELECT d\.tenant_id, d\.blob_path FROM blob_garbage d WHERE d\.due_at/,
  'the fold finds counts of other replicas': /^SELECT tenant_id FROM usage_deltas UNION/,
  'and for moves that a process which died left pending': /^SELECT DISTINCT tenant_id FROM pending_moves/,
  'answers to Idempotency-Keys are forgotten after a day': /^SELECT tenant_id, actor_id, key FROM idempotency_keys/,
  'abandoned resumable uploads are deleted': /^SELECT tenant_id, upload_id FROM resumable_uploads WHERE expires_at/,
  'rescans find files of all tenants': /^SELECT q\.tenant_id, q\.context_id, q\.attempts > 0 AS is_retry/,
  'new signatures find the tenants whose files could not be scanned':
    /^SELECT DISTINCT tenant_id FROM rescan_queue WHERE attempts/,
  'new signatures find the tenants whose contexts need a rescan': /^SELECT DISTINCT t\.tenant_id FROM file_totals t JOIN/,
  'as are walks that are through': /^SELECT w\.tenant_id, w\.context_id FROM rescans w WHERE w\.walked/,
  'rescans in progress alternate between contexts': /^SELECT tenant_id, context_id FROM rescans WHERE NOT walked/,
  'an unavailable scanner pauses the rescans of all tenants': /^SELECT DISTINCT tenant_id FROM rescans WHERE finished_at/,
  'the metrics count rescans and quarantined files': /^SELECT \(SELECT count\(\*\) FROM rescans/,
  'the reconciler goes through all rows in the order of their paths':
    /^SELECT \* FROM \(\(SELECT blob_path, .* WHERE \(tenant_id, blob_path\) > /,
  'verify recounts each tenant that has rows': /^SELECT tenant_id FROM tenant_heads UNION SELECT/,
  'verify recomputes the journal of each tenant': /^SELECT tenant_id FROM tenant_heads ORDER BY tenant_id$/,
  'links presented by clients are found together':
    /^SELECT l\.link_id AS "linkId", .* FROM \(SELECT DISTINCT tenant_id, link_id FROM unnest/s,
  'the command line lists tenants with their bytes': /^SELECT t\.tenant_id .* FROM tenant_heads h JOIN tenants t/s,
}

/** Statements that insert rows for several tenants. A distributed database receives one statement per tenant instead. */
const groupsOfTenants: Record<string, RegExp> = {
  'calls of all tenants share a commit': /^WITH calls AS \(\s*INSERT INTO call_logs/,
  'as do reserved paths': /^INSERT INTO blob_garbage .* FROM unnest\(\$1::text\[\], \$2::text\[\]\) AS reserved/,
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
  tenant = await world.createTenant()
})
afterAll(async () => {
  pg.Client.prototype.query = query
  await world.close()
})

/** Returns tables by kind and functions by volatility. Overloaded functions have the strictest volatility. */
async function getRules() {
  const { rows } = await world.database.pool.query<{ name: string; level: string }>(
    `SELECT proname AS name, max(provolatile::text) AS level FROM pg_proc WHERE provolatile <> 'i' GROUP BY 1`,
  )
  const volatility = Object.fromEntries(rows.map(({ name, level }) => [name, level]))
  return { distributed: distributedTables, reference: referenceTables, local: localTables, volatility }
}

interface Found {
  statement: string
  found: string[]
}

/** Runs the SQL parser in a separate process. */
async function findRejectedStatements(parts: { statements: string[]; functions: object[] }): Promise<Found[]> {
  const input = JSON.stringify({ ...parts, ...(await getRules()) })
  return JSON.parse(execFileSync(process.execPath, [here('statements.mjs')], { input, encoding: 'utf8', maxBuffer: 32 << 20 }))
}

test('lists every table as distributed, reference or local', async () => {
  const tables = await world.database.pool.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> '_prisma_migrations' ORDER BY 1`,
  )
  expect(tables.rows.map(({ name }) => name)).toEqual([...distributedTables, ...referenceTables, ...localTables].sort())
  const keys = await world.database.pool.query<{ key: string }>(
    `SELECT i.indexrelid::regclass::text AS key FROM pg_index i WHERE i.indisunique AND i.indrelid = ANY ($1::regclass[])
     AND (SELECT attname FROM pg_attribute WHERE attrelid = i.indrelid AND attnum = i.indkey[0]) <> 'tenant_id'`,
    [distributedTables],
  )
  expect(keys.rows).toEqual([])
})

test('refuses to distribute a database that lacks the Citus extension', async () => {
  const client = await world.database.connectDedicated('distribute')
  await expect(distributeDatabase(client, () => {})).rejects.toThrow(/^The citus extension is not installed in the database\./)
  await client.end()
})

describeIf(existsSync(here('node_modules')), 'their parser is not installed (npm ci --prefix test/deploy)')(
  'statement check',
  () => {
    let findings: Found[]
    const cases = Object.entries(rejectedStatements).map(([name, each], index) => ({ ...each, name, place: `case_${index}` }))
    beforeAll(async () => {
      const statements = cases.flatMap(({ statement, place }) => (statement ? [`/* ${place} */ ${statement}`] : []))
      const functions = cases.flatMap(({ definition, place }) =>
        definition ? [{ name: `/* ${place} */`, language: 'plpgsql', definition, body: '' }] : [],
      )
      findings = await findRejectedStatements({ statements, functions })
    })

    test.each(cases)('reports $name in the statement check', ({ place, finding }) => {
      const own = findings.filter(({ statement }) => statement.startsWith(`/* ${place} */`))
      expect(own.flatMap(({ found }) => found)).toContain(finding)
    })
  },
)

test('the schema has no triggers', async () => {
  const { rows } = await world.database.pool.query('SELECT tgname FROM pg_trigger WHERE NOT tgisinternal')
  expect(rows).toEqual([])
})

describeIf(existsSync(here('node_modules')), 'their parser is not installed (npm ci --prefix test/deploy)')(
  'SQL statements of the service',
  () => {
    let findings: Found[]
    beforeAll(async () => {
      expect(await callEverything(world, tenant)).toEqual([])
      const { services } = world.app
      await new Sweeper(world.database.pool, services.storage).sweep()
      await services.fold.foldNow({ everyTenant: true })
      await services.idempotency.deleteExpiredKeys(() => true)
      await services.resumableUploads.removeExpiredUploads(() => true)
      await services.signIns.deleteExpiredSessions()
      await sendEvents(world, tenant)
      await services.webhookDeliveries.deleteOldDeliveries()
      await deleteTenant(world)
      await adoptObject(world, tenant)
      await services.tenants.list()
      await new RescanQueue(world.database.pool).pauseAllRescans()
      const { pool } = world.database
      await pool.query(
        `UPDATE files SET created_at = now() - interval '2 days' WHERE tenant_id = $1 AND original_filename = 'old.txt'`,
        [tenant.tenantId],
      )
      await pool.query(`UPDATE trash SET deleted_at = now() - interval '2 days' WHERE tenant_id = $1`, [tenant.tenantId])
      expect(await runExpiry(world)).toMatchObject({ purged: 1 })
      await ensurePartitions(world.database.pool)
      await deleteExpiredLogs(world.database.pool, await LogStartTimes.open(world.database.pool, { calls: 30, audits: 30 }))
      const orphaned = new OrphanedUploads(world.database.pool, 1000)
      orphaned.scheduleDeletion(`${tenant.tenantId}/notes/gone.txt`)
      await orphaned.updateDueTimes()
      await deleteOldHourlyCounters(world.database.pool)
      await services.storageHealth.verify({ readBlobs: true })
      await services.rescans.getCounts()
      while (await world.app.rescanner.scanNextBatch()) {}
      const { rows: functions } = await world.database.pool.query(
        `SELECT p.proname AS name, l.lanname AS language, pg_get_functiondef(p.oid) AS definition, p.prosrc AS body FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
         WHERE p.pronamespace = 'public'::regnamespace AND l.lanname IN ('sql', 'plpgsql')`,
      )
      expect(functions.length).toBeGreaterThan(0)
      findings = await findRejectedStatements({ statements: [...statements], functions })
    }, 120_000)

    const isListed = (list: Record<string, RegExp>, { statement }: Found) =>
      Object.values(list).some((known) => known.test(statement.trim()))

    test('every statement on a distributed table is limited to one tenant or is a listed exception', () => {
      const exceptions = { ...acrossTenants, ...groupsOfTenants }
      expect(findings.filter((each) => !isListed(exceptions, each))).toEqual([])
    })

    test('statements that read data from several tenants do not change rows', () => {
      const isRead = (what: string) => what.startsWith('reads ') || what.startsWith('names the tenant ')
      const listed = findings.filter((each) => isListed(acrossTenants, each))
      expect(listed.filter(({ found }) => !found.every(isRead))).toEqual([])
    })

    test('every exception listed for the SQL statement rules is still needed', () => {
      const unused = Object.entries({ ...acrossTenants, ...groupsOfTenants }).filter(
        ([, known]) => !findings.some(({ statement }) => known.test(statement.trim())),
      )
      expect(unused).toEqual([])
    })
  },
)
