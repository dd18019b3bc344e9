import type { Actor } from '../platform/actor.js'
import { type AuditRow, createFileAuditRow } from './entry.js'
import type { Transaction } from './ledger.js'

interface RemovedRow {
  file_id: string
  original_filename: string
  context_key: string
  size_bytes: bigint
}

/**
 * Selects rows of a table by an SQL condition, which refers to the table as `t` and to `values` as the parameters `$3` and `$4`.
 */
export interface FileSelection {
  table: keyof typeof sources
  where: string
  values: readonly unknown[]
}

/**
 * Permanently deletes files that are not on hold, under the tenant's lock. The sweep deletes their blobs later. Returns the audit
 * log entries.
 */
export async function removeFilesPermanently(
  tx: Transaction,
  actor: Actor,
  { table, where, values }: FileSelection,
): Promise<AuditRow[]> {
  const key = actor.kind === 'api_key' ? actor.id : null
  const rows = await tx.$queryRawUnsafe<RemovedRow[]>(createRemovalStatement(table, where), actor.tenantId, key, ...values)
  return rows.map((row) => {
    const file = { fileId: row.file_id, originalFilename: row.original_filename, contextKey: row.context_key }
    return createFileAuditRow(actor, 'deleted', file, { change: 'purged', size_bytes: Number(row.size_bytes) })
  })
}

// A file in the trash was already counted as deleted. Only its bytes must still be subtracted, because the trash counts as used
// storage.
const sources = {
  trash: { files: 0, others: '' },
  files: {
    files: 1,
    others: `${['quarantine', 'rescan_queue']
      .map((table) => `${table}_rows AS (DELETE FROM ${table} q USING gone g WHERE q.tenant_id = $1 AND q.file_id = g.file_id),`)
      .join('\n')}
grouped AS (UPDATE file_groups g SET files = g.files - n.files FROM (SELECT context_id, uploaded_by, content_type, count(*) AS files FROM gone GROUP BY 1, 2, 3) n
  WHERE g.tenant_id = $1 AND g.context_id = n.context_id AND g.uploaded_by = n.uploaded_by AND g.content_type = n.content_type),`,
  },
}

const createRemovalStatement = (table: keyof typeof sources, where: string) => `
WITH gone AS (DELETE FROM ${table} t WHERE t.tenant_id = $1 AND ${where}
    AND NOT EXISTS (SELECT FROM holds h WHERE h.tenant_id = $1 AND h.file_id = t.file_id) RETURNING t.file_id, t.context_id, t.uploaded_by, t.content_type, t.original_filename, t.size_bytes, t.blob_path),
${sources[table].others}
reports AS (DELETE FROM validation_reports r USING gone g WHERE r.tenant_id = $1 AND r.file_id = g.file_id),
garbage AS (INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT $1, blob_path, now() FROM gone ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = excluded.due_at),
freed AS (SELECT context_id, sum(size_bytes)::bigint AS bytes, count(*)::int * ${sources[table].files} AS files FROM gone GROUP BY context_id),
totals AS (UPDATE file_totals t SET files = t.files - f.files, bytes = t.bytes - f.bytes FROM freed f WHERE t.tenant_id = $1 AND t.context_id = f.context_id),
head AS (UPDATE tenant_heads h SET files = h.files - f.files, bytes = h.bytes - f.bytes
  FROM (SELECT sum(files)::int AS files, sum(bytes)::bigint AS bytes FROM freed) f WHERE h.tenant_id = $1 AND f.bytes IS NOT NULL),
counted AS (INSERT INTO usage_deltas (tenant_id, api_key_id, context_id, hour, files_deleted, bytes_deleted)
  SELECT $1, $2, context_id, date_trunc('hour', now(), 'UTC'), files, bytes FROM freed)
SELECT g.file_id, g.original_filename, g.size_bytes, c.context_key FROM gone g JOIN file_contexts c ON c.tenant_id = $1 AND c.context_id = g.context_id ORDER BY g.file_id`
