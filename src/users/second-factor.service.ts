import type { Actor } from '../auth/actor.js'
import { announce } from '../auth/identity-listener.js'
import type { MasterKey } from '../auth/master-key.js'
import { newRecoveryCodes, newTotpSecret, recoveryCodeHash, totpForApp, totpLabel, totpStep } from '../auth/one-time-codes.js'
import type { Passwords } from '../auth/passwords.js'
import type { RateLimits } from '../auth/rate-limits.js'
import { currentTime } from '../clock.js'
import type { Database } from '../db/client.js'
import { AssayError, conflict, forbidden } from '../errors.js'
import type { Ledger, Transaction } from '../ledger/ledger.js'
import { endSessions } from './session.service.js'
import type { User } from './user.type.js'
import { lockedUser, toUser, type UserRow, userAudit } from './user-row.js'

interface Parts {
  db: Database
  ledger: Ledger
  masterKey: MasterKey
  passwords: Passwords
  limits: RateLimits
  forget: (userId: string) => void
}

/** The time-based one-time codes that a dashboard user signs in with beside the password. */
export class SecondFactorService {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** A new secret, which replaces one that was never confirmed. The password, so that a stolen session alone sets none up. */
  async begin(actor: Actor, password: string, signal?: AbortSignal): Promise<{ secret: string; uri: string }> {
    const attempt = await this.#attempt(actor, signal)
    const user = await this.#parts.db.prisma.user.findFirst({ where: { tenantId: actor.tenantId, userId: actor.id } })
    if (actor.kind !== 'user' || !user?.passwordHash)
      throw forbidden('Only a dashboard user who signs in by password has a second factor.')
    if (!(await this.#parts.passwords.verify(user.passwordHash, password))) throw forbidden('The password is wrong.')
    await attempt.succeeded()
    const secret = newTotpSecret()
    const totpSecret = new Uint8Array(this.#parts.masterKey.encrypt(secret, totpLabel(actor.id)))
    await this.#change(actor, actor.id, async (tx, before) => {
      if (before.totpConfirmedAt) throw conflict('A second factor is in use; remove it first.')
      await tx.user.update({ where: { userId: actor.id }, data: { totpSecret, totpLastStep: 0 } })
      return []
    })
    return totpForApp(secret, user.email)
  }

  /** Puts the secret of `begin` to use; the recovery codes are shown this once. */
  async confirm(actor: Actor, code: string, signal?: AbortSignal): Promise<{ recoveryCodes: string[] }> {
    const attempt = await this.#attempt(actor, signal)
    const recoveryCodes = newRecoveryCodes()
    await this.#change(actor, actor.id, async (tx, before) => {
      if (before.totpConfirmedAt) throw conflict('The second factor is in use already.')
      if (!before.totpSecret) throw conflict('No second factor was begun; begin one first.')
      const step = totpStep(await this.#secretOf(before), code)
      if (step === null) throw forbidden('This code is wrong; the clocks of this service and of the authenticator must agree.')
      await tx.user.update({
        where: { userId: actor.id },
        data: {
          totpConfirmedAt: currentTime(),
          totpLastStep: step,
          recoveryCodes: recoveryCodes.map((each) => new Uint8Array(recoveryCodeHash(each))),
        },
      })
      return [userAudit(actor, 'updated', before, { changed: { second_factor: true } })]
    })
    await attempt.succeeded()
    return { recoveryCodes }
  }

  /** By the user, with a code; refused where the tenant requires one. */
  async remove(actor: Actor, code: string, signal?: AbortSignal): Promise<boolean> {
    const attempt = await this.#attempt(actor, signal)
    await this.#change(actor, actor.id, async (tx, before) => {
      const { secondFactorRequired } = await tx.tenant.findUniqueOrThrow({ where: { tenantId: actor.tenantId } })
      if (secondFactorRequired) throw forbidden('This tenant requires a second factor.')
      if (!(await this.spend(tx, before, code))) throw forbidden('This code is wrong.')
      await tx.user.update({ where: { userId: actor.id }, data: none })
      return [userAudit(actor, 'updated', before, { changed: { second_factor: false } })]
    })
    await attempt.succeeded()
    return true
  }

  /** By an admin, for a user who lost it; ends the user's sessions. */
  async reset(actor: Actor, userId: string): Promise<User> {
    const user = await this.#change(actor, userId, async (tx, before) => {
      await tx.user.update({ where: { userId }, data: none })
      const ended = await endSessions(tx, actor, before)
      return [...ended, userAudit(actor, 'updated', before, { changed: { second_factor: false } })]
    })
    return toUser(user)
  }

  /** True where the user has no second factor, or the code is right: then it is spent, in this transaction. The user's row is locked. */
  async spend(tx: Transaction, user: UserRow, code: string): Promise<boolean> {
    if (!user.totpConfirmedAt) return true
    const { userId, recoveryCodes } = user
    if (/^\s*\d{3}\s?\d{3}\s*$/.test(code)) {
      const step = totpStep(await this.#secretOf(user), code.replace(/\s/g, ''))
      if (step === null || step <= user.totpLastStep) return false
      await tx.user.update({ where: { userId }, data: { totpLastStep: step } })
      return true
    }
    const hash = recoveryCodeHash(code)
    const left = recoveryCodes.filter((each) => !hash.equals(each))
    if (left.length === recoveryCodes.length) return false
    await tx.user.update({ where: { userId }, data: { recoveryCodes: left } })
    return true
  }

  #attempt(actor: Actor, signal?: AbortSignal) {
    return this.#parts.limits.signIns.begin({
      email: actor.email ?? actor.id,
      ip: actor.ip,
      isFamiliar: async () => true,
      signal,
    })
  }

  #secretOf({ userId, totpSecret }: UserRow): Promise<Buffer> {
    return this.#parts.masterKey.decrypt(Buffer.from(totpSecret!), totpLabel(userId))
  }

  async #change(
    actor: Actor,
    userId: string,
    work: (tx: Transaction, before: UserRow) => Promise<ReturnType<typeof userAudit>[]>,
  ): Promise<UserRow> {
    const user = await this.#parts.ledger.change(actor.tenantId, async (tx) => {
      const audit = await work(tx, await lockedUser(tx, actor.tenantId, userId))
      await announce({ query: (sql, values) => tx.$executeRawUnsafe(sql, ...values) }, 'user', userId)
      return { result: await tx.user.findUniqueOrThrow({ where: { userId } }), entry: { audit } }
    })
    this.#parts.forget(userId)
    return user
  }
}

const none = { totpSecret: null, totpConfirmedAt: null, totpLastStep: 0, recoveryCodes: [] }

/** The 401 of a right password without a right code: `details.second_factor` tells a client to ask for one. */
export const codeNeeded = (message: string) => new AssayError('unauthenticated', message, { details: { second_factor: 'code' } })
