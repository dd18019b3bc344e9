import { toAddressGroup } from '../../access/address-group.js'
import { suspendedTenant } from '../../access/authenticate.js'
import { changeIdentity } from '../../access/identity.js'
import { hasSameSalt } from '../../access/passwords.js'
import { sessionSeconds } from '../../access/sessions.js'
import { type Actor, createSystemActor, type Origin } from '../../platform/actor.js'
import { now } from '../../platform/clock.js'
import type { Prisma } from '../../platform/db/generated/client.js'
import { getSqlErrorKind } from '../../platform/db/sql-errors.js'
import { forbidden, unauthenticated } from '../../platform/errors/errors.js'
import { getIdTime, isId, newId } from '../../platform/ids.js'
import { normalizeEmail } from '../../platform/text.js'
import type { Components } from '../components.js'
import { createMissingCodeError, getCodeLockError, type SecondFactorService } from './second-factor.service.js'
import { endSessions, insertSession, type NewSession } from './session.service.js'
import type { UserService } from './user.service.js'
import type { ChangePasswordArgs, SignIn, SignInArgs } from './user.types.js'
import { delayCredentialAttempt, findUser, toUser } from './user-row.js'

interface Dependencies extends Pick<Components, 'db' | 'ledger' | 'identity' | 'passwords' | 'limits' | 'security'> {
  users: UserService
  secondFactors: SecondFactorService
}

type Candidate = Prisma.UserGetPayload<{ include: { tenant: true } }>

interface CheckedSignIn {
  session: NewSession
  origin: Origin
  code: string | null | undefined
  /** New hash of the password. Null if the stored hash needs no update. */
  newPasswordHash: string | null
}

/**
 * Signs in dashboard users, either with email address, password and second factor, or with a welcome link. A session lasts 12
 * hours.
 */
export class SignInService {
  constructor(private readonly parts: Dependencies) {}

  /**
   * Signs in a user with a password. Throws the same 401 error for an unknown email address and for a wrong password. Repeated
   * attempts are slowed down.
   */
  async signIn(origin: Origin, { email, password, tenantId, code }: SignInArgs, signal?: AbortSignal): Promise<SignIn> {
    const candidates = await this.#findCandidates(email, tenantId)
    const isFamiliar = () => this.#isFamiliarAddress(candidates, origin.ip)
    const attempt = await this.parts.limits.signIns.delayAttempt({ email, ip: origin.ip, isFamiliar, signal })
    const user = await this.#findByPassword(candidates, password, origin)
    const lock = user.totpConfirmedAt ? getCodeLockError(user) : undefined
    if (lock) {
      this.#recordFailure(user, "This user's second factor is locked after too many wrong codes.", origin)
      throw lock
    }
    if (user.totpConfirmedAt && !code) {
      await attempt.recordSuccess()
      throw createMissingCodeError(codeRequired)
    }
    const sessionId = newId('ses')
    const { token, expiresAt } = await this.parts.identity.sessions.issue(user, sessionId)
    const createdAt = getIdTime(sessionId)
    const minExpiry = new Date(createdAt.getTime() + sessionSeconds * 1000)
    const session = { sessionId, createdAt, expiresAt: expiresAt > minExpiry ? expiresAt : minExpiry }
    const salted = candidates.find(({ passwordHash }) => passwordHash !== null)!.passwordHash!
    const isCurrent = !this.parts.passwords.needsRehash(user.passwordHash!) && hasSameSalt(user.passwordHash!, salted)
    const newPasswordHash = isCurrent ? null : await this.parts.passwords.hash(password, salted)
    const checked = await this.#createSession(user, { session, origin, code, newPasswordHash })
    if (!checked.isRight) {
      this.#recordFailure(user, 'The second-factor code is wrong.', origin)
      if (checked.audit.length > 0) this.parts.security.count('second_factor_locked')
      throw createMissingCodeError('The code is wrong or was already used. Enter the current code.')
    }
    await attempt.recordSuccess()
    const secondFactorDue = user.tenant.secondFactorRequired && user.totpConfirmedAt === null
    return { token, expiresAt, user: toUser(user), secondFactorDue }
  }

