import type { ClientBase } from 'pg'
import { currentUsage, getStartOfStoredHours, usageColumns } from '../../ledger/counters.js'
import { getCurrentTime } from '../../platform/clock.js'
import { inTransactionOn, readOnlySnapshot } from '../../platform/db/transaction.js'

interface Horizons {
  callsSince: Date | null
  auditsSince?: Date | null
}

/**
 * Returns the number of counters that differ from a recount of their rows, for one tenant or, if `tenantId` is null, for all
 * tenants. Rows before `callsSince` and `auditsSince` are not recounted, because the service has deleted them. Each tenant is
 * read in its own snapshot, because no counter includes rows of several tenants.
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

// Includes rows that remained after the deletion of their tenant.
const tenantsWithRows = ['tenant_heads', 'files', 'trash', 'file_totals', 'usage_counters', 'audit_counters']
  .map((table) => `SELECT tenant_id FROM ${table}`)
  .join(' UNION ')

async function countTenantErrors(
  client: ClientBase,
  tenantId: string,
  { callsSince, auditsSince = null }: Horizons,
): Promise<number> {
  let drift = 0
  const count = async (statement: string, values: unknown[]) => {
    drift += Number((await client.query<{ drift: number }>(statement, values)).rows[0]!.drift)
  }
  const since = getStartOfStoredHours(getCurrentTime())
  const countAll = async () => {
    await count(filesStatement, [tenantId])
    await count(groupsStatement, [tenantId])
    await count(quarantineStatement, [tenantId])
    await count(uploadsStatement, [tenantId])
    await count(sumsStatement, [tenantId, since])
    await count(callsStatement, [tenantId, callsSince && callsSince > since ? callsSince : since])
    await count(auditStatement, [tenantId, auditsSince ?? new Date(0)])
    await count(auditSumsStatement, [tenantId])
  }
  await inTransactionOn(client, countAll, readOnlySnapshot)
  return drift
}

/** SQL for stored and trashed files. Trashed files count only towards the used bytes. */
export const heldFiles = `(SELECT tenant_id, context_id, 1 AS files, size_bytes FROM files
  UNION ALL SELECT tenant_id, context_id, 0, size_bytes FROM trash)`

const filesStatement = `
WITH counted AS (
  SELECT tenant_id, coalesce(context_id, '') AS context_id, sum(files) AS files, sum(size_bytes) AS bytes
  FROM ${heldFiles} f WHERE tenant_id = $1 GROUP BY tenant_id, ROLLUP (context_id)),
kept AS (SELECT * FROM (SELECT * FROM file_totals UNION ALL SELECT tenant_id, '', files, bytes FROM tenant_heads) t
  WHERE tenant_id = $1)
SELECT count(*) AS drift FROM counted c FULL JOIN kept k USING (tenant_id, context_id)
WHERE coalesce(c.files, 0) <> coalesce(k.files, 0) OR coalesce(c.bytes, 0) <> coalesce(k.bytes, 0)`

// Compares the number of files per context, uploader and content type with the counters in `file_groups`.
const groupsStatement = `
SELECT count(*) AS drift FROM (
  SELECT tenant_id, context_id, uploaded_by, content_type, count(*) AS files FROM files WHERE tenant_id = $1 GROUP BY 1, 2, 3, 4) c
FULL JOIN (SELECT * FROM file_groups WHERE tenant_id = $1) k USING (tenant_id, context_id, uploaded_by, content_type)
WHERE coalesce(c.files, 0) <> coalesce(k.files, 0)`

// Compares `files.quarantined_at` with the rows of `quarantine`.
const quarantineStatement = `
SELECT count(*) AS drift FROM (SELECT tenant_id, file_id FROM files WHERE quarantined_at IS NOT NULL AND tenant_id = $1) f
FULL JOIN (SELECT tenant_id, file_id FROM quarantine WHERE tenant_id = $1) q USING (tenant_id, file_id)
WHERE f.tenant_id IS NULL OR q.tenant_id IS NULL`

