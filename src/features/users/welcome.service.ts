import type { Origin } from '../../platform/actor.js'
import { now } from '../../platform/clock.js'
import { getSqlErrorKind } from '../../platform/db/sql-errors.js'
import { unauthenticated } from '../../platform/errors/errors.js'
import { getIdTime, isId, newId } from '../../platform/ids.js'
import type { Components } from '../components.js'
import { insertSession } from './session.service.js'
import type { SignIn } from './user.types.js'
import { lockUser, toUser } from './user-row.js'

const maxAgeMs = 10 * 60_000

/**
 * Manages welcome links. Each link signs in one user, and can be used only once, even across replicas. A link contains the ID
 * of the session that it creates, so the primary key of `sessions` prevents a second use.
 */
export class WelcomeService {
  constructor(private readonly parts: Pick<Components, 'db' | 'ledger' | 'identity'>) {}

  /** Returns the signed part of a welcome link, which follows `/#welcome=` in the URL. */
  async createWelcomeToken(userId: string): Promise<string> {
    const ids = `${newId('ses').slice(4)}.${userId.slice(4)}`
    return `${ids}.${await this.parts.identity.sessions.sign(toSignedText(ids))}`
  }

  /** Throws 401 if the link is invalid, expired or used, or if the user has enabled a second factor. */
  async signIn(origin: Origin, welcomeToken: string): Promise<SignIn> {
    const { db, ledger, identity } = this.parts
    const { sessionId, userId } = await this.#parseToken(welcomeToken)
    const user = await db.prisma.user.findUnique({ where: { userId }, include: { tenant: true } })
    if (user?.status !== 'active' || user.tenant.status !== 'active') throw createInvalidLinkError()
    const { token, expiresAt } = await identity.sessions.issue(user, sessionId)
    try {
      await ledger.changeTenant(user.tenantId, async (tx) => {
        const current = await lockUser(tx, user.tenantId, userId)
        if (current.totpConfirmedAt || current.status !== 'active') throw createInvalidLinkError()
        const session = { sessionId, createdAt: new Date(now()), expiresAt }
        return { result: undefined, entry: { audit: [await insertSession(tx, user, origin, session)] } }
      })
    } catch (error) {
      if (getSqlErrorKind(error) === 'duplicate') throw createInvalidLinkError()
      throw error
    }
    return { token, expiresAt, user: toUser(user), secondFactorDue: user.tenant.secondFactorRequired }
  }

  async #parseToken(welcomeToken: string): Promise<{ sessionId: string; userId: string }> {
    const [session, user, signature = ''] = welcomeToken.split('.')
    const [sessionId, userId] = [`ses_${session}`, `usr_${user}`]
    if (!isId('ses', sessionId) || !isId('usr', userId)) throw createInvalidLinkError()
    if (!(await this.parts.identity.sessions.verifySignature(toSignedText(`${session}.${user}`), signature)))
      throw createInvalidLinkError()
    if (now() - getIdTime(sessionId).getTime() > maxAgeMs) throw createInvalidLinkError()
    return { sessionId, userId }
  }
}

const toSignedText = (ids: string) => `assay welcome ${ids}`

const createInvalidLinkError = () =>
  unauthenticated('This link was already used or is older than ten minutes. Sign in with your email address and password.')
