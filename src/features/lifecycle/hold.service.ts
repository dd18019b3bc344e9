import type { ContextPageArgs } from '../../api/graphql/arguments.js'
import { listFilesLatestFirst, type Page, type TimestampedList } from '../../api/graphql/page.js'
import { createFileAuditRow } from '../../ledger/entry.js'
import type { Transaction } from '../../ledger/ledger.js'
import type { Actor } from '../../platform/actor.js'
import { notFound } from '../../platform/errors/errors.js'
import { isId } from '../../platform/ids.js'
import type { Components } from '../components.js'
import type { FileContextService } from '../contexts/context.service.js'
import type { Hold } from './lifecycle.types.js'

const held: TimestampedList = {
  alias: 'h',
  timeColumn: 'held_at',
  columns: `h.file_id AS "fileId", h.reason, h.held_by AS "heldBy", h.held_at AS "heldAt"`,
  rows: `FROM holds h JOIN files f ON f.tenant_id = $1 AND f.file_id = h.file_id
    WHERE h.tenant_id = $1 AND ($2::text[] IS NULL OR f.context_id = ANY ($2))`,
}

/** Places and releases holds, which prevent the deletion of files. Every deletion checks for holds under the tenant's lock. */
export class HoldService {
  constructor(private readonly parts: Pick<Components, 'db' | 'ledger'> & { contexts: FileContextService }) {}

  async list(actor: Actor, { context, ...args }: ContextPageArgs): Promise<Page<Hold>> {
    const contextIds = await this.parts.contexts.getAccessibleContextIds(actor, context)
    return listFilesLatestFirst(this.parts.db.pool, held, { tenantId: actor.tenantId, contextIds }, args)
  }

  async getByFileIds(tenantId: string, fileIds: readonly string[]): Promise<Map<string, Hold>> {
    const holds = await this.parts.db.prisma.hold.findMany({ where: { tenantId, fileId: { in: [...fileIds] } } })
    return new Map(holds.map((hold) => [hold.fileId, hold]))
  }

  /** Places a hold on a file, or replaces the reason for its hold. Throws 404 if the file does not exist or is in the trash. */
  placeHold(actor: Actor, fileId: string, reason: string): Promise<Hold> {
    const { tenantId } = actor
    return this.parts.ledger.changeTenant(tenantId, async (tx) => {
      const file = await findFileWithHold(tx, actor, fileId)
      const isNew = file.reason !== reason
      if (isNew)
        await tx.$executeRaw`INSERT INTO holds (tenant_id, file_id, reason, held_by, held_by_type, held_at)
          VALUES (${tenantId}, ${fileId}, ${reason}, ${actor.id}, ${actor.kind}, clock_timestamp())
          ON CONFLICT (tenant_id, file_id) DO UPDATE SET reason = excluded.reason, held_by = excluded.held_by, held_by_type = excluded.held_by_type, held_at = excluded.held_at`
      const hold = await tx.hold.findUniqueOrThrow({ where: { tenantId_fileId: { tenantId, fileId } } })
      const audit = createFileAuditRow(actor, 'updated', file, { change: 'held', reason })
      return { result: hold, entry: isNew ? { audit: [audit] } : [] }
    })
  }

  /** Releases the hold on a file. Throws 404 if the file is not on hold. */
  releaseHold(actor: Actor, fileId: string): Promise<{ fileId: string }> {
    const { tenantId } = actor
    return this.parts.ledger.changeTenant(tenantId, async (tx) => {
      const file = await findFileWithHold(tx, actor, fileId)
      const { count } = await tx.hold.deleteMany({ where: { tenantId, fileId } })
      if (count === 0) throw notFound('hold', fileId)
      const audit = createFileAuditRow(actor, 'updated', file, { change: 'unheld', reason: file.reason })
      return { result: { fileId }, entry: { audit: [audit] } }
    })
  }
}

async function findFileWithHold(tx: Transaction, actor: Actor, fileId: string) {
  if (!isId('file', fileId)) throw notFound('file', fileId)
  const [file] = await tx.$queryRaw<{ fileId: string; originalFilename: string; contextKey: string; reason: string | null }[]>`
    SELECT f.file_id AS "fileId", f.original_filename AS "originalFilename", c.context_key AS "contextKey", h.reason
    FROM files f JOIN file_contexts c ON c.tenant_id = f.tenant_id AND c.context_id = f.context_id
      LEFT JOIN holds h ON h.tenant_id = ${actor.tenantId} AND h.file_id = f.file_id
    WHERE f.tenant_id = ${actor.tenantId} AND f.file_id = ${fileId}`
  if (!file) throw notFound('file', fileId)
  return file
}
