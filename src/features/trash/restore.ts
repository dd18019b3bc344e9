import { createSignaturesExpression } from '../../inspection/scanners/signatures.js'
import { type AuditRow, createFileAuditRow } from '../../ledger/entry.js'
import type { Transaction } from '../../ledger/ledger.js'
import type { Actor } from '../../platform/actor.js'
import { conflict, notFound } from '../../platform/errors/errors.js'

/**
 * SQL condition that is true if context `c` currently allows restoring trashed file `t`. Other trashed files are not listed and
 * cannot be restored, even before `ExpiryService` purges them.
 */
export const isRestorable = 'c.trash_days > 0 AND t.deleted_at > now() - make_interval(days => c.trash_days)'

interface TrashedRow {
  fileId: string
  originalFilename: string
  contextId: string
  contextKey: string
  status: string
}

export interface RestoreResult {
  context: { contextId: string; contextKey: string }
  audit: AuditRow[]
  /** True if the file is quarantined until it is scanned. */
  awaitsScan: boolean
}

/**
 * Restores a file under the tenant's lock. `signatures` are the scanner's newest signatures, or null if there is no scanner. A
 * file without a report for these signatures is quarantined until it is scanned. `isMoved` means that the store requires
 * quarantined objects to be moved.
 */
export async function restoreFile(
  tx: Transaction,
  actor: Actor,
  { fileId, signatures, isMoved }: { fileId: string; signatures: string | null; isMoved: boolean },
): Promise<RestoreResult> {
  const [file] = await tx.$queryRawUnsafe<TrashedRow[]>(
    `SELECT t.file_id AS "fileId", t.original_filename AS "originalFilename", t.context_id AS "contextId", c.context_key AS "contextKey", c.status
     FROM trash t JOIN file_contexts c ON c.tenant_id = t.tenant_id AND c.context_id = t.context_id
     WHERE t.tenant_id = $1 AND t.file_id = $2 AND ($3::text[] IS NULL OR t.context_id = ANY ($3)) AND ${isRestorable}`,
    actor.tenantId,
    fileId,
    actor.contexts,
  )
  if (!file) throw notFound('file', fileId)
  const { contextId, contextKey, status } = file
  if (status !== 'active')
    throw conflict(`Context '${contextKey}' is disabled. Enable the context, then restore the file.`, {
      context_key: contextKey,
      status,
    })
  const apiKeyId = actor.kind === 'api_key' ? actor.id : null
  const stale = await tx.$queryRawUnsafe<object[]>(statement, actor.tenantId, fileId, apiKeyId, signatures, isMoved)
  const audit = createFileAuditRow(actor, 'updated', file, { change: 'restored' })
  return { context: { contextId, contextKey }, audit: [audit], awaitsScan: stale.length > 0 }
}

// Trashed bytes still count, so only the file counts change. The statistics undo the deletion, so that uploads minus deletions
// equal the stored files. A quarantined file without viruses only waits for its scan. A scan that started before the deletion
// loses its lease, because it may have used older signatures.
const statement = `
WITH back AS (DELETE FROM trash WHERE tenant_id = $1 AND file_id = $2 RETURNING *),
stale AS (SELECT b.file_id, b.context_id, now() AS since FROM back b JOIN file_contexts c ON c.tenant_id = $1 AND c.context_id = b.context_id AND c.scan_for_viruses
  WHERE $4::text IS NOT NULL AND NOT EXISTS (SELECT FROM validation_reports r WHERE r.tenant_id = $1 AND r.file_id = $2 AND ${createSignaturesExpression('r.report')} = $4)),
held AS (INSERT INTO quarantine (tenant_id, file_id, context_id, quarantined_at, signatures, viruses, move_due_at)
  SELECT $1, file_id, context_id, since, $4, '[]', CASE WHEN $5 THEN since END FROM stale ON CONFLICT (tenant_id, file_id) DO NOTHING),
filed AS (INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, uploaded_by, uploaded_by_name,
    download_count, last_downloaded_at, created_at, updated_at, quarantined_at, traits)
  SELECT file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, uploaded_by, uploaded_by_name,
    download_count, last_downloaded_at, created_at, now(), coalesce(quarantined_at, (SELECT since FROM stale)),
    (SELECT report_traits(r.report) FROM validation_reports r WHERE r.tenant_id = $1 AND r.file_id = $2 ORDER BY r.validated_at DESC LIMIT 1) FROM back),
grouped AS (INSERT INTO file_groups AS g (tenant_id, context_id, uploaded_by, content_type, files) SELECT tenant_id, context_id, uploaded_by, content_type, 1 FROM back
  ON CONFLICT (tenant_id, context_id, uploaded_by, content_type) DO UPDATE SET files = g.files + 1),
totals AS (UPDATE file_totals t SET files = t.files + 1 FROM back b WHERE t.tenant_id = $1 AND t.context_id = b.context_id),
head AS (UPDATE tenant_heads SET files = files + 1 WHERE tenant_id = $1 AND EXISTS (SELECT FROM back)),
scan AS (INSERT INTO rescan_queue (tenant_id, file_id, context_id, leased_until) SELECT tenant_id, file_id, context_id, now() FROM back
  ON CONFLICT (tenant_id, file_id) DO UPDATE SET leased_until = excluded.leased_until, lease_token = NULL, attempts = 0, failure = NULL),
usage AS (INSERT INTO usage_deltas (tenant_id, api_key_id, context_id, hour, files_deleted) SELECT $1, $3, context_id, date_trunc('hour', now(), 'UTC'), -1 FROM back)
SELECT file_id FROM stale`
