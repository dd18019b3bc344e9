import type { Attempt } from '../../access/admission.js'
import type { ContextPageArgs } from '../../api/graphql/arguments.js'
import { listFilesLatestFirst, type Page, type TimestampedList } from '../../api/graphql/page.js'
import { createSignaturesExpression } from '../../inspection/scanners/virus-scanner.js'
import { createFileAuditRow } from '../../ledger/entry.js'
import type { Transaction } from '../../ledger/ledger.js'
import { removeFilesPermanently } from '../../ledger/removal.js'
import type { Actor } from '../../platform/actor.js'
import { conflict, notFound } from '../../platform/errors/errors.js'
import { reachFaultPoint } from '../../platform/fault-points.js'
import { isId } from '../../platform/ids.js'
import type { Components } from '../components.js'
import type { FileContextService } from '../contexts/context.service.js'
import type { FileService } from '../files/file.service.js'
import type { File } from '../files/file.types.js'
import type { TrashedFile } from './lifecycle.types.js'

interface Dependencies extends Pick<Components, 'db' | 'ledger' | 'storage' | 'serviceEvents'> {
  contexts: FileContextService
  files: FileService
  /** `getNewestSignatures` returns null if no scanner is configured. */
  rescans: { getNewestSignatures(): Promise<string | null> }
  quarantineMoves: { tryMoveObject(file: { tenantId: string; fileId: string }): Promise<boolean> }
}

/**
 * SQL condition that is true if trashed file `t` can still be restored according to the settings of context `c`. Other files stay
 * in the trash until they are purged.
 */
const isRestorable = 'c.trash_days > 0 AND t.deleted_at > now() - make_interval(days => c.trash_days)'

const trashed: TimestampedList = {
  alias: 't',
  timeColumn: 'deleted_at',
  columns: `t.file_id AS "fileId", t.original_filename AS "originalFilename", t.size_bytes AS "sizeBytes", c.context_key AS "contextKey",
    t.deleted_at AS "deletedAt", t.deleted_at + make_interval(days => c.trash_days) AS "purgeAt"`,
  rows: `FROM trash t JOIN file_contexts c ON c.tenant_id = t.tenant_id AND c.context_id = t.context_id
    WHERE t.tenant_id = $1 AND ($2::text[] IS NULL OR t.context_id = ANY ($2)) AND ${isRestorable}`,
}

/** Lists, restores and purges deleted files. */
export class TrashService {
  constructor(private readonly parts: Dependencies) {}

  async list(actor: Actor, { context, ...args }: ContextPageArgs): Promise<Page<TrashedFile>> {
    const contextIds = await this.parts.contexts.getAccessibleContextIds(actor, context)
    return listFilesLatestFirst(this.parts.db.pool, trashed, { tenantId: actor.tenantId, contextIds }, args)
  }

  /** Restores a file from the trash. Throws 404 if the file is not in the trash, and 409 if its context is disabled. */
  async restore(attempt: Attempt, fileId: string): Promise<File> {
    const { actor } = attempt
    const { ledger, rescans, storage, files } = this.parts
    if (!isId('file', fileId)) throw notFound('file', fileId)
    const signatures = await rescans.getNewestSignatures()
    const { context, awaitsScan } = await ledger.changeTenant(actor.tenantId, async (tx) => {
      const restored = await restoreFile(tx, actor, { fileId, signatures, isMoved: storage.kind !== 'local' })
      reachFaultPoint('restore.moved')
      return restored
    })
    attempt.outcome = 'committed'
    reachFaultPoint('restore.committed')
    if (awaitsScan) {
      await this.parts.quarantineMoves.tryMoveObject({ tenantId: actor.tenantId, fileId })
      this.parts.serviceEvents.emit('rescanRequested')
    }
    attempt.setTarget({ fileId, context })
    const file = (await files.getByIds(actor.tenantId, [fileId])).get(fileId)
    // The file is missing if it was deleted again after it was restored.
    if (!file) throw notFound('file', fileId)
    return file
  }

  /** Deletes a file in the trash permanently. Throws 404 if the file is not in the trash. */
  async purge(attempt: Attempt, fileId: string): Promise<{ fileId: string }> {
    const { actor } = attempt
    if (!isId('file', fileId)) throw notFound('file', fileId)
    await this.parts.ledger.changeTenant(actor.tenantId, async (tx) => {
      const audit = await removeFilesPermanently(tx, actor, {
        table: 'trash',
        where: 't.file_id = $3 AND ($4::text[] IS NULL OR t.context_id = ANY ($4))',
        values: [fileId, actor.contexts],
      })
      if (audit.length === 0) throw notFound('file', fileId)
      reachFaultPoint('purge.removed')
      return { result: undefined, entry: { audit } }
    })
    attempt.outcome = 'committed'
    reachFaultPoint('purge.committed')
    attempt.setTarget({ fileId })
    this.parts.serviceEvents.emit('blobsReleased')
    return { fileId }
  }
}

interface TrashedRow {
  fileId: string
  originalFilename: string
  contextId: string
  contextKey: string
  status: string
}

/**
 * Restores a file while the transaction holds the tenant's lock. A file without a report for the scanner's newest `signatures` is
 * quarantined until it is scanned. `isMoved` is true if the store requires quarantined objects to be moved.
 */
async function restoreFile(
  tx: Transaction,
  actor: Actor,
  { fileId, signatures, isMoved }: { fileId: string; signatures: string | null; isMoved: boolean },
) {
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
  const stale = await tx.$queryRawUnsafe<object[]>(restoreStatement, actor.tenantId, fileId, apiKeyId, signatures, isMoved)
  const audit = createFileAuditRow(actor, 'updated', file, { change: 'restored' })
  return { result: { context: { contextId, contextKey }, awaitsScan: stale.length > 0 }, entry: { audit: [audit] } }
}

// Only the file counts change, because the bytes of trashed files are still counted as used. The statistics undo the deletion, so
// that uploads minus deletions equal the stored files. A quarantine row without viruses means that the file is waiting for its
// scan. A scan that started before the deletion loses its lease, because it may have used older signatures.
const restoreStatement = `
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
