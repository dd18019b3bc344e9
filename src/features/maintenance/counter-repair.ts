import type { ClientBase } from 'pg'
import { getStartOfStoredHours, type UsageColumn, usageColumns } from '../../ledger/counters.js'
import { foldLockSpace } from '../../ledger/fold.js'
import { getCurrentTime } from '../../platform/clock.js'
import { inTransactionOn } from '../../platform/db/transaction.js'
import { callColumns, countCounterErrors, heldFiles, loggedCalls } from './counter-drift.js'

interface Horizons {
  callsSince: Date | null
  auditsSince: Date | null
}

/** A corrected counter with its description. */
export interface Repair {
  tenantId: string
  what: string
}

/**
 * Corrects the differences that `countCounterErrors` finds, in one transaction per tenant. Uploads and changes of the tenant wait,
 * because the transaction holds the tenant's lock and fold lock. Counters of rows that no longer exist, such as deleted files,
 * are adjusted to agree with the remaining counters.
 */
export async function repairCounters(client: ClientBase, horizons: Horizons): Promise<Repair[]> {
  const repairs: Repair[] = []
  const { rows: tenants } = await client.query<{ tenant_id: string }>('SELECT tenant_id FROM tenants ORDER BY tenant_id')
  for (const { tenant_id: tenantId } of tenants) {
    if ((await countCounterErrors(client, { tenantId, ...horizons })) === 0) continue
    const changed = await repairTenant(client, tenantId, horizons)
    repairs.push(...changed.map((what) => ({ tenantId, what })))
  }
  return repairs
}

async function repairTenant(client: ClientBase, tenantId: string, { callsSince, auditsSince }: Horizons): Promise<string[]> {
  const since = getStartOfStoredHours(getCurrentTime())
  const calls = callsSince && callsSince > since ? callsSince : since
  const changed: string[] = []
  const repair = async (statement: string, ...values: unknown[]) => {
    const { rows } = await client.query<{ what: string }>(statement, [tenantId, ...values])
    changed.push(...rows.map(({ what }) => what))
  }
  await inTransactionOn(client, async () => {
    await client.query('SELECT pg_advisory_xact_lock($2, hashtext($1))', [tenantId, foldLockSpace])
    await client.query('SELECT 1 FROM tenant_heads WHERE tenant_id = $1 FOR UPDATE', [tenantId])
    // Each repair is a single statement, because calls and their counters change together and must be read in one snapshot.
    await repair(heldByContexts)
    await repair(heldByTenant)
    await repair(groups)
    await repair(hours, calls)
    await repair(days, since)
    await repair(sums)
    await repair(cameAndWent)
    await repair(auditHours, auditsSince ?? new Date(0))
    await repair(auditDays, auditsSince ?? new Date(0))
    await repair(auditSums)
  })
  return changed
}

const heldByContexts = `
WITH counted AS (SELECT context_id, sum(files) AS files, sum(size_bytes)::bigint AS bytes FROM ${heldFiles} f WHERE tenant_id = $1 GROUP BY context_id)
INSERT INTO file_totals AS t (tenant_id, context_id, files, bytes)
SELECT $1, context_id, coalesce(c.files, 0), coalesce(c.bytes, 0) FROM counted c FULL JOIN (SELECT * FROM file_totals WHERE tenant_id = $1) k USING (context_id)
WHERE coalesce(c.files, 0) <> coalesce(k.files, 0) OR coalesce(c.bytes, 0) <> coalesce(k.bytes, 0)
ON CONFLICT (tenant_id, context_id) DO UPDATE SET files = excluded.files, bytes = excluded.bytes
RETURNING 'held by ' || context_id || ': ' || files || ' files, ' || bytes || ' bytes' AS what`

const heldByTenant = `
UPDATE tenant_heads h SET files = c.files, bytes = c.bytes FROM (SELECT coalesce(sum(files), 0) AS files, coalesce(sum(size_bytes), 0)::bigint AS bytes FROM ${heldFiles} f WHERE tenant_id = $1) c
WHERE h.tenant_id = $1 AND (h.files <> c.files OR h.bytes <> c.bytes)
RETURNING 'held by the tenant: ' || h.files || ' files, ' || h.bytes || ' bytes' AS what`

const groups = `
WITH counted AS (SELECT context_id, uploaded_by, content_type, count(*) AS files FROM files WHERE tenant_id = $1 GROUP BY 1, 2, 3)
INSERT INTO file_groups AS g (tenant_id, context_id, uploaded_by, content_type, files)
SELECT $1, context_id, uploaded_by, content_type, coalesce(c.files, 0)
FROM counted c FULL JOIN (SELECT * FROM file_groups WHERE tenant_id = $1) k USING (context_id, uploaded_by, content_type)
WHERE coalesce(c.files, 0) <> coalesce(k.files, 0)
ON CONFLICT (tenant_id, context_id, uploaded_by, content_type) DO UPDATE SET files = excluded.files
RETURNING 'files of ' || uploaded_by || ' in ' || context_id || ', ' || content_type || ': ' || files AS what`

const buildSumsSql = (columns: readonly UsageColumn[]) =>
  columns.map((column) => `sum(${column})::bigint AS ${column}`).join(', ')

