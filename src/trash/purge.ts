import { type Actor, systemActor } from '../auth/actor.js'
import { type AuditRow, fileAudit } from '../ledger/entry.js'
import type { Transaction } from '../ledger/ledger.js'

interface PurgedRow {
  file_id: string
  original_filename: string
  context_key: string
  size_bytes: bigint
}

/** Which files of a tenant's trash: by id, whatever their time; or those of a context whose time has come, the oldest first. */
type Which = { fileId: string; contextIds: readonly string[] | null } | { contextId: string; limit: number }

/**
 * Takes files out of the trash for good, under the tenant's lock: their reports, their bytes, and their blobs, which are due for the
 * sweep. Gives the audit entries that go with it. What is on hold stays, however it came here.
 */
export async function purge(tx: Transaction, actor: Actor, which: Which): Promise<AuditRow[]> {
  const chosen = 'fileId' in which ? byId : due
  const values = 'fileId' in which ? [which.fileId, which.contextIds] : [which.contextId, which.limit]
  const rows = await tx.$queryRawUnsafe<PurgedRow[]>(
    statement(chosen),
    actor.tenantId,
    actor.kind === 'api_key' ? actor.id : null,
    ...values,
  )
  return rows.map((row) => {
    const file = { fileId: row.file_id, originalFilename: row.original_filename, contextKey: row.context_key }
    return fileAudit(actor, 'deleted', file, { change: 'purged', size_bytes: Number(row.size_bytes) })
  })
}

export const purgeDue = (tx: Transaction, tenantId: string, which: { contextId: string; limit: number }): Promise<AuditRow[]> =>
  purge(tx, systemActor(tenantId), which)

const byId = 't.file_id = $3 AND ($4::text[] IS NULL OR t.context_id = ANY ($4))'

// By the policy as it is now, and by the database's clock at the transaction's beginning: never early.
const due = `t.file_id IN (SELECT d.file_id FROM trash d JOIN file_contexts p ON p.tenant_id = $1 AND p.context_id = d.context_id
  WHERE d.tenant_id = $1 AND d.context_id = $3 AND d.deleted_at <= now() - make_interval(days => p.trash_days)
    AND NOT EXISTS (SELECT FROM holds h WHERE h.tenant_id = $1 AND h.file_id = d.file_id)
  ORDER BY d.deleted_at LIMIT $4)`

const statement = (chosen: string) => `
WITH gone AS (DELETE FROM trash t WHERE t.tenant_id = $1 AND ${chosen}
    AND NOT EXISTS (SELECT FROM holds h WHERE h.tenant_id = $1 AND h.file_id = t.file_id) RETURNING t.file_id, t.context_id, t.original_filename, t.size_bytes, t.blob_path),
reports AS (DELETE FROM validation_reports r USING gone g WHERE r.tenant_id = $1 AND r.file_id = g.file_id),
garbage AS (INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT $1, blob_path, now() FROM gone ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = now()),
freed AS (SELECT context_id, sum(size_bytes)::bigint AS bytes FROM gone GROUP BY context_id),
totals AS (UPDATE file_totals t SET bytes = t.bytes - f.bytes FROM freed f WHERE t.tenant_id = $1 AND t.context_id = f.context_id),
head AS (UPDATE tenant_heads h SET bytes = h.bytes - f.bytes FROM (SELECT sum(bytes)::bigint AS bytes FROM freed) f WHERE h.tenant_id = $1 AND f.bytes IS NOT NULL),
counted AS (INSERT INTO usage_deltas (tenant_id, api_key_id, context_id, hour, bytes_deleted) SELECT $1, $2, context_id, date_trunc('hour', now(), 'UTC'), bytes FROM freed)
SELECT g.file_id, g.original_filename, g.size_bytes, c.context_key FROM gone g JOIN file_contexts c ON c.tenant_id = $1 AND c.context_id = g.context_id ORDER BY g.file_id`
