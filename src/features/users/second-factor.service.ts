import { announce } from '../../access/identity-listener.js'
import type { MasterKey } from '../../access/master-key.js'
import {
  newRecoveryCodes,
  newTotpSecret,
  recoveryCodeHash,
  totpForApp,
  totpLabel,
  totpStep,
} from '../../access/one-time-codes.js'
import type { Passwords } from '../../access/passwords.js'
import type { RateLimits } from '../../access/rate-limits.js'
import type { SecurityTrail } from '../../access/security-trail.js'
import type { AuditRow } from '../../ledger/entry.js'
import type { Ledger, Transaction } from '../../ledger/ledger.js'
import type { Actor } from '../../platform/actor.js'
import { currentTime } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import { AssayError, conflict, forbidden } from '../../platform/errors/errors.js'
import { codeLock, countWrongCode, noWrongCodes } from './second-factor-lock.js'
import { endSessions } from './session.service.js'
import type { User } from './user.types.js'
import { lockedUser, toUser, type UserRow, userAudit } from './user-row.js'

interface Parts {
  db: Database
  ledger: Ledger
  masterKey: MasterKey
  passwords: Passwords
  limits: RateLimits
  security: SecurityTrail
  forget: (userId: string) => void
}

/** Whether a code was right. A caller commits `audit` also if it was wrong, so that the code counts. */
interface CheckedCode {
  isRight: boolean
  audit: AuditRow[]
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
      throw forbidden('Only dashboard users who sign in with a password can have a second factor.')
    if (!(await this.#parts.passwords.verify(user.passwordHash, password))) throw forbidden('The password is wrong.')
    await attempt.succeeded()
    const secret = newTotpSecret()
    const totpSecret = new Uint8Array(this.#parts.masterKey.encrypt(secret, totpLabel(actor.id)))
    await this.#change(actor, actor.id, async (tx, before) => {
      if (before.totpConfirmedAt) throw conflict('A second factor is already enabled. Remove it first.')
      assertUnlocked(before)
      await tx.user.update({ where: { userId: actor.id }, data: { totpSecret, totpLastStep: 0 } })
      return []
    })
    return totpForApp(secret, user.email)
  }

  /** Enables the secret of `begin`. The recovery codes are shown only in this response. */
  async confirm(actor: Actor, code: string, signal?: AbortSignal): Promise<{ recoveryCodes: string[] }> {
    const recoveryCodes = newRecoveryCodes()
    const wrongCode = 'The code is wrong. Check that the clock of the authenticator is correct, and enter the current code.'
    await this.#changeByCode({ actor, wrongCode, signal }, async (tx, before) => {
      if (before.totpConfirmedAt) throw conflict('The second factor is already enabled.')
      if (!before.totpSecret) throw conflict('No second factor was created. Call beginSecondFactor first.')
      assertUnlocked(before)
      const step = totpStep(await this.#secretOf(before), code)
      if (step === null) return { isRight: false, audit: await countWrongCode(tx, actor, before) }
      await tx.user.update({
        where: { tenantId: actor.tenantId, userId: actor.id },
        data: {
          ...noWrongCodes,
          totpConfirmedAt: currentTime(),
          totpLastStep: step,
          recoveryCodes: recoveryCodes.map((each) => new Uint8Array(recoveryCodeHash(each))),
        },
      })
      return { isRight: true, audit: [userAudit(actor, 'updated', before, { changed: { second_factor: true } })] }
    })
    return { recoveryCodes }
  }

  /** By the user, with a code. Throws 403 if the tenant requires a second factor. */
  async remove(actor: Actor, code: string, signal?: AbortSignal): Promise<boolean> {
    await this.#changeByCode(
      { actor, wrongCode: 'The code is wrong or was already used. Enter the current code.', signal },
      async (tx, before) => {
        const { secondFactorRequired } = await tx.tenant.findUniqueOrThrow({ where: { tenantId: actor.tenantId } })
        if (secondFactorRequired) throw forbidden('This tenant requires a second factor, so it cannot be removed.')
        const checked = await this.check(tx, actor, before, code)
        if (!checked.isRight) return checked
        await tx.user.update({ where: { tenantId: actor.tenantId, userId: actor.id }, data: none })
        return { isRight: true, audit: [userAudit(actor, 'updated', before, { changed: { second_factor: false } })] }
      },
    )
    return true
  }

  /** By an admin, for a user who lost it; ends the user's sessions. */
  async reset(actor: Actor, userId: string): Promise<User> {
    const user = await this.#change(actor, userId, async (tx, before) => {
      await tx.user.update({ where: { tenantId: actor.tenantId, userId }, data: { ...none, ...noWrongCodes } })
      const ended = await endSessions(tx, actor, before)
      return [...ended, userAudit(actor, 'updated', before, { changed: { second_factor: false } })]
    })
    return toUser(user)
  }

  /**
   * Checks a code and consumes a right one, in this transaction, with the user's row locked. A user without a second factor needs
   * no code. Throws while codes are locked, whether this one is right or wrong.
   */
  async check(tx: Transaction, actor: Actor, user: UserRow, code: string): Promise<CheckedCode> {
    if (!user.totpConfirmedAt) return { isRight: true, audit: [] }
    assertUnlocked(user)
    const used = await this.#use(user, code)
    if (!used) return { isRight: false, audit: await countWrongCode(tx, actor, user) }
    const { tenantId, userId } = user
    await tx.user.update({ where: { tenantId, userId }, data: { ...used, ...noWrongCodes } })
    return { isRight: true, audit: [] }
  }

  /** What changes in the user's row if this code is used. Null if it is wrong or was already used. */
  async #use(user: UserRow, code: string): Promise<Pick<UserRow, 'totpLastStep'> | Pick<UserRow, 'recoveryCodes'> | null> {
    if (/^\s*\d{3}\s?\d{3}\s*$/.test(code)) {
      const step = totpStep(await this.#secretOf(user), code.replace(/\s/g, ''))
      return step === null || step <= user.totpLastStep ? null : { totpLastStep: step }
    }
    const hash = recoveryCodeHash(code)
    const recoveryCodes = user.recoveryCodes.filter((each) => !hash.equals(each))
    return recoveryCodes.length === user.recoveryCodes.length ? null : { recoveryCodes }
  }

  /** A change of the user's own second factor that needs a code. A wrong code is counted, then rejected with 403 `wrongCode`. */
  async #changeByCode(
    { actor, wrongCode, signal }: { actor: Actor; wrongCode: string; signal: AbortSignal | undefined },
    work: (tx: Transaction, before: UserRow) => Promise<CheckedCode>,
  ): Promise<void> {
    const attempt = await this.#attempt(actor, signal)
    let checked: CheckedCode | undefined
    await this.#change(actor, actor.id, async (tx, before) => {
      checked = await work(tx, before)
      return checked.audit
    })
    if (!checked?.isRight) {
      if (checked?.audit.length) this.#parts.security.count('second_factor_locked')
      throw forbidden(wrongCode)
    }
    await attempt.succeeded()
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

function assertUnlocked(user: UserRow): void {
  const lock = codeLock(user)
  if (lock) throw lock
}

/** The 401 of a right password without a right code. `details.second_factor` tells a client to ask for one. */
export const codeNeeded = (message: string) => new AssayError('unauthenticated', message, { details: { second_factor: 'code' } })
