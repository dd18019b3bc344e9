import type { Sessions } from '../../access/sessions.js'
import type { Ledger } from '../../ledger/ledger.js'
import type { Actor, Origin, Scope } from '../../platform/actor.js'
import { now } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import { sqlFault } from '../../platform/db/sql-errors.js'
import { unauthenticated } from '../../platform/errors/errors.js'
import { idTime, isId, newId } from '../../platform/ids.js'
import { sessionAudit } from './session.service.js'
import type { SignIn } from './user.types.js'
import { lockedUser, toUser } from './user-row.js'

const welcomeMs = 10 * 60_000

/**
 * The first visit's link: signs one user in, once, within ten minutes, on whichever replica it comes to. It names the session
 * that it begins, whose row can be written only once.
 */
export class WelcomeService {
  readonly #db: Database
  readonly #ledger: Ledger
  readonly #sessions: Sessions

  constructor(parts: { db: Database; ledger: Ledger; sessions: Sessions }) {
    this.#db = parts.db
    this.#ledger = parts.ledger
    this.#sessions = parts.sessions
  }

  /** What follows `/#welcome=` for that user. */
  async invite(userId: string): Promise<string> {
    const ids = `${newId('ses').slice(4)}.${userId.slice(4)}`
    return `${ids}.${await this.#sessions.sign(signed(ids))}`
  }

  /** Throws 401 for a link that is wrong, late or used, and for a user who has got a second factor meanwhile. */
  async enter(origin: Origin, welcome: string): Promise<SignIn> {
    const { sessionId, userId } = await this.#read(welcome)
    const user = await this.#db.prisma.user.findUnique({ where: { userId }, include: { tenant: true } })
    if (user?.status !== 'active' || user.tenant.status !== 'active') throw refused()
    const { tenantId, name, email } = user
    const scopes = user.scopes as Scope[]
    const actor: Actor = { tenantId, kind: 'user', id: userId, name, email, scopes, contexts: null, ...origin }
    const { token, expiresAt } = await this.#sessions.issue(user, sessionId)
    try {
      await this.#ledger.change(tenantId, async (tx) => {
        const current = await lockedUser(tx, tenantId, userId)
        if (current.totpConfirmedAt || current.status !== 'active') throw refused()
        const { ip: ipAddress, userAgent } = origin
        await tx.session.create({ data: { sessionId, userId, createdAt: new Date(now()), ipAddress, userAgent, expiresAt } })
        return { result: undefined, entry: { audit: [sessionAudit(actor, 'created', sessionId, user)] } }
      })
    } catch (error) {
      if (sqlFault(error) === 'duplicate') throw refused()
      throw error
    }
    return { token, expiresAt, user: toUser(user), secondFactorDue: user.tenant.secondFactorRequired }
  }

  async #read(welcome: string): Promise<{ sessionId: string; userId: string }> {
    const [session, user, signature = ''] = welcome.split('.')
    const [sessionId, userId] = [`ses_${session}`, `usr_${user}`]
    if (!isId('ses', sessionId) || !isId('usr', userId)) throw refused()
    if (!(await this.#sessions.isSigned(signed(`${session}.${user}`), signature))) throw refused()
    if (now() - idTime(sessionId).getTime() > welcomeMs) throw refused()
    return { sessionId, userId }
  }
}

const signed = (ids: string) => `assay welcome ${ids}`

const refused = () =>
  unauthenticated('This link was already used or is older than ten minutes. Sign in with email address and password.')