  /** Returns the signed part of a welcome link, which follows `/#welcome=` in the URL. */
  async createWelcomeToken(userId: string): Promise<string> {
    const ids = `${newId('ses').slice(4)}.${userId.slice(4)}`
    return `${ids}.${await this.parts.identity.sessions.sign(toSignedText(ids))}`
  }

  /**
   * Signs in a user with a welcome link. Throws 401 if the link is invalid, expired or used. The link works only once, because it
   * contains the ID of the session that it creates.
   */
  async signInWithWelcomeToken(origin: Origin, welcomeToken: string): Promise<SignIn> {
    const { db, ledger, identity } = this.parts
    const { sessionId, userId } = await this.#parseWelcomeToken(welcomeToken)
    const user = await db.prisma.user.findUnique({ where: { userId }, include: { tenant: true } })
    if (user?.status !== 'active' || user.tenant.status !== 'active') throw createUsedLinkError()
    const { token, expiresAt } = await identity.sessions.issue(user, sessionId)
    try {
      await ledger.changeTenant(user.tenantId, async (tx) => {
        const current = await findUser(tx, user.tenantId, userId)
        if (current.totpConfirmedAt || current.status !== 'active') throw createUsedLinkError()
        const session = { sessionId, createdAt: new Date(now()), expiresAt }
        return { result: undefined, entry: { audit: [await insertSession(tx, user, origin, session)] } }
      })
    } catch (error) {
      if (getSqlErrorKind(error) === 'duplicate') throw createUsedLinkError()
      throw error
    }
    return { token, expiresAt, user: toUser(user), secondFactorDue: user.tenant.secondFactorRequired }
  }

  /** Ends the token's session. Returns false if this service did not create a session for the token. */
  async signOut(actor: Actor): Promise<boolean> {
    const { sessionId } = actor
    if (!sessionId) return false
    return changeIdentity(this.parts, { tenantId: actor.tenantId, kind: 'session', id: sessionId }, async (tx) => {
      const audit = await endSessions(tx, actor, { userId: actor.id, name: actor.name }, sessionId)
      return { result: true, audit }
    })
  }

  /** Changes the signed-in user's password and ends all other sessions of the user. */
  async changePassword(
    actor: Actor,
    { currentPassword, newPassword }: ChangePasswordArgs,
    signal?: AbortSignal,
  ): Promise<boolean> {
    if (actor.kind !== 'user') throw forbidden('Only dashboard users have a password. Sign in as a dashboard user.')
    const attempt = await delayCredentialAttempt(this.parts.limits, actor, signal)
    const user = await this.parts.db.prisma.user.findFirst({ where: { tenantId: actor.tenantId, userId: actor.id } })
    if (!user || !(await this.parts.passwords.verify(user.passwordHash, currentPassword)))
      throw forbidden('The current password is wrong.')
    await attempt.recordSuccess()
    await this.parts.users.setPassword(actor, actor.id, newPassword, actor.sessionId)
    return true
  }

  /**
   * Deletes sessions that expired more than 30 days ago. Their IP addresses are then no longer familiar, so sign-ins from them
   * may be slowed down.
   */
  async deleteExpiredSessions(): Promise<number> {
    const { count } = await this.parts.db.prisma.session.deleteMany({
      where: { expiresAt: { lt: new Date(now() - familiarMs) } },
    })
    return count
  }

