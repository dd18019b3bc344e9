import type { Attempt } from '../../access/admission.js'
import type { ContextPageArgs } from '../../api/graphql/arguments.js'
import { listFilesLatestFirst, type Page, type TimestampedList } from '../../api/graphql/page.js'
import type { Ledger } from '../../ledger/ledger.js'
import { removeFilesPermanently } from '../../ledger/removal.js'
import type { Actor } from '../../platform/actor.js'
import type { Database } from '../../platform/db/client.js'
import { notFound } from '../../platform/errors/errors.js'
import { reachFaultPoint } from '../../platform/fault-points.js'
import { isId } from '../../platform/ids.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'
import type { FileContextService } from '../contexts/context.service.js'
import type { FileService } from '../files/file.service.js'
import type { File } from '../files/file.types.js'
import type { ServiceEvents } from '../service-events.js'
import { isRestorable, restoreFile } from './restore.js'
import type { TrashedFile } from './trash.types.js'

interface Dependencies {
  db: Database
  ledger: Ledger
  contexts: FileContextService
  files: FileService
  /** `getNewestSignatures` returns null if no scanner is configured. */
  rescans: { getNewestSignatures(): Promise<string | null> }
  storage: Pick<BlobStorage, 'kind'>
  quarantineMoves: { tryMoveObject(file: { tenantId: string; fileId: string }): Promise<boolean> }
  serviceEvents: ServiceEvents
}

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
      return { result: restored, entry: { audit: restored.audit } }
    })
    attempt.outcome = { status: 'committed' }
    reachFaultPoint('restore.committed')
    if (awaitsScan) {
      await this.parts.quarantineMoves.tryMoveObject({ tenantId: actor.tenantId, fileId })
      this.parts.serviceEvents.emit('rescanRequested')
    }
    attempt.setTarget({ fileId, context })
    const file = (await files.getByIds(actor.tenantId, [fileId])).get(fileId)
    // The file was deleted again after it was restored.
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
    attempt.outcome = { status: 'committed' }
    reachFaultPoint('purge.committed')
    attempt.setTarget({ fileId })
    this.parts.serviceEvents.emit('blobsReleased')
    return { fileId }
  }
}
