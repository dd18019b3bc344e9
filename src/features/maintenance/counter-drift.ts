import type { ClientBase } from 'pg'
import { callColumns, currentUsage, getHourlyRetentionStart, usageColumns } from '../../ledger/counters.js'
import { foldLockSpace } from '../../ledger/fold.js'
import { getCurrentTime } from '../../platform/clock.js'
import { readOnlySnapshot, runInTransaction } from '../../platform/db/queries.js'

/** Start times of the retained logs. Earlier rows were deleted, so they cannot be recounted. */
export interface Horizons {
  callsSince: Date | null
  auditsSince?: Date | null
}

/** A counter table, and the query that recomputes its values. The statement parameter $1 is the tenant ID. */
export interface Counter {
  table: string
  /** Key columns besides `tenant_id`. */
  keys: readonly string[]
  columns: readonly string[]
  /** SQL query that returns the key columns and the correct values of the counter columns. */
  correct: string
  /** SQL condition that selects the stored counters to compare. Default: all counters of the tenant. */
  within?: string
  /** Time from which rows are counted, passed as parameter $2. */
  since?: (horizons: Horizons) => Date
  /** SQL expression for the description of the counter in the repair report. */
  description: string
  /**
   * True if the counter only speeds up paging. Differences are not errors, because such a counter does not include rows that
   * earlier versions wrote.
   */
  isOptional?: true
}

const getHourlyCountersStart = () => getHourlyRetentionStart(getCurrentTime())
const getFirstCountedCallTime = ({ callsSince }: Horizons) =>
  new Date(Math.max(callsSince?.getTime() ?? 0, getHourlyCountersStart().getTime()))
const getFirstCountedAuditTime = ({ auditsSince }: Horizons) => auditsSince ?? new Date(0)

/** Stored and trashed files. Trashed files count towards the used bytes, but not towards the number of files. */
const heldFiles = `(SELECT context_id, 1 AS files, size_bytes FROM files WHERE tenant_id = $1
  UNION ALL SELECT context_id, 0, size_bytes FROM trash WHERE tenant_id = $1) f`
const heldSums = 'coalesce(sum(files), 0) AS files, coalesce(sum(size_bytes), 0)::bigint AS bytes'

const buildSumColumnsSql = (columns: readonly string[]) =>
  columns.map((column) => `sum(${column})::bigint AS ${column}`).join(', ')
const countCallColumns = callColumns.map((column) => {
  const [operation, status] = column.split('_')
  return `count(*) FILTER (WHERE operation = '${operation}' AND status = '${status}') AS ${column}`
})

const period = `CASE WHEN grain = 'total' THEN grain ELSE grain || ' of ' || to_char(bucket AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') END`
const usage = {
  table: 'usage_counters',
  keys: ['subject', 'grain', 'bucket'],
  description: `${period} || ', ' || coalesce(nullif(subject, ''), 'the tenant')`,
}
const audits = {
  table: 'audit_counters',
  keys: ['audit_type', 'action', 'grain', 'bucket'],
  columns: ['entries'],
  description: `'audit entries, ' || ${period} || ', ' || audit_type || ' ' || action || ': ' || entries`,
}
const toAuditCounter = (grain: 'hour' | 'day'): Counter => ({
  ...audits,
  correct: `SELECT audit_type, action, '${grain}' AS grain, date_trunc('${grain}', created_at, 'UTC') AS bucket, count(*) AS entries
    FROM audit_logs WHERE tenant_id = $1 AND created_at >= $2 GROUP BY 1, 2, 4`,
  within: `grain = '${grain}' AND bucket >= $2`,
  since: getFirstCountedAuditTime,
})

