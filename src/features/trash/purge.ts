import type { AuditRow } from '../../ledger/entry.js'
import type { Transaction } from '../../ledger/ledger.js'
import { removePermanently } from '../../ledger/removal.js'
import type { Actor } from '../../platform/actor.js'
import { createSystemActor } from '../../platform/actor.js'

/** Purges a file from the trash, regardless of its purge date. */
export const purgeFile = (
  tx: Transaction,
  actor: Actor,
  { fileId, contextIds }: { fileId: string; contextIds: readonly string[] | null },
): Promise<AuditRow[]> =>
  removePermanently(tx, actor, {
    table: 'trash',
    where: 't.file_id = $3 AND ($4::text[] IS NULL OR t.context_id = ANY ($4))',
    values: [fileId, contextIds],
  })

/** Purges files of a context that exceed their time in the trash, oldest first. */
export const purgeDueFiles = (
  tx: Transaction,
  tenantId: string,
  { contextId, limit }: { contextId: string; limit: number },
): Promise<AuditRow[]> =>
  removePermanently(tx, createSystemActor(tenantId), { table: 'trash', where: due, values: [contextId, limit] })

// The condition uses the current policy and the database clock at the start of the transaction.
const due = `t.file_id IN (SELECT d.file_id FROM trash d JOIN file_contexts p ON p.tenant_id = $1 AND p.context_id = d.context_id
  WHERE d.tenant_id = $1 AND d.context_id = $3 AND d.deleted_at <= now() - make_interval(days => p.trash_days)
    AND NOT EXISTS (SELECT FROM holds h WHERE h.tenant_id = $1 AND h.file_id = d.file_id)
  ORDER BY d.deleted_at LIMIT $4)`