// The number of uploaded files minus the number of deleted files must equal the number of stored files.
const uploadsStatement = `
SELECT count(*) AS drift FROM tenant_heads t LEFT JOIN (
  SELECT tenant_id, sum(files_uploaded - files_deleted) AS files, sum(bytes_uploaded - bytes_deleted) AS bytes FROM ${currentUsage} u
  WHERE subject = '' AND grain = 'total' AND tenant_id = $1 GROUP BY tenant_id) u USING (tenant_id)
WHERE t.tenant_id = $1 AND (coalesce(u.files, 0) <> t.files OR coalesce(u.bytes, 0) <> t.bytes)`

// Each column has a different weight, so that errors in several columns do not cancel each other out.
const all = usageColumns.map((column, place) => `${column} * ${2 * place + 3}`).join(' + ')

// The hourly counters of a day must add up to its daily counter, and the daily counters to the total. Days without hourly
// counters are not checked.
const sumsStatement = `
SELECT count(*) AS drift FROM (
  SELECT 1 FROM usage_counters WHERE grain IN ('hour', 'day') AND bucket >= $2 AND tenant_id = $1 GROUP BY tenant_id, subject, date_trunc('day', bucket, 'UTC')
  HAVING sum(${all}) FILTER (WHERE grain = 'hour') IS DISTINCT FROM sum(${all}) FILTER (WHERE grain = 'day')
  UNION ALL
  SELECT 1 FROM usage_counters WHERE grain IN ('day', 'total') AND tenant_id = $1 GROUP BY tenant_id, subject
  HAVING sum(${all}) FILTER (WHERE grain = 'day') IS DISTINCT FROM sum(${all}) FILTER (WHERE grain = 'total')) d`

/** Usage columns that count logged calls. */
export const callColumns = usageColumns.filter((column) => /_(success|failure)$/.test(column))
const counted = callColumns
  .map((column) => {
    const [operation, status] = column.split('_')
    return `count(*) FILTER (WHERE operation = '${operation}' AND status = '${status}') AS ${column}`
  })
  .join(', ')

/** SQL for the number of logged calls per hour from $2 on, for the tenant and for each API key. */
export const loggedCalls = `(SELECT tenant_id, coalesce(api_key_id, '') AS subject, date_trunc('hour', created_at, 'UTC') AS bucket, ${counted}
  FROM call_logs WHERE tenant_id = $1 AND created_at >= $2
  GROUP BY tenant_id, date_trunc('hour', created_at, 'UTC'), GROUPING SETS ((api_key_id), ()))`

const callsStatement = `
WITH kept AS (SELECT tenant_id, subject, bucket, ${callColumns.map((column) => `sum(${column}) AS ${column}`).join(', ')} FROM ${currentUsage} u
  WHERE grain = 'hour' AND bucket >= $2 AND subject NOT LIKE 'ctx_%' AND tenant_id = $1 GROUP BY 1, 2, 3)
SELECT count(*) AS drift FROM ${loggedCalls} r FULL JOIN kept k USING (tenant_id, subject, bucket)
WHERE ${callColumns.map((column) => `coalesce(r.${column}, 0) <> coalesce(k.${column}, 0)`).join(' OR ')}`

const auditStatement = `
WITH counted AS (
  SELECT tenant_id, audit_type, action, date_trunc('day', created_at, 'UTC') AS bucket, count(*) AS entries
  FROM audit_logs WHERE tenant_id = $1 AND created_at >= $2 GROUP BY 1, 2, 3, 4),
kept AS (SELECT * FROM audit_counters WHERE grain = 'day' AND bucket >= $2 AND tenant_id = $1)
SELECT count(*) AS drift FROM counted c FULL JOIN kept k USING (tenant_id, audit_type, action, bucket)
WHERE coalesce(c.entries, 0) <> coalesce(k.entries, 0)`

const auditSumsStatement = `
SELECT count(*) AS drift FROM (
  SELECT tenant_id FROM audit_counters WHERE tenant_id = $1 GROUP BY tenant_id, audit_type, action
  HAVING sum(entries) FILTER (WHERE grain = 'day') IS DISTINCT FROM sum(entries) FILTER (WHERE grain = 'total')) d`
