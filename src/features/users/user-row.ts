import type { RateLimits } from '../../access/rate-limits.js'
import type { Transaction } from '../../ledger/ledger.js'
import type { Actor, Origin, Scope } from '../../platform/actor.js'
import type { Database } from '../../platform/db/client.js'
import { notFound } from '../../platform/errors/errors.js'
import { isId } from '../../platform/ids.js'
import type { User } from './user.types.js'

export type UserRow = Awaited<ReturnType<Database['prisma']['user']['findMany']>>[number]

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

export const toActor = ({ tenantId, userId, name, email, scopes }: UserRow, origin: Origin): Actor => ({
  tenantId,
  kind: 'user',
  id: userId,
  name,
  email,
  scopes: scopes as Scope[],
  contexts: null,
  ...origin,
})

/** Throws 404 if the tenant has no such user. */
export async function findUser(db: Pick<Transaction, 'user'>, tenantId: string, userId: string): Promise<UserRow> {
  // PostgreSQL rejects text with NUL characters, so malformed IDs must not reach it.
  const user = isId('usr', userId) ? await db.user.findFirst({ where: { tenantId, userId } }) : null
  if (!user) throw notFound('user', userId)
  return user
}

/** Slows down a session that guesses its user's password or code, as if it were a sign-in. */
export const delayCredentialAttempt = ({ signIns }: RateLimits, { email, id, ip }: Actor, signal?: AbortSignal) =>
  signIns.delayAttempt({ email: email ?? id, ip, isFamiliar: async () => true, signal })

export const toUserEntity = ({ userId, name }: UserRow) => ({ type: 'user', id: userId, name })
