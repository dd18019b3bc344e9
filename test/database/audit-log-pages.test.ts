import 'reflect-metadata'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type AuditFilter, AuditLogService } from '../../src/features/audit-logs/audit-log.service.js'
import { getFirstId, newId } from '../../src/platform/ids.js'
import { LedgerFixture } from '../support/ledger-fixture.js'

const day = 86_400_000
const types = ['api_key', 'file', 'context', 'tenant']
const actions = ['created', 'enabled', 'disabled', 'revoked', 'updated', 'deleted']
const entities = [newId('file'), newId('key'), newId('ctx')]

let fixture: LedgerFixture
/** Rows that the pages must contain, newest first. */
let all: { auditId: string; auditType: string; action: string; entityId: string; at: number }[]
// A fixed seed makes runs reproducible.
let seed = 1_121
const random = () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
  return seed / 2_147_483_648
}
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!

beforeAll(async () => {
  fixture = await LedgerFixture.open()
  const rows = Array.from({ length: 1200 }, (_, index) => {
    const at = new Date(Math.floor(Date.now() - (index % 2 ? random() * 300 : 20 + random()) * day))
    return {
      id: getFirstId('aud', at).slice(0, -10) + newId('aud').slice(-10),
      at,
      type: random() < 0.02 ? 'tenant' : pick(types),
      action: pick(actions),
    }
  })
  await fixture.database.pool.query(
    `INSERT INTO audit_logs (audit_id, tenant_id, audit_type, action, entity_type, entity_id, entity_name, performed_by_id, performed_by_name, performed_by_type, ip_address, user_agent, created_at)
     SELECT id, $1, ty, ac, ty, en, 'x', 'system', 'system', 'system', '', '', at FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[]) AS s(id, ty, ac, en, at)`,
    [
      fixture.tenantId,
      rows.map(({ id }) => id),
      rows.map(({ type }) => type),
      rows.map(({ action }) => action),
      rows.map(() => pick(entities)),
      rows.map(({ at }) => at),
    ],
  )
  await fixture.database.pool.query(
    `INSERT INTO audit_counters (tenant_id, audit_type, action, grain, bucket, entries) SELECT tenant_id, audit_type, action, grain, bucket, count(*) FROM audit_logs
     CROSS JOIN LATERAL (VALUES ('day', date_trunc('day', created_at, 'UTC')), ('total', to_timestamp(0))) g(grain, bucket) GROUP BY 1, 2, 3, 4, 5`,
  )
  // Simulates days from before hourly counts existed, one of them with partial counts.
  await fixture.database.pool.query(
    `INSERT INTO audit_counters (tenant_id, audit_type, action, grain, bucket, entries) SELECT tenant_id, audit_type, action, 'hour', date_trunc('hour', created_at, 'UTC'), count(*) FROM audit_logs
     WHERE created_at > now() - interval '100 days' AND created_at NOT BETWEEN now() - interval '20 days 8 hours' AND now() - interval '20 days' GROUP BY 1, 2, 3, 4, 5`,
  )
  all = await fixture.queryRows(
    `SELECT audit_id AS "auditId", audit_type AS "auditType", action, entity_id AS "entityId", extract(epoch FROM created_at) * 1000 AS at FROM audit_logs ORDER BY audit_id DESC`,
  )
  await fixture.expectExact()
})
afterAll(() => fixture.close())

const createRandomFilter = (): AuditFilter => ({
  ...(random() < 0.5 && { auditType: pick(types) }),
  ...(random() < 0.5 && { action: pick(actions) }),
  ...(random() < 0.3 && { entityId: pick([...entities, newId('file')]) }),
})
const filterRows = (filter: AuditFilter, horizon: Date | null) =>
  all
    .filter(
      (row) =>
        Number(row.at) >= (horizon?.getTime() ?? 0) &&
        (!filter.auditType || row.auditType === filter.auditType) &&
        (!filter.action || row.action === filter.action) &&
        (!filter.entityId || row.entityId === filter.entityId),
    )
    .map(({ auditId }) => auditId)

const horizons = [
  null,
  new Date(Math.floor(Date.now() / day) * day - 25 * day),
  new Date(Math.floor(Date.now() / day) * day - 10 * day),
]

