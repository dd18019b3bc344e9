import type { Pool } from 'pg'
import { storedHoursDays } from '../../ledger/counters.js'
import { dropPartitionsBefore } from '../../ledger/partitions.js'
import { now, startOfDay, startOfHour } from '../../platform/clock.js'
import { listTenantIds, loadState } from '../../platform/db/queries.js'
import { getFirstId } from '../../platform/ids.js'

const rowsAtOnce = 1_000

/**
 * Deletes expired log rows: drops the partitions of whole months, and deletes all other rows in batches. The statistics still
 * include these rows.
 */
export async function deleteExpiredLogs(pool: Pool, startTimes: LogStartTimes): Promise<{ partitions: string[]; rows: number }> {
  await startTimes.refresh()
  const [calls, audits] = [startTimes.calls(), startTimes.audits()]
  if (!calls && !audits) return { partitions: [], rows: 0 }
  await startTimes.saveStartTimes()
  const partitions = calls ? await dropPartitionsBefore(pool, calls) : []
  let rows = 0
  if (calls) rows += await deleteFromAllTenants(pool, buildDeleteExpiredSql('call_logs', 'call_id'), getFirstId('call', calls))
  if (audits) rows += await deleteFromAllTenants(pool, buildDeleteExpiredSql('audit_logs', 'audit_id'), getFirstId('aud', audits))
  return { partitions, rows }
}

/** Deletes hourly counters that queries can no longer need, with one extra day as a safety margin. Daily counters remain. */
export async function deleteOldHourlyCounters(pool: Pool): Promise<number> {
  const days = storedHoursDays + 1
  const usage = await deleteForAllTenants(pool, async (tenantId) => {
    const { rows } = await pool.query<{ subject: string; bucket: Date }>(oldHours, [tenantId, days])
    if (rows.length === 0) return 0
    const { rowCount } = await pool.query(
      `DELETE FROM usage_counters u USING unnest($2::text[], $3::timestamptz[]) AS old(subject, bucket)
       WHERE u.tenant_id = $1 AND u.subject = old.subject AND u.grain = 'hour' AND u.bucket = old.bucket`,
      [tenantId, rows.map(({ subject }) => subject), rows.map(({ bucket }) => bucket)],
    )
    return rowCount ?? 0
  })
  return usage + (await deleteFromAllTenants(pool, oldAuditHours, days))
}

const storedLinkDays = 90

export const deleteOldUploadLinks = (pool: Pool): Promise<number> => deleteFromAllTenants(pool, oldLinks, storedLinkDays)

const oldLinks = `
DELETE FROM upload_links WHERE tenant_id = $1 AND link_id IN (SELECT link_id FROM upload_links
  WHERE tenant_id = $1 AND expires_at < now() - make_interval(days => $2) LIMIT ${rowsAtOnce})`

const buildDeleteExpiredSql = (table: string, id: string) => `
DELETE FROM ${table} WHERE tenant_id = $1 AND ${id} < $2 AND ${id} IN (SELECT ${id} FROM ${table} WHERE tenant_id = $1 AND ${id} < $2 ORDER BY ${id} LIMIT ${rowsAtOnce})`

const beforeHours = `bucket < date_trunc('day', now(), 'UTC') - make_interval(days => $2)`

// The recursive query jumps from subject to subject, so that it reads only the hours to delete.
const oldHours = `
WITH RECURSIVE subjects AS (
  SELECT (SELECT min(subject) FROM usage_counters WHERE tenant_id = $1) AS subject
  UNION ALL SELECT (SELECT min(subject) FROM usage_counters u WHERE u.tenant_id = $1 AND u.subject > s.subject) FROM subjects s WHERE s.subject IS NOT NULL)
SELECT s.subject, r.bucket FROM subjects s CROSS JOIN LATERAL (
  SELECT bucket FROM usage_counters WHERE tenant_id = $1 AND subject = s.subject AND grain = 'hour' AND ${beforeHours} ORDER BY bucket LIMIT ${rowsAtOnce}) r
LIMIT ${rowsAtOnce}`

const oldAuditHours = `
DELETE FROM audit_counters c USING (SELECT bucket, audit_type, action FROM audit_counters WHERE tenant_id = $1 AND grain = 'hour' AND ${beforeHours} ORDER BY bucket LIMIT ${rowsAtOnce}) old
WHERE c.tenant_id = $1 AND c.grain = 'hour' AND c.bucket = old.bucket AND c.audit_type = old.audit_type AND c.action = old.action`

/** Deletes rows of all tenants in batches, so that each statement holds its locks briefly. */
const deleteFromAllTenants = (pool: Pool, statement: string, bound: string | number): Promise<number> =>
  deleteForAllTenants(pool, async (tenantId) => (await pool.query(statement, [tenantId, bound])).rowCount ?? 0)

/** Calls `deleteBatch` repeatedly for each tenant until it deletes nothing. Returns the total number of deleted rows. */
async function deleteForAllTenants(pool: Pool, deleteBatch: (tenantId: string) => Promise<number>): Promise<number> {
  let deleted = 0
  for await (const tenantId of listTenantIds(pool))
    for (let gone = 1; gone > 0; deleted += gone) gone = await deleteBatch(tenantId)
  return deleted
}

interface SavedStartTimes {
  calls: string | null
  audits: string | null
}

interface RetentionDays {
  calls: number | undefined
  audits: number | undefined
}

const stateKey = 'logs_dropped_until'

/**
 * Start times of the retained logs. They do not move back if a retention period is increased, because the earlier rows were
 * already deleted.
 */
export class LogStartTimes {
  #saved: SavedStartTimes = { calls: null, audits: null }

  private constructor(
    private readonly pool: Pool,
    private readonly days: RetentionDays,
  ) {}

  static async open(pool: Pool, days: RetentionDays): Promise<LogStartTimes> {
    const startTimes = new LogStartTimes(pool, days)
    await startTimes.refresh()
    return startTimes
  }

  /** Start time of the call log, rounded down to a full hour so that counters match the rows. Null means unlimited retention. */
  readonly calls = (): Date | null => getLaterTime(getRetentionStart(this.days.calls, startOfHour), this.#saved.calls)

  /** Start time of the audit log, rounded down to the start of a day. Null means unlimited retention. */
  readonly audits = (): Date | null => getLaterTime(getRetentionStart(this.days.audits, startOfDay), this.#saved.audits)

  async refresh(): Promise<void> {
    this.#saved = (await loadState<SavedStartTimes>(this.pool, stateKey)) ?? this.#saved
  }

  /** Saves the start times. Call this before deleting rows, so that no total includes deleted rows. */
  async saveStartTimes(): Promise<void> {
    const { rows } = await this.pool.query<{ value: SavedStartTimes }>(
      `INSERT INTO service_state AS s (key, value, updated_at) VALUES ($1, jsonb_build_object('calls', $2::text, 'audits', $3::text), now())
       ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at,
         value = jsonb_build_object('calls', greatest(s.value->>'calls', $2::text), 'audits', greatest(s.value->>'audits', $3::text)) RETURNING value`,
      [stateKey, this.calls()?.toISOString() ?? null, this.audits()?.toISOString() ?? null],
    )
    this.#saved = rows[0]!.value
  }
}

const getRetentionStart = (days: number | undefined, roundDown: (time: Date) => Date): Date | null =>
  days === undefined ? null : roundDown(new Date(now() - days * 86_400_000))

const getLaterTime = (a: Date | null, b: string | null): Date | null => {
  const other = b === null ? null : new Date(b)
  return !a ? other : !other || a > other ? a : other
}
