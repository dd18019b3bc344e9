import type { Attempt } from '../admission/attempt.js'
import type { Actor } from '../auth/actor.js'
import { momentAt } from '../cursors.js'
import type { Database } from '../db/client.js'
import { notFound } from '../errors.js'
import { faultPoint } from '../fault-points.js'
import type { FileContextService } from '../file-contexts/file-context.service.js'
import type { FileService } from '../files/file.service.js'
import type { File } from '../files/file.type.js'
import { type Page, pageOf, placeOf } from '../graphql/page.js'
import { isId } from '../ids.js'
import type { Ledger } from '../ledger/ledger.js'
import { purge } from './purge.js'
import { restore } from './restore.js'
import type { TrashArgs, TrashedFile } from './trash.type.js'

interface Parts {
  db: Database
  ledger: Ledger
  contexts: FileContextService
  files: FileService
}

/** Files that were deleted and can be restored: gone for every other reader. */
export class TrashService {
  /** Called when blobs are due for the sweep. */
  onPurged: () => void = () => {}
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Latest first. */
  async list(actor: Actor, { context, ...args }: TrashArgs): Promise<Page<TrashedFile>> {
    const { contexts, db } = this.#parts
    const place = placeOf('file', args)
    const found = typeof context === 'string' ? await contexts.find(actor, context) : undefined
    if (typeof context === 'string' && !found) return pageOf<TrashedFile>([], 0, place)
    const contextIds = found ? [found.contextId] : actor.contexts
    const since = place.afterId === undefined ? null : momentAt(args.after!, 'deleted_at')
    const { rows } = await db.pool.query<TrashedFile>(
      `SELECT t.file_id AS "fileId", t.original_filename AS "originalFilename", t.size_bytes AS "sizeBytes", c.context_key AS "contextKey",
         t.deleted_at AS "deletedAt", t.deleted_at + make_interval(days => c.trash_days) AS "purgeAt"
       FROM trash t JOIN file_contexts c ON c.tenant_id = t.tenant_id AND c.context_id = t.context_id
       WHERE t.tenant_id = $1 AND ($2::text[] IS NULL OR t.context_id = ANY ($2)) AND ($3::timestamptz IS NULL OR (t.deleted_at, t.file_id) < ($3, $4))
       ORDER BY t.deleted_at DESC, t.file_id DESC OFFSET $5 LIMIT $6`,
      [
        actor.tenantId,
        contextIds,
        since,
        place.afterId ?? '',
        since ? 0 : (place.page - 1) * place.pageSize,
        place.pageSize + (since ? 1 : 0),
      ],
    )
    const counted = await db.pool.query<{ total: number }>(
      'SELECT count(*) AS total FROM trash WHERE tenant_id = $1 AND ($2::text[] IS NULL OR context_id = ANY ($2))',
      [actor.tenantId, contextIds],
    )
    return pageOf(rows, Number(counted.rows[0]!.total), place)
  }

  /** The file as it was. Throws 404, and 409 where its context is disabled. */
  async restore(attempt: Attempt, fileId: string): Promise<File> {
    const { actor } = attempt
    if (!isId('file', fileId)) throw notFound('file', fileId)
    const context = await this.#parts.ledger.change(actor.tenantId, async (tx) => {
      const restored = await restore(tx, actor, fileId)
      faultPoint('restore.moved')
      return { result: restored.context, entry: { audit: restored.audit } }
    })
    faultPoint('restore.committed')
    attempt.involve({ fileId, context })
    const file = (await this.#parts.files.byIds(actor.tenantId, [fileId])).get(fileId)
    // Deleted again in between.
    if (!file) throw notFound('file', fileId)
    return file
  }

  /** Gone for good, at once. Throws 404. */
  async purge(attempt: Attempt, fileId: string): Promise<{ fileId: string }> {
    const { actor } = attempt
    if (!isId('file', fileId)) throw notFound('file', fileId)
    await this.#parts.ledger.change(actor.tenantId, async (tx) => {
      const audit = await purge(tx, actor, { fileId, contextIds: actor.contexts })
      if (audit.length === 0) throw notFound('file', fileId)
      faultPoint('purge.removed')
      return { result: undefined, entry: { audit } }
    })
    faultPoint('purge.committed')
    attempt.involve({ fileId })
    this.onPurged()
    return { fileId }
  }
}
