import { toAddressGroup } from '../../access/address-group.js'
import { suspendedTenant } from '../../access/authenticate.js'
import { announce } from '../../access/identity-listener.js'
import { type Passwords, sameSalt } from '../../access/passwords.js'
import type { RateLimits } from '../../access/rate-limits.js'
import type { SecurityTrail } from '../../access/security-trail.js'
import { type Sessions, sessionSeconds } from '../../access/sessions.js'
import type { Ledger } from '../../ledger/ledger.js'
import { type Actor, type Origin, type Scope, systemActor } from '../../platform/actor.js'
import { now } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import type { Prisma } from '../../platform/db/generated/client.js'
import { forbidden, unauthenticated } from '../../platform/errors/errors.js'
import { idTime, isId, newId } from '../../platform/ids.js'
import { keptEmail } from '../../platform/plain-text.js'
import { codeNeeded, type SecondFactorService } from './second-factor.service.js'
import { codeLock } from './second-factor-lock.js'
import { sessionAudit } from './session.service.js'
import type { UserService } from './user.service.js'
import type { SignIn } from './user.types.js'
import { lockedUser, toUser, type UserRow } from './user-row.js'

interface Parts {
  db: Database
  ledger: Ledger
  passwords: Passwords
  sessions: Sessions
  limits: RateLimits
  users: UserService
  secondFactors: SecondFactorService
  security: SecurityTrail
  forget: (sessionId: string) => void
}

interface Credentials {
  email: string
  password: string
  tenantId?: string | null
  code?: string | null
}

type Candidate = Prisma.UserGetPayload<{ include: { tenant: true } }>

interface NewSession {
  sessionId: string
  expiresAt: Date
  origin: Origin
  code: string | null | undefined
  /** Null if the stored hash is current. */
  rehashed: string | null
}

/** The service's own sign-in: e-mail and password for a session of 12 hours. */
export class SignInService {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Throws 401 without telling whether the address or the password was wrong. Slows down repeated guesses. */
  async signIn(origin: Origin, { email, password, tenantId, code }: Credentials, signal?: AbortSignal): Promise<SignIn> {
    const candidates = await this.#candidates(email, tenantId)
    const isFamiliar = () => this.#isFamiliar(candidates, origin.ip)
    const attempt = await this.#parts.limits.signIns.begin({ email, ip: origin.ip, isFamiliar, signal })
    const user = await this.#verified(candidates, password, origin)
    const lock = user.totpConfirmedAt ? codeLock(user) : undefined
    if (lock) {
      this.#noteFailure(user, 'Second-factor codes of this user are locked after too many wrong codes.', origin)
      throw lock
    }
    if (user.totpConfirmedAt && !code) {
      await attempt.succeeded()
      throw codeNeeded(missingCode)
    }
    const sessionId = newId('ses')
    const { token, expiresAt } = await this.#parts.sessions.issue(user, sessionId)
    const salted = candidates.find(({ passwordHash }) => passwordHash !== null)!.passwordHash!
    const isCurrent = !this.#parts.passwords.needsRehash(user.passwordHash!) && sameSalt(user.passwordHash!, salted)
    const rehashed = isCurrent ? null : await this.#parts.passwords.hash(password, salted)
    const checked = await this.#createSession(user, { sessionId, expiresAt, origin, code, rehashed })
    if (!checked.isRight) {
      this.#noteFailure(user, 'The second-factor code is wrong.', origin)
      if (checked.audit.length > 0) this.#parts.security.count('second_factor_locked')
      throw codeNeeded('The code is wrong or was already used. Enter the current code.')
    }
    await attempt.succeeded()
    const secondFactorDue = user.tenant.secondFactorRequired && user.totpConfirmedAt === null
    return { token, expiresAt, user: toUser(user), secondFactorDue }
  }

