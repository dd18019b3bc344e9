import { announce } from '../../access/identity-listener.js'
import { type Page, toPage } from '../../api/graphql/page.js'
import type { AuditRow } from '../../ledger/entry.js'
import type { Ledger, Transaction } from '../../ledger/ledger.js'
import type { Actor } from '../../platform/actor.js'
import { currentTime } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import { notFound } from '../../platform/errors/errors.js'
import { isId } from '../../platform/ids.js'
import type { UserSession } from './session.types.js'

/** Sessions of the service's own sign-in that have begun: listed and ended, by their user or by an admin. */
export class SessionService {
  readonly #db: Database
  readonly #ledger: Ledger
  readonly #forget: (userId: string) => void

  constructor(parts: { db: Database; ledger: Ledger; forget: (userId: string) => void }) {
    this.#db = parts.db
    this.#ledger = parts.ledger
    this.#forget = parts.forget
  }

  /** Those that have not ended, newest first. Throws 404 where the tenant has no such user. */
  async list(actor: Actor, userId: string, { page, pageSize }: { page: number; pageSize: number }): Promise<Page<UserSession>> {
    await this.#userOf(this.#db.prisma, actor, userId)
    const where = open(userId)
    const [rows, total] = await Promise.all([
      this.#db.prisma.session.findMany({ where, orderBy: { sessionId: 'desc' }, skip: (page - 1) * pageSize, take: pageSize }),
      this.#db.prisma.session.count({ where }),
    ])
    const sessions = rows.map(({ sessionId, createdAt, expiresAt, ipAddress, userAgent }) => ({
      sessionId,
      createdAt,
      expiresAt,
      ipAddress,
      userAgent,
      isCurrent: sessionId === actor.sessionId,
    }))
    return toPage(sessions, total, { page, pageSize })
  }

  /** Ends one session, or all of the user's; gives how many ended, at once on every replica. */
  async end(actor: Actor, userId: string, sessionId?: string): Promise<number> {
    const ended = await this.#ledger.change(actor.tenantId, async (tx) => {
      const user = await this.#userOf(tx, actor, userId)
      const audit = await endSessions(tx, actor, user, sessionId === undefined ? {} : { sessionId })
      if (sessionId !== undefined && audit.length === 0) throw notFound('session', sessionId)
      await announce({ query: (sql, values) => tx.$executeRawUnsafe(sql, ...values) }, 'user', userId)
      return { result: audit.length, entry: { audit } }
    })
    this.#forget(userId)
    return ended
  }

  async #userOf(db: Pick<Transaction, 'user'>, { tenantId }: Actor, userId: string) {
    const user = isId('usr', userId) ? await db.user.findFirst({ where: { tenantId, userId } }) : null
    if (!user) throw notFound('user', userId)
    return user
  }
}

const open = (userId: string) => ({ userId, revokedAt: null, expiresAt: { gt: currentTime() } })

/** Ends the sessions of a user that are open (all, one, or all but one), inside of a change; gives what the audit trail keeps of it. */
export async function endSessions(
  tx: Transaction,
  actor: Actor,
  user: { userId: string; name: string },
  which: { sessionId?: string | { not: string } } = {},
): Promise<AuditRow[]> {
  const ended = await tx.session.updateManyAndReturn({
    where: { ...open(user.userId), ...which },
    data: { revokedAt: currentTime() },
  })
  return ended.map(({ sessionId }) => sessionAudit(actor, 'revoked', sessionId, user))
}

/** What became of a session of that user. */
export const sessionAudit = (
  actor: Actor,
  action: AuditRow['action'],
  sessionId: string,
  user: { userId: string; name: string },
): AuditRow => ({
  actor,
  tenantId: actor.tenantId,
  auditType: 'tenant',
  action,
  entityType: 'session',
  entityId: sessionId,
  entityName: user.name,
  details: { user_id: user.userId },
})
