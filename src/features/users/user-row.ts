import type { AuditRow } from '../../ledger/entry.js'
import type { Transaction } from '../../ledger/ledger.js'
import type { Actor, Scope } from '../../platform/actor.js'
import type { Database } from '../../platform/db/client.js'
import { notFound } from '../../platform/errors/errors.js'
import { isId } from '../../platform/ids.js'
import type { User } from './user.types.js'

export type UserRow = Awaited<ReturnType<Database['prisma']['user']['findMany']>>[number]

/** What of a user may be seen. */
export const toUser = (row: UserRow): User => ({
  userId: row.userId,
  email: row.email,
  name: row.name,
  scopes: row.scopes as Scope[],
  status: row.status as User['status'],
  hasSecondFactor: row.totpConfirmedAt !== null,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

/** The user's row, locked until the transaction ends; throws 404. */
export async function lockedUser(tx: Transaction, tenantId: string, userId: string): Promise<UserRow> {
  const locked = isId('usr', userId)
    ? await tx.$queryRaw<unknown[]>`SELECT 1 FROM users WHERE tenant_id = ${tenantId} AND user_id = ${userId} FOR UPDATE`
    : []
  if (locked.length === 0) throw notFound('user', userId)
  return tx.user.findUniqueOrThrow({ where: { userId } })
}

/** What the audit trail keeps of a change of a user. */
export const userAudit = (
  actor: Actor,
  action: AuditRow['action'],
  user: { tenantId: string; userId: string; name: string },
  details: Record<string, unknown>,
): AuditRow => ({
  actor,
  tenantId: user.tenantId,
  auditType: 'tenant',
  action,
  entityType: 'user',
  entityId: user.userId,
  entityName: user.name,
  details,
})