/** All counters in the order in which they are repaired: daily sums and totals come after the counters that they add up. */
const counters: readonly Counter[] = [
  {
    table: 'file_totals',
    keys: ['context_id'],
    columns: ['files', 'bytes'],
    correct: `SELECT context_id, ${heldSums} FROM ${heldFiles} GROUP BY context_id`,
    description: `'held by ' || context_id || ': ' || files || ' files, ' || bytes || ' bytes'`,
  },
  {
    table: 'tenant_heads',
    keys: [],
    columns: ['files', 'bytes'],
    correct: `SELECT ${heldSums} FROM ${heldFiles}`,
    description: `'held by the tenant: ' || files || ' files, ' || bytes || ' bytes'`,
  },
  {
    table: 'file_groups',
    keys: ['context_id', 'uploaded_by', 'content_type'],
    columns: ['files'],
    correct: 'SELECT context_id, uploaded_by, content_type, count(*) AS files FROM files WHERE tenant_id = $1 GROUP BY 1, 2, 3',
    description: `'files of ' || uploaded_by || ' in ' || context_id || ', ' || content_type || ': ' || files`,
  },
  {
    // Subtracts calls that have not been folded into the counters yet. Context counters are not compared, because call log rows
    // do not contain the context.
    ...usage,
    columns: callColumns,
    correct: `SELECT subject, 'hour' AS grain, bucket, ${buildSumColumnsSql(callColumns)} FROM (
        SELECT coalesce(api_key_id, '') AS subject, date_trunc('hour', created_at, 'UTC') AS bucket, ${countCallColumns.join(', ')}
        FROM call_logs WHERE tenant_id = $1 AND created_at >= $2 GROUP BY 2, GROUPING SETS ((api_key_id), ())
        UNION ALL SELECT s.subject, hour, ${callColumns.map((column) => `-${column}`).join(', ')}
        FROM usage_deltas CROSS JOIN LATERAL (VALUES (''), (api_key_id)) AS s(subject)
        WHERE tenant_id = $1 AND hour >= $2 AND s.subject IS NOT NULL) calls
      GROUP BY subject, bucket`,
    within: `grain = 'hour' AND bucket >= $2 AND subject NOT LIKE 'ctx_%'`,
    since: getFirstCountedCallTime,
  },
  {
    // Skips days whose hourly counters were deleted, because their sums cannot be recomputed.
    ...usage,
    columns: usageColumns,
    correct: `SELECT subject, 'day' AS grain, date_trunc('day', bucket, 'UTC') AS bucket, ${buildSumColumnsSql(usageColumns)} FROM usage_counters
      WHERE tenant_id = $1 AND grain = 'hour' AND bucket >= $2 GROUP BY 1, 3`,
    within: `grain = 'day' AND bucket >= $2`,
    since: getHourlyCountersStart,
  },
  {
    ...usage,
    columns: usageColumns,
    correct: `SELECT subject, 'total' AS grain, to_timestamp(0) AS bucket, ${buildSumColumnsSql(usageColumns)} FROM usage_counters
      WHERE tenant_id = $1 AND grain = 'day' GROUP BY 1`,
    within: `grain = 'total'`,
  },
  { ...toAuditCounter('hour'), isOptional: true },
  toAuditCounter('day'),
  {
    ...audits,
    correct: `SELECT audit_type, action, 'total' AS grain, to_timestamp(0) AS bucket, sum(entries)::bigint AS entries
      FROM audit_counters WHERE tenant_id = $1 AND grain = 'day' GROUP BY 1, 2`,
    within: `grain = 'total'`,
  },
]

/** Returns SQL for the correct values of all stored counters that are wrong. */
function buildDifferencesSql({ table, keys, columns, correct, within = 'true' }: Counter): string {
  const differs = columns.map((column) => `coalesce(c.${column}, 0) <> coalesce(k.${column}, 0)`).join(' OR ')
  return `SELECT ${[...keys, ...columns.map((column) => `coalesce(c.${column}, 0) AS ${column}`)].join(', ')}
    FROM (SELECT $1::text AS tenant_id, * FROM (${correct}) c) c
    FULL JOIN (SELECT * FROM ${table} WHERE tenant_id = $1 AND ${within}) k USING (${['tenant_id', ...keys].join(', ')}) WHERE ${differs}`
}

const getStatementValues = (tenantId: string, { since }: Counter, horizons: Horizons): unknown[] =>
  since ? [tenantId, since(horizons)] : [tenantId]

/** SQL for the difference between the stored files or bytes and the counters' uploads minus deletions. */
const uploadGap = `SELECT files, bytes FROM (
  SELECT h.files - coalesce(sum(files_uploaded - files_deleted), 0) AS files, h.bytes - coalesce(sum(bytes_uploaded - bytes_deleted), 0) AS bytes
  FROM tenant_heads h LEFT JOIN ${currentUsage} u ON u.tenant_id = $1 AND u.subject = '' AND u.grain = 'total'
  WHERE h.tenant_id = $1 GROUP BY h.files, h.bytes) gap WHERE files <> 0 OR bytes <> 0`

const quarantineDifferences = `SELECT 1 FROM (SELECT file_id FROM files WHERE quarantined_at IS NOT NULL AND tenant_id = $1) f
  FULL JOIN (SELECT file_id FROM quarantine WHERE tenant_id = $1) q USING (file_id) WHERE f.file_id IS NULL OR q.file_id IS NULL`

