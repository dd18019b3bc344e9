import { changeIdentity } from '../../access/identity.js'
import { listRowsNewestFirst, mapPage, type Page, type PageArgs, toPagePosition } from '../../api/graphql/page.js'
import { type AuditRow, createAuditRow } from '../../ledger/entry.js'
import type { Transaction } from '../../ledger/ledger.js'
import type { Actor, Origin } from '../../platform/actor.js'
import { getCurrentTime } from '../../platform/clock.js'
import { notFound } from '../../platform/errors/errors.js'
import type { Components } from '../components.js'
import type { UserSession } from './user.types.js'
import { findUser, toActor, type UserRow } from './user-row.js'

/** Lists and ends the sessions of dashboard users. */
export class SessionService {
  constructor(private readonly parts: Pick<Components, 'db' | 'ledger' | 'identity'>) {}

  async list(actor: Actor, userId: string, args: PageArgs): Promise<Page<UserSession>> {
    const { prisma } = this.parts.db
    await findUser(prisma, actor.tenantId, userId)
    const position = toPagePosition('ses', args)
    const sessions = await listRowsNewestFirst(prisma.session, { key: 'sessionId', where: toOpenSessionFilter(userId), position })
    return mapPage(sessions, ({ sessionId, createdAt, expiresAt, ipAddress, userAgent }) => ({
      sessionId,
      createdAt,
      expiresAt,
      ipAddress,
      userAgent,
      isCurrent: sessionId === actor.sessionId,
    }))
  }

  /** Ends the user's sessions, or only `sessionId` if given, and returns the number of ended sessions. */
  endUserSessions(actor: Actor, userId: string, sessionId?: string): Promise<number> {
    const { tenantId } = actor
    return changeIdentity(this.parts, { tenantId, kind: 'user', id: userId }, async (tx) => {
      const user = await findUser(tx, tenantId, userId)
      const audit = await endSessions(tx, actor, user, sessionId)
      if (sessionId !== undefined && audit.length === 0) throw notFound('session', sessionId)
      return { result: audit.length, audit }
    })
  }
}

const toOpenSessionFilter = (userId: string) => ({ userId, revokedAt: null, expiresAt: { gt: getCurrentTime() } })

/**
 * Ends a user's open sessions: all of them, only `sessionId`, or all except `sessionId.not`. Returns one audit log entry per
 * ended session.
 */
export async function endSessions(
  tx: Transaction,
  actor: Actor,
  user: { userId: string; name: string },
  sessionId?: string | { not: string },
): Promise<AuditRow[]> {
  const ended = await tx.session.updateManyAndReturn({
    where: { ...toOpenSessionFilter(user.userId), ...(sessionId && { sessionId }) },
    data: { revokedAt: getCurrentTime() },
  })
  return ended.map((session) => toSessionAuditRow(actor, 'revoked', session.sessionId, user))
}

export interface NewSession {
  sessionId: string
  createdAt: Date
  expiresAt: Date
}

/** Stores a session and returns its audit log entry. */
export async function insertSession(tx: Transaction, user: UserRow, origin: Origin, session: NewSession): Promise<AuditRow> {
  const { ip: ipAddress, userAgent } = origin
  await tx.session.create({ data: { ...session, userId: user.userId, ipAddress, userAgent } })
  return toSessionAuditRow(toActor(user, origin), 'created', session.sessionId, user)
}

const toSessionAuditRow = (
  actor: Actor,
  action: AuditRow['action'],
  sessionId: string,
  { userId, name }: { userId: string; name: string },
): AuditRow => createAuditRow(actor, action, { type: 'session', id: sessionId, name }, { user_id: userId })