  /** Returns the users with this email address, at most one per tenant. */
  #findCandidates(email: string, tenantId: string | null | undefined): Promise<Candidate[]> {
    return this.parts.db.prisma.user.findMany({
      where: { email: normalizeEmail(email), ...(tenantId && { tenantId: isId('ten', tenantId) ? tenantId : '' }) },
      include: { tenant: true },
      orderBy: { userId: 'asc' },
      take: 10,
    })
  }

  /** Returns the oldest active user with this password. Throws 401 if no user matches, and 403 if the tenant is suspended. */
  async #findByPassword(candidates: readonly Candidate[], password: string, origin: Origin): Promise<Candidate> {
    const matches = await this.parts.passwords.verifyAll(
      candidates.map(({ passwordHash }) => passwordHash),
      password,
    )
    const found = candidates.filter((_, index) => matches[index])
    const user = found.find(({ status, tenant }) => status === 'active' && tenant.status === 'active') ?? found[0]
    if (user?.status !== 'active') {
      const message = user ? 'The user is disabled.' : 'The password is wrong.'
      for (const each of user ? [user] : candidates) this.#recordFailure(each, message, origin)
      throw createWrongCredentialsError()
    }
    if (user.tenant.status !== 'active') throw forbidden(suspendedTenant)
    return user
  }

  /** Checks the second-factor code and stores the session in one transaction. */
  #createSession(user: Candidate, { session, origin, code, newPasswordHash }: CheckedSignIn) {
    const { tenantId, userId } = user
    return this.parts.ledger.changeTenant(tenantId, async (tx) => {
      // The password may have changed while it was being verified. That change ended all sessions, so this sign-in must fail.
      const current = await findUser(tx, tenantId, userId)
      if (current.passwordHash !== user.passwordHash) throw createWrongCredentialsError()
      // The user may have enabled a second factor after the row was read.
      if (current.totpConfirmedAt && !code) throw createMissingCodeError(codeRequired)
      const client = { ...createSystemActor(tenantId), ...origin }
      const checked = await this.parts.secondFactors.verifyCode(tx, client, current, code ?? '')
      // Commit the transaction instead of throwing, so that the wrong code is counted.
      if (!checked.isRight) return { result: checked, entry: { audit: checked.audit } }
      if (newPasswordHash) await tx.user.update({ where: { userId }, data: { passwordHash: newPasswordHash } })
      return { result: checked, entry: { audit: [await insertSession(tx, user, origin, session)] } }
    })
  }

  async #parseWelcomeToken(welcomeToken: string): Promise<{ sessionId: string; userId: string }> {
    const [session, user, signature = ''] = welcomeToken.split('.')
    const [sessionId, userId] = [`ses_${session}`, `usr_${user}`]
    if (!isId('ses', sessionId) || !isId('usr', userId)) throw createUsedLinkError()
    if (!(await this.parts.identity.sessions.verifySignature(toSignedText(`${session}.${user}`), signature)))
      throw createUsedLinkError()
    if (now() - getIdTime(sessionId).getTime() > maxLinkAgeMs) throw createUsedLinkError()
    return { sessionId, userId }
  }

  #recordFailure(
    { tenantId, userId, name }: { tenantId: string; userId: string; name: string },
    message: string,
    origin: Origin,
  ): void {
    this.parts.security.recordEvent({ reason: 'sign_in_failed', message, tenantId, subject: { id: userId, name }, origin })
  }

  async #isFamiliarAddress(candidates: readonly { userId: string }[], ip: string): Promise<boolean> {
    const sessions = await this.parts.db.prisma.session.findMany({
      where: { userId: { in: candidates.map(({ userId }) => userId) }, createdAt: { gt: new Date(now() - familiarMs) } },
      distinct: ['ipAddress'],
      select: { ipAddress: true },
      orderBy: { createdAt: 'desc' },
      take: 100,
    })
    return sessions.some(({ ipAddress }) => toAddressGroup(ipAddress) === toAddressGroup(ip))
  }
}

const maxLinkAgeMs = 10 * 60_000
const familiarMs = 30 * 86_400_000

const codeRequired = "This user has a second factor. Send its current code, or a recovery code, as 'code'."

const createWrongCredentialsError = () => unauthenticated('The email address or password is wrong.')

const toSignedText = (ids: string) => `assay welcome ${ids}`

const createUsedLinkError = () =>
  unauthenticated('This link was already used or is older than ten minutes. Sign in with your email address and password.')