test.each(horizons)(
  'returns the same audit log entries as a row-by-row scan for any filter (earliest time: %s)',
  async (horizon) => {
    const log = new AuditLogService({ db: fixture.database, horizon: () => horizon })
    for (let times = 0; times < 80; times++) {
      const filter = createRandomFilter()
      const expected = filterRows(filter, horizon)
      const pageSize = pick([1, 7, 20, 100])
      const page = 1 + Math.floor(random() * (expected.length / pageSize + 1))
      const found = await log.list(fixture.key, { ...filter, page, pageSize })
      expect({
        filter,
        page,
        pageSize,
        total: found.pagination.totalItems,
        ids: found.data.map(({ auditId }) => auditId),
      }).toEqual({
        filter,
        page,
        pageSize,
        total: expected.length,
        ids: expected.slice((page - 1) * pageSize, page * pageSize),
      })
    }
    for (let times = 0; times < 5; times++) {
      const filter = createRandomFilter()
      const expected = filterRows(filter, horizon)
      const exported: string[] = []
      for await (const batch of log.readInBatches(fixture.database.pool, fixture.key, filter, 77))
        exported.push(...batch.map(({ auditId }) => auditId))
      expect(exported).toEqual(expected)
      const walked: string[] = []
      for (let after: string | undefined; ; ) {
        const { edges, pageInfo } = await log.getConnection(fixture.key, { ...filter, first: 100, ...(after && { after }) })
        walked.push(...edges.map(({ node }) => node.auditId))
        if (!pageInfo.hasNextPage) break
        after = pageInfo.endCursor!
      }
      expect(walked).toEqual(expected)
    }
  },
)

test("skips at most one hour of entries to read a page of a busy day's audit log", async () => {
  const busy = await LedgerFixture.open()
  const midnight = Math.floor(Date.now() / day - 3) * day
  const entry = (at: Date) => ({
    auditId: getFirstId('aud', at).slice(0, -10) + newId('aud').slice(-10),
    auditType: 'file' as const,
    action: 'created' as const,
    at,
  })
  const entries = Array.from({ length: 480 }, (_, index) => entry(new Date(midnight + index * 180_000)))
  await busy.database.pool.query(
    `INSERT INTO audit_logs (audit_id, tenant_id, audit_type, action, entity_type, entity_id, entity_name, performed_by_id, performed_by_name, performed_by_type, ip_address, user_agent, created_at)
     SELECT id, $1, 'file', 'created', 'file', 'x', 'x', 'system', 'system', 'system', '', '', at FROM unnest($2::text[], $3::timestamptz[]) AS s(id, at)`,
    [busy.tenantId, entries.map(({ auditId }) => auditId), entries.map(({ at }) => at)],
  )
  await busy.database.pool.query(
    `INSERT INTO audit_counters (tenant_id, audit_type, action, grain, bucket, entries) SELECT tenant_id, audit_type, action, grain, bucket, count(*) FROM audit_logs
     CROSS JOIN LATERAL (VALUES ('hour', date_trunc('hour', created_at, 'UTC')), ('day', date_trunc('day', created_at, 'UTC')), ('total', to_timestamp(0))) g(grain, bucket) GROUP BY 1, 2, 3, 4, 5`,
  )
  let values: unknown[] = []
  const query = (statement: { values: unknown[] }, more: unknown[]) => {
    values = more ?? statement.values
    return busy.database.pool.query(statement as never, more as never)
  }
  const log = new AuditLogService({ db: { ...busy.database, reads: { query } as never }, horizon: () => null })
  for (const filter of [{}, { auditType: 'file' }, { auditType: 'file', action: 'created' }])
    for (const page of [2, 25, 48]) {
      const { data } = await log.list(busy.key, { ...filter, page, pageSize: 10 })
      expect(data[0]!.auditId).toBe(entries.at(-1 - (page - 1) * 10)!.auditId)
      // OFFSET is the only other number besides the page size.
      const [skipped = 0] = values.filter((value): value is number => typeof value === 'number').slice(0, -1)
      expect(skipped).toBeLessThan(20)
    }
  await busy.close()
})
