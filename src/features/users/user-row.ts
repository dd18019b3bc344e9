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

/** Returns a user. Throws 404 if the tenant has no such user. */
export async function findUser(db: Pick<Transaction, 'user'>, tenantId: string, userId: string): Promise<UserRow> {
  // Do not send malformed IDs to PostgreSQL, which rejects text with NUL characters.
  const user = isId('usr', userId) ? await db.user.findFirst({ where: { tenantId, userId } }) : null
  if (!user) throw notFound('user', userId)
  return user
}

/** Applies the sign-in delay to a signed-in session, so that the session cannot be used to guess the password or code quickly. */
export const delayCredentialAttempt = ({ signIns }: RateLimits, { email, id, ip }: Actor, signal?: AbortSignal) =>
  signIns.delayAttempt({ email: email ?? id, ip, isFamiliar: async () => true, signal })

export const toUserEntity = ({ userId, name }: UserRow) => ({ type: 'user', id: userId, name })