/** Returns SQL that replaces the counters of a grain that differ from the query `sound`, among the rows that match `within`. */
const buildUsageRepairSql = (
  grain: 'hour' | 'day' | 'total',
  columns: readonly UsageColumn[],
  { sound, within }: { sound: string; within: string },
) => `
WITH sound AS (${sound})
INSERT INTO usage_counters AS u (tenant_id, subject, grain, bucket, ${columns.join(', ')})
SELECT $1, subject, '${grain}', bucket, ${columns.map((column) => `coalesce(s.${column}, 0)`).join(', ')}
FROM sound s FULL JOIN (SELECT * FROM usage_counters WHERE tenant_id = $1 AND grain = '${grain}' AND ${within}) k USING (subject, bucket)
WHERE ${columns.map((column) => `coalesce(s.${column}, 0) <> coalesce(k.${column}, 0)`).join(' OR ')}
ON CONFLICT (tenant_id, subject, grain, bucket) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}
RETURNING '${grain}' || CASE WHEN grain = 'total' THEN '' ELSE ' of ' || to_char(bucket AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') END || ', ' || coalesce(nullif(subject, ''), 'the tenant') AS what`

// Counts logged calls, except for calls that have not been folded yet. The counters of contexts stay unchanged, because log rows
// do not contain the context.
const hours = buildUsageRepairSql('hour', callColumns, {
  sound: `SELECT subject, bucket, ${callColumns.map((column) => `(coalesce(l.${column}, 0) - coalesce(d.${column}, 0)) AS ${column}`).join(', ')}
    FROM ${loggedCalls} l FULL JOIN (
      SELECT s.subject, d.hour AS bucket, ${callColumns.map((column) => `sum(d.${column})::bigint AS ${column}`).join(', ')}
      FROM usage_deltas d CROSS JOIN LATERAL (VALUES (''), (d.api_key_id)) AS s(subject)
      WHERE d.tenant_id = $1 AND d.hour >= $2 AND s.subject IS NOT NULL GROUP BY 1, 2) d USING (subject, bucket)`,
  within: `bucket >= $2 AND subject NOT LIKE 'ctx_%'`,
})

const days = buildUsageRepairSql('day', usageColumns, {
  sound: `SELECT subject, date_trunc('day', bucket, 'UTC') AS bucket, ${buildSumsSql(usageColumns)} FROM usage_counters
    WHERE tenant_id = $1 AND grain = 'hour' AND bucket >= $2 GROUP BY 1, 2`,
  within: 'bucket >= $2',
})

const sums = buildUsageRepairSql('total', usageColumns, {
  sound: `SELECT subject, to_timestamp(0) AS bucket, ${buildSumsSql(usageColumns)} FROM usage_counters WHERE tenant_id = $1 AND grain = 'day' GROUP BY 1`,
  within: 'true',
})

// The time at which the difference arose is unknown, so it is added to the current hour.
const cameAndWent = `
WITH counted AS (SELECT coalesce(sum(files_uploaded - files_deleted), 0) AS files, coalesce(sum(bytes_uploaded - bytes_deleted), 0) AS bytes FROM (
  SELECT files_uploaded, files_deleted, bytes_uploaded, bytes_deleted FROM usage_counters WHERE tenant_id = $1 AND subject = '' AND grain = 'total'
  UNION ALL SELECT coalesce(files_uploaded, 0), coalesce(files_deleted, 0), coalesce(bytes_uploaded, 0), coalesce(bytes_deleted, 0) FROM usage_deltas WHERE tenant_id = $1) u),
gap AS (SELECT h.files - c.files AS files, h.bytes - c.bytes AS bytes FROM tenant_heads h, counted c WHERE h.tenant_id = $1)
INSERT INTO usage_deltas (tenant_id, hour, files_uploaded, files_deleted, bytes_uploaded, bytes_deleted)
SELECT $1, date_trunc('hour', now(), 'UTC'), greatest(files, 0), greatest(-files, 0), greatest(bytes, 0), greatest(-bytes, 0) FROM gap WHERE files <> 0 OR bytes <> 0
RETURNING 'files that came and went: ' || (files_uploaded - files_deleted) || ' files, ' || (bytes_uploaded - bytes_deleted) || ' bytes' AS what`

const buildAuditRepairSql = (grain: 'hour' | 'day' | 'total', { sound, within }: { sound: string; within: string }) => `
WITH sound AS (${sound})
INSERT INTO audit_counters AS c (tenant_id, audit_type, action, grain, bucket, entries)
SELECT $1, audit_type, action, '${grain}', bucket, coalesce(s.entries, 0)
FROM sound s FULL JOIN (SELECT * FROM audit_counters WHERE tenant_id = $1 AND grain = '${grain}' AND ${within}) k USING (audit_type, action, bucket)
WHERE coalesce(s.entries, 0) <> coalesce(k.entries, 0)
ON CONFLICT (tenant_id, grain, bucket, audit_type, action) DO UPDATE SET entries = excluded.entries
RETURNING 'audit entries, ${grain}' || CASE WHEN grain = 'total' THEN '' ELSE ' of ' || to_char(bucket AT TIME ZONE 'UTC', '${grain === 'hour' ? 'YYYY-MM-DD HH24:MI' : 'YYYY-MM-DD'}') END || ', ' || audit_type || ' ' || action || ': ' || entries AS what`

const buildAuditRecountSql = (grain: 'hour' | 'day') =>
  buildAuditRepairSql(grain, {
    sound: `SELECT audit_type, action, date_trunc('${grain}', created_at, 'UTC') AS bucket, count(*) AS entries FROM audit_logs WHERE tenant_id = $1 AND created_at >= $2 GROUP BY 1, 2, 3`,
    within: 'bucket >= $2',
  })
const [auditHours, auditDays] = [buildAuditRecountSql('hour'), buildAuditRecountSql('day')]

const auditSums = buildAuditRepairSql('total', {
  sound: `SELECT audit_type, action, to_timestamp(0) AS bucket, sum(entries)::bigint AS entries FROM audit_counters WHERE tenant_id = $1 AND grain = 'day' GROUP BY 1, 2`,
  within: 'true',
})