// All tenants, including deleted ones that still have rows.
const tenantsWithRows = ['tenant_heads', 'files', 'trash', 'file_totals', 'usage_counters', 'audit_counters']
  .map((table) => `SELECT tenant_id FROM ${table}`)
  .join(' UNION ')

/**
 * Returns the number of wrong counters of one tenant or, if `tenantId` is null, of all tenants. Reads each tenant in a snapshot.
 */
export async function countCounterErrors(
  client: ClientBase,
  { tenantId, ...horizons }: Horizons & { tenantId: string | null },
): Promise<number> {
  if (tenantId !== null) return countTenantErrors(client, tenantId, horizons)
  const { rows } = await client.query<{ tenant_id: string }>(tenantsWithRows)
  let drift = 0
  for (const row of rows) drift += await countTenantErrors(client, row.tenant_id, horizons)
  return drift
}

async function countTenantErrors(client: ClientBase, tenantId: string, horizons: Horizons): Promise<number> {
  let drift = 0
  const countRows = async (differencesSql: string, values: unknown[]) => {
    const { rows } = await client.query<{ drift: number }>(`SELECT count(*)::int AS drift FROM (${differencesSql}) d`, values)
    drift += rows[0]!.drift
  }
  const countAllDifferences = async () => {
    for (const counter of counters)
      if (!counter.isOptional) await countRows(buildDifferencesSql(counter), getStatementValues(tenantId, counter, horizons))
    await countRows(quarantineDifferences, [tenantId])
    await countRows(uploadGap, [tenantId])
  }
  await runInTransaction(client, countAllDifferences, readOnlySnapshot)
  return drift
}

export interface Repair {
  tenantId: string
  what: string
}

/**
 * Corrects wrong counters, in one transaction per tenant. The transaction holds the tenant's lock and fold lock, so the tenant's
 * uploads wait.
 */
export async function repairCounters(client: ClientBase, horizons: Horizons): Promise<Repair[]> {
  const repairs: Repair[] = []
  const { rows: tenants } = await client.query<{ tenant_id: string }>('SELECT tenant_id FROM tenants ORDER BY tenant_id')
  for (const { tenant_id: tenantId } of tenants)
    if ((await countCounterErrors(client, { tenantId, ...horizons })) > 0)
      repairs.push(...(await repairTenant(client, tenantId, horizons)))
  return repairs
}

async function repairTenant(client: ClientBase, tenantId: string, horizons: Horizons): Promise<Repair[]> {
  const repairs: Repair[] = []
  const runRepair = async (statement: string, values: unknown[]) => {
    const { rows } = await client.query<{ what: string }>(statement, values)
    repairs.push(...rows.map(({ what }) => ({ tenantId, what })))
  }
  await runInTransaction(client, async () => {
    await client.query('SELECT pg_advisory_xact_lock($2, hashtext($1))', [tenantId, foldLockSpace])
    await client.query('SELECT 1 FROM tenant_heads WHERE tenant_id = $1 FOR UPDATE', [tenantId])
    // Each repair is a single statement, because calls and their counters change together and must be read in one snapshot.
    for (const counter of counters) await runRepair(buildRepairSql(counter), getStatementValues(tenantId, counter, horizons))
    await runRepair(uploadsRepair, [tenantId])
  })
  return repairs
}

function buildRepairSql(counter: Counter): string {
  const { table, keys, columns, description } = counter
  return `INSERT INTO ${table} AS counter (${['tenant_id', ...keys, ...columns].join(', ')})
    SELECT $1, ${[...keys, ...columns].join(', ')} FROM (${buildDifferencesSql(counter)}) d
    ON CONFLICT (${['tenant_id', ...keys].join(', ')}) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}
    RETURNING ${description} AS what`
}

// It is unknown when the counters became wrong, so the difference is added to the current hour.
const uploadsRepair = `
INSERT INTO usage_deltas (tenant_id, hour, files_uploaded, files_deleted, bytes_uploaded, bytes_deleted)
SELECT $1, date_trunc('hour', now(), 'UTC'), greatest(files, 0), greatest(-files, 0), greatest(bytes, 0), greatest(-bytes, 0)
FROM (${uploadGap}) gap
RETURNING 'files that came and went: ' || (files_uploaded - files_deleted) || ' files, ' || (bytes_uploaded - bytes_deleted) || ' bytes' AS what`
