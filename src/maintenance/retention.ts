import type { Pool } from 'pg'
import { firstIdAt } from '../ids.js'
import { hoursKeptDays } from '../ledger/counters.js'
import { dropPartitionsBefore } from '../ledger/partitions.js'
import type { LogHorizons } from './log-horizons.js'

const tenantsAtOnce = 50
const rowsOfEach = 200

/** Drops what retention has put out of the logs: whole months at once, the rest of a month in batches. Statistics keep what they counted. */
export async function dropExpired(pool: Pool, horizons: LogHorizons): Promise<{ partitions: string[]; rows: number }> {
  await horizons.refresh()
  const [calls, audits] = [horizons.calls(), horizons.audits()]
  if (!calls && !audits) return { partitions: [], rows: 0 }
  await horizons.announce()
  const partitions = calls ? await dropPartitionsBefore(pool, calls) : []
  let rows = 0
  if (calls) rows += await deleteOfAll(pool, expiredRows('call_logs', 'call_id'), firstIdAt('call', calls))
  if (audits) rows += await deleteOfAll(pool, expiredRows('audit_logs', 'audit_id'), firstIdAt('aud', audits))
  return { partitions, rows }
}

/** Drops the hours of old statistics: their days stay. A day later than readers do without them. Gives how many rows. */
export async function dropOldHours(pool: Pool): Promise<number> {
  return (await deleteOfAll(pool, oldHours, hoursKeptDays + 1)) + (await deleteOfAll(pool, oldAuditHours, hoursKeptDays + 1))
}

const expiredRows = (table: string, id: string) => `
DELETE FROM ${table} WHERE (tenant_id, ${id}) IN (SELECT t.tenant_id, r.${id} FROM unnest($1::text[]) AS t(tenant_id)
  CROSS JOIN LATERAL (SELECT ${id} FROM ${table} WHERE tenant_id = t.tenant_id AND ${id} < $2 ORDER BY ${id} LIMIT ${rowsOfEach}) r) AND ${id} < $2`

// From subject to subject by the key, which begins with it: no hour that stays is read.
const oldHours = `
WITH RECURSIVE subjects AS (
  SELECT t.tenant_id, (SELECT min(subject) FROM usage_counters u WHERE u.tenant_id = t.tenant_id) AS subject FROM unnest($1::text[]) AS t(tenant_id)
  UNION ALL SELECT s.tenant_id, (SELECT min(subject) FROM usage_counters u WHERE u.tenant_id = s.tenant_id AND u.subject > s.subject) FROM subjects s WHERE s.subject IS NOT NULL)
DELETE FROM usage_counters WHERE (tenant_id, subject, grain, bucket) IN (SELECT s.tenant_id, s.subject, 'hour', r.bucket FROM subjects s
  CROSS JOIN LATERAL (SELECT bucket FROM usage_counters u WHERE u.tenant_id = s.tenant_id AND u.subject = s.subject AND u.grain = 'hour'
    AND u.bucket < date_trunc('day', now(), 'UTC') - make_interval(days => $2) ORDER BY bucket LIMIT ${rowsOfEach}) r)`

const oldAuditHours = `
DELETE FROM audit_counters WHERE (tenant_id, grain, bucket, audit_type, action) IN (SELECT t.tenant_id, r.grain, r.bucket, r.audit_type, r.action
  FROM unnest($1::text[]) AS t(tenant_id) CROSS JOIN LATERAL (SELECT * FROM audit_counters c WHERE c.tenant_id = t.tenant_id AND c.grain = 'hour'
    AND c.bucket < date_trunc('day', now(), 'UTC') - make_interval(days => $2) ORDER BY bucket LIMIT ${rowsOfEach}) r)`

/** Of all tenants, so many at a time, each by its own key: a batch holds its locks for moments, and reads nothing but what goes. */
async function deleteOfAll(pool: Pool, statement: string, bound: string | number): Promise<number> {
  let deleted = 0
  for (let after = ''; ; ) {
    const { rows } = await pool.query<{ tenant_id: string }>(
      `SELECT tenant_id FROM tenants WHERE tenant_id > $1 ORDER BY tenant_id LIMIT ${tenantsAtOnce}`,
      [after],
    )
    const tenants = rows.map(({ tenant_id }) => tenant_id)
    for (let gone = 1; tenants.length > 0 && gone > 0; deleted += gone)
      gone = (await pool.query(statement, [tenants, bound])).rowCount ?? 0
    if (rows.length < tenantsAtOnce) return deleted
    after = tenants.at(-1)!
  }
}