  /** Ends the session of this token, at once on every replica. False where the token has no session of ours. */
  async signOut(actor: Actor): Promise<boolean> {
    const { sessionId } = actor
    if (!sessionId) return false
    await this.#parts.ledger.change(actor.tenantId, async (tx) => {
      await tx.session.updateMany({ where: { userId: actor.id, sessionId, revokedAt: null }, data: { revokedAt: new Date() } })
      await announce({ query: (sql, values) => tx.$executeRawUnsafe(sql, ...values) }, 'session', sessionId)
      return {
        result: undefined,
        entry: { audit: [sessionAudit(actor, 'revoked', sessionId, { userId: actor.id, name: actor.name })] },
      }
    })
    this.#parts.forget(sessionId)
    return true
  }

  /** Ends every other session of the user, since an intruder who knew the old password may hold one. */
  async changePassword(
    actor: Actor,
    { currentPassword, newPassword }: { currentPassword: string; newPassword: string },
    signal?: AbortSignal,
  ): Promise<boolean> {
    if (actor.kind !== 'user') throw forbidden('Only dashboard users have a password. Sign in as a dashboard user.')
    const isFamiliar = async () => true
    const attempt = await this.#parts.limits.signIns.begin({ email: actor.email ?? actor.id, ip: actor.ip, isFamiliar, signal })
    const user = await this.#parts.db.prisma.user.findFirst({ where: { tenantId: actor.tenantId, userId: actor.id } })
    if (!user || !(await this.#parts.passwords.verify(user.passwordHash, currentPassword)))
      throw forbidden('The current password is wrong.')
    await attempt.succeeded()
    await this.#parts.users.setPassword(actor, actor.id, newPassword, actor.sessionId)
    return true
  }

  /** Drops the sessions that ended more than 30 days ago; gives how many. Until then their addresses are familiar ones. */
  async sweep(): Promise<number> {
    const { count } = await this.#parts.db.prisma.session.deleteMany({
      where: { expiresAt: { lt: new Date(now() - familiarMs) } },
    })
    return count
  }

  /** Users with this address: one at most in each tenant. */
  #candidates(email: string, tenantId: string | null | undefined): Promise<Candidate[]> {
    return this.#parts.db.prisma.user.findMany({
      where: { email: keptEmail(email), ...(tenantId && { tenantId: isId('ten', tenantId) ? tenantId : '' }) },
      include: { tenant: true },
      orderBy: { userId: 'asc' },
      take: 10,
    })
  }

  /** The oldest active candidate with this password. Throws 401 if there is none, and 403 if the tenant is suspended. */
  async #verified(candidates: readonly Candidate[], password: string, origin: Origin): Promise<Candidate> {
    const matches = await this.#parts.passwords.matching(
      candidates.map(({ passwordHash }) => passwordHash),
      password,
    )
    const right = candidates.filter((_, index) => matches[index])
    const user = right.find(({ status, tenant }) => status === 'active' && tenant.status === 'active') ?? right[0]
    if (user?.status !== 'active') {
      const message = user ? 'The user is disabled.' : 'The password is wrong.'
      for (const each of user ? [user] : candidates) this.#noteFailure(each, message, origin)
      throw wrongCredentials()
    }
    if (user.tenant.status !== 'active') throw forbidden(suspendedTenant)
    return user
  }

  /** Checks the code of the second factor and stores the session in the same transaction. */
  #createSession(user: Candidate, { sessionId, expiresAt, origin, code, rehashed }: NewSession) {
    const { tenantId, userId } = user
    const createdAt = idTime(sessionId)
    return this.#parts.ledger.change(tenantId, async (tx) => {
      // A password that was changed while it was being verified must not begin a session that outlives the change.
      const current = await lockedUser(tx, tenantId, userId)
      if (current.passwordHash !== user.passwordHash) throw wrongCredentials()
      // The user may have confirmed a second factor since the row was read.
      if (current.totpConfirmedAt && !code) throw codeNeeded(missingCode)
      const guesser = { ...systemActor(tenantId), ...origin }
      const checked = await this.#parts.secondFactors.check(tx, guesser, current, code ?? '')
      // Commits, so that the wrong code counts.
      if (!checked.isRight) return { result: checked, entry: { audit: checked.audit } }
      await tx.session.create({
        data: {
          sessionId,
          userId,
          createdAt,
          ipAddress: origin.ip,
          userAgent: origin.userAgent,
          expiresAt: new Date(Math.max(expiresAt.getTime(), createdAt.getTime() + sessionSeconds * 1000)),
        },
      })
      if (rehashed) await tx.user.update({ where: { userId }, data: { passwordHash: rehashed } })
      return { result: checked, entry: { audit: [sessionAudit(toActor(user, origin), 'created', sessionId, user)] } }
    })
  }

  #noteFailure(
    { tenantId, userId, name }: { tenantId: string; userId: string; name: string },
    message: string,
    origin: Origin,
  ): void {
    this.#parts.security.note({ reason: 'sign_in_failed', message, tenantId, about: { id: userId, name }, origin })
  }

  async #isFamiliar(candidates: readonly { userId: string }[], ip: string): Promise<boolean> {
    const sessions = await this.#parts.db.prisma.session.findMany({
      where: { userId: { in: candidates.map(({ userId }) => userId) }, createdAt: { gt: new Date(now() - familiarMs) } },
      distinct: ['ipAddress'],
      select: { ipAddress: true },
      orderBy: { createdAt: 'desc' },
      take: 100,
    })
    return sessions.some(({ ipAddress }) => toAddressGroup(ipAddress) === toAddressGroup(ip))
  }
}

const familiarMs = 30 * 86_400_000

const missingCode = "This user has a second factor. Send its current code, or a recovery code, as 'code'."

const wrongCredentials = () => unauthenticated('The email address or password is wrong.')

const toActor = ({ tenantId, userId, name, email, scopes }: UserRow, origin: Origin): Actor => ({
  tenantId,
  kind: 'user',
  id: userId,
  name,
  email,
  scopes: scopes as Scope[],
  contexts: null,
  ...origin,
})
