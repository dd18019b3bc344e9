import 'reflect-metadata'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { AuditLogService } from '../../src/features/audit-logs/audit-log.service.js'
import { CallLogService } from '../../src/features/call-logs/call-log.service.js'
import { countCounterErrors } from '../../src/features/maintenance/counter-drift.js'
import { deleteExpiredLogs, LogStartTimes } from '../../src/features/maintenance/retention.js'
import { StatsService } from '../../src/features/stats/stats.service.js'
import { dropPartitionsBefore, getMonthStart, toPartition } from '../../src/ledger/partitions.js'
import { getFirstId, newId } from '../../src/platform/ids.js'
import { avoidHourEnd, avoidMidnightMs } from '../support/clock.js'
import { LedgerFixture, seedCalls } from '../support/ledger-fixture.js'

const day = 86_400_000
const keepDays = 40

let fixture: LedgerFixture
beforeAll(async () => {
  // The test avoids the end of an hour because expired rows are counted in full hours.
  await avoidHourEnd()
  fixture = await LedgerFixture.open()
  const calls = Array.from({ length: 1000 }, (_, index) => ({
    at: new Date(Date.now() - ((index * 130) / 1000) * day),
    apiKeyId: fixture.key.id,
    operation: 'metadata' as const,
    status: 'success' as const,
  }))
  await seedCalls(fixture.url, fixture.tenantId, calls)
  // Inserts one audit row per day with its counters.
  const ids = Array.from(
    { length: 100 },
    (_, index) => getFirstId('aud', new Date(Date.now() - index * day)).slice(0, -10) + newId('aud').slice(-10),
  )
  await fixture.database.pool.query(
    `INSERT INTO audit_logs (audit_id, tenant_id, audit_type, action, entity_type, entity_id, entity_name, performed_by_id, performed_by_name, performed_by_type, ip_address, user_agent, created_at)
     SELECT id, $2, 'file', 'created', 'file', 'x', 'x', 'system', 'system', 'system', '', '', at FROM unnest($1::text[], $3::timestamptz[]) AS s(id, at)`,
    [ids, fixture.tenantId, ids.map((_, index) => new Date(Date.now() - index * day))],
  )
  await fixture.database.pool.query(
    `INSERT INTO audit_counters (tenant_id, audit_type, action, grain, bucket, entries) SELECT tenant_id, audit_type, action, grain, bucket, count(*) FROM audit_logs
     CROSS JOIN LATERAL (VALUES ('day', date_trunc('day', created_at, 'UTC')), ('total', to_timestamp(0))) g(grain, bucket) GROUP BY 1, 2, 3, 4, 5`,
  )
}, avoidMidnightMs)
afterAll(() => fixture.close())

test('deletes expired log rows and drops the partitions of expired months', async () => {
  const { database, key } = fixture
  const horizons = await LogStartTimes.open(database.pool, { calls: keepDays, audits: keepDays })
  const log = new CallLogService({ db: database, horizon: horizons.calls })
  const audits = new AuditLogService({ db: database, horizon: horizons.audits })
  const stats = new StatsService(database)
  const horizon = horizons.calls()!
  const countRows = async () => ({
    stats: await stats.getOverview(key),
    chart: await stats.getApiCallsChart(key, { period: 'weekly', days: 365 }),
    perDay: await stats.getApiCallsChart(key, { period: 'daily', days: 365 }),
  })
  const lists = async () => ({
    calls: (await log.list(key, { page: 1, pageSize: 100 })).pagination.totalItems,
    audits: (await audits.list(key, { page: 1, pageSize: 100 })).pagination.totalItems,
    files: (await audits.list(key, { page: 1, pageSize: 100, auditType: 'file' })).pagination.totalItems,
  })
  const before = { counts: await countRows(), lists: await lists() }
  const count = async (table: string) => (await fixture.queryRows<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))[0]!.n
  expect(before.lists.calls).toBeLessThan(await count('call_logs'))

  const dropped = await deleteExpiredLogs(database.pool, horizons)
  const oldMonths = [1, 2, 3, 4, 5]
    .map((ago) => getMonthStart(new Date(), -ago))
    .filter((month) => getMonthStart(month, 1) <= horizon)
  expect(dropped.partitions).toEqual(expect.arrayContaining(oldMonths.slice(0, 2).map((month) => toPartition(month).name)))
  expect(dropped.rows).toBeGreaterThan(0)

  // Dropping rows does not change lists, because rows are hidden as soon as they expire.
  expect(await count('call_logs')).toBe(before.lists.calls)
  expect(await count('audit_logs')).toBe(before.lists.audits)
  expect(await lists()).toEqual(before.lists)
  expect(await countRows()).toEqual(before.counts)
  expect(before.counts.chart.dataPoints.reduce((sum, point) => sum + point.total, 0)).toBe(1000)

  const client = await database.connectDedicated('test')
  expect(await countCounterErrors(client, { tenantId: null, callsSince: horizon, auditsSince: horizons.audits() })).toBe(0)

  // Dropped rows stay excluded from totals and recounts after the retention becomes unlimited.
  const forever = await LogStartTimes.open(database.pool, { calls: undefined, audits: undefined })
  expect([forever.calls(), forever.audits()]).toEqual([horizon, horizons.audits()])
  const all = new CallLogService({ db: database, horizon: forever.calls })
  expect((await all.list(key, { page: 1, pageSize: 1 })).pagination.totalItems).toBe(before.lists.calls)
  expect(await countCounterErrors(client, { tenantId: null, callsSince: forever.calls(), auditsSince: forever.audits() })).toBe(0)
  await client.end()
  expect((await deleteExpiredLogs(database.pool, horizons)).rows).toBe(0)
})

test('skips a month during retention if its rows are being read', async () => {
  const month = getMonthStart(new Date(), 2)
  const { name } = toPartition(month)
  const reader = await fixture.database.pool.connect()
  await reader.query('BEGIN')
  await reader.query(`SELECT count(*) FROM ${name}`)
  const later = getMonthStart(month, 1)
  expect(await dropPartitionsBefore(fixture.database.pool, later)).not.toContain(name)
  await reader.query('ROLLBACK')
  reader.release()
  expect(await dropPartitionsBefore(fixture.database.pool, later)).toContain(name)
})
