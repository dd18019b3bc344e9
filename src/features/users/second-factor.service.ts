import { changeIdentity } from '../../access/identity.js'
import {
  createTotpSetup,
  findTotpStep,
  generateRecoveryCodes,
  generateTotpSecret,
  getTotpLabel,
  hashRecoveryCode,
} from '../../access/secrets.js'
import { type AuditRow, createAuditRow } from '../../ledger/entry.js'
import type { Transaction } from '../../ledger/ledger.js'
import type { Actor } from '../../platform/actor.js'
import { getCurrentTime, now } from '../../platform/clock.js'
import { AssayError, conflict, forbidden } from '../../platform/errors/errors.js'
import type { Components } from '../components.js'
import { endSessions } from './session.service.js'
import type { ConfirmedSecondFactor, SecondFactorSetUp, User } from './user.types.js'
import { delayCredentialAttempt, findUser, toUser, toUserEntity, type UserRow } from './user-row.js'

// Three of one million codes are valid at any time: for the current time step and one step on either side. With these limits,
// 100 guesses take three months and succeed with a probability of 0.03%.
const wrongCodesUntilLock = 10
const wrongCodesUntilReset = 100
const hourMs = 3_600_000
const maxLockHours = 24

export const noWrongCodes = { wrongCodes: 0, codesLockedUntil: null }

type Dependencies = Pick<Components, 'db' | 'ledger' | 'identity' | 'masterKey' | 'passwords' | 'limits' | 'security'>

/** Result of checking a code. The caller must commit `audit` even for a wrong code, so that the attempt counts. */
interface CodeVerification {
  isRight: boolean
  audit: AuditRow[]
}

/** Manages second factors of dashboard users: time-based one-time codes (RFC 6238) and recovery codes. */
export class SecondFactorService {
  constructor(private readonly parts: Dependencies) {}

  /**
   * Creates the secret of a second factor. The password is required, so that an attacker with a stolen session cannot add a
   * second factor.
   */
  async beginSetup(actor: Actor, password: string, signal?: AbortSignal): Promise<SecondFactorSetUp> {
    const attempt = await delayCredentialAttempt(this.parts.limits, actor, signal)
    const user = await this.parts.db.prisma.user.findFirst({ where: { tenantId: actor.tenantId, userId: actor.id } })
    if (actor.kind !== 'user' || !user?.passwordHash)
      throw forbidden('Only dashboard users who sign in with a password can have a second factor.')
    if (!(await this.parts.passwords.verify(user.passwordHash, password))) throw forbidden('The password is wrong.')
    await attempt.recordSuccess()
    const secret = generateTotpSecret()
    const totpSecret = new Uint8Array(this.parts.masterKey.encrypt(secret, getTotpLabel(actor.id)))
    await this.#changeUser(actor, actor.id, async (tx, before) => {
      if (before.totpConfirmedAt) throw conflict('A second factor is already enabled. Remove it first.')
      assertUnlocked(before)
      await tx.user.update({ where: { userId: actor.id }, data: { totpSecret, totpLastStep: 0 } })
      return []
    })
    return createTotpSetup(secret, user.email)
  }

  /** Enables the second factor that `beginSetup` created. Only this response contains the recovery codes. */
  async confirmSetup(actor: Actor, code: string, signal?: AbortSignal): Promise<ConfirmedSecondFactor> {
    const recoveryCodes = generateRecoveryCodes()
    const wrongCode = "The code is wrong. Check that the authenticator's clock is correct, and enter the current code."
    await this.#changeIfCodeIsCorrect({ actor, wrongCode, signal }, async (tx, before) => {
      if (before.totpConfirmedAt) throw conflict('The second factor is already enabled.')
      if (!before.totpSecret) throw conflict('No second factor was created. Call beginSecondFactor first.')
      assertUnlocked(before)
      const step = findTotpStep(await this.#decryptSecret(before), code)
      if (step === null) return { isRight: false, audit: await recordWrongCode(tx, actor, before) }
      await tx.user.update({
        where: { tenantId: actor.tenantId, userId: actor.id },
        data: {
          ...noWrongCodes,
          totpConfirmedAt: getCurrentTime(),
          totpLastStep: step,
          recoveryCodes: recoveryCodes.map((each) => new Uint8Array(hashRecoveryCode(each))),
        },
      })
      return {
        isRight: true,
        audit: [createAuditRow(actor, 'updated', toUserEntity(before), { changed: { second_factor: true } })],
      }
    })
    return { recoveryCodes }
  }

  /** Removes the signed-in user's second factor. Throws 403 if the tenant requires one. */
  async remove(actor: Actor, code: string, signal?: AbortSignal): Promise<boolean> {
    await this.#changeIfCodeIsCorrect(
      { actor, wrongCode: 'The code is wrong or was already used. Enter the current code.', signal },
      async (tx, before) => {
        const { secondFactorRequired } = await tx.tenant.findUniqueOrThrow({ where: { tenantId: actor.tenantId } })
        if (secondFactorRequired) throw forbidden('The second factor cannot be removed, because this tenant requires one.')
        const checked = await this.verifyCode(tx, actor, before, code)
        if (!checked.isRight) return checked
        await tx.user.update({ where: { tenantId: actor.tenantId, userId: actor.id }, data: noSecondFactor })
        return {
          isRight: true,
          audit: [createAuditRow(actor, 'updated', toUserEntity(before), { changed: { second_factor: false } })],
        }
      },
    )
    return true
  }

  async reset(actor: Actor, userId: string): Promise<User> {
    const user = await this.#changeUser(actor, userId, async (tx, before) => {
      await tx.user.update({ where: { tenantId: actor.tenantId, userId }, data: { ...noSecondFactor, ...noWrongCodes } })
      const ended = await endSessions(tx, actor, before)
      return [...ended, createAuditRow(actor, 'updated', toUserEntity(before), { changed: { second_factor: false } })]
    })
    return toUser(user)
  }

  /** Checks a code and consumes it if it is correct. Accepts any code if the user has no second factor. */
  async verifyCode(tx: Transaction, actor: Actor, user: UserRow, code: string): Promise<CodeVerification> {
    if (!user.totpConfirmedAt) return { isRight: true, audit: [] }
    assertUnlocked(user)
    const used = await this.#consumeCode(user, code)
    if (!used) return { isRight: false, audit: await recordWrongCode(tx, actor, user) }
    const { tenantId, userId } = user
    await tx.user.update({ where: { tenantId, userId }, data: { ...used, ...noWrongCodes } })
    return { isRight: true, audit: [] }
  }

  /** Returns the row changes that consume the code, or null if the code is wrong or was already used. */
  async #consumeCode(user: UserRow, code: string): Promise<Partial<UserRow> | null> {
    if (/^\s*\d{3}\s?\d{3}\s*$/.test(code)) {
      const step = findTotpStep(await this.#decryptSecret(user), code.replace(/\s/g, ''))
      return step === null || step <= user.totpLastStep ? null : { totpLastStep: step }
    }
    const hash = hashRecoveryCode(code)
    const recoveryCodes = user.recoveryCodes.filter((each) => !hash.equals(each))
    return recoveryCodes.length === user.recoveryCodes.length ? null : { recoveryCodes }
  }

  /**
   * Runs `work`, which checks a code and changes the signed-in user's second factor. Throws 403 with the message `wrongCode` if
   * the code is wrong.
   */
  async #changeIfCodeIsCorrect(
    { actor, wrongCode, signal }: { actor: Actor; wrongCode: string; signal: AbortSignal | undefined },
    work: (tx: Transaction, before: UserRow) => Promise<CodeVerification>,
  ): Promise<void> {
    const attempt = await delayCredentialAttempt(this.parts.limits, actor, signal)
    let checked: CodeVerification | undefined
    await this.#changeUser(actor, actor.id, async (tx, before) => {
      checked = await work(tx, before)
      return checked.audit
    })
    if (!checked?.isRight) {
      if (checked?.audit.length) this.parts.security.count('second_factor_locked')
      throw forbidden(wrongCode)
    }
    await attempt.recordSuccess()
  }

  #decryptSecret({ userId, totpSecret }: UserRow): Promise<Buffer> {
    return this.parts.masterKey.decrypt(Buffer.from(totpSecret!), getTotpLabel(userId))
  }

  #changeUser(actor: Actor, userId: string, work: (tx: Transaction, before: UserRow) => Promise<AuditRow[]>): Promise<UserRow> {
    return changeIdentity(this.parts, { tenantId: actor.tenantId, kind: 'user', id: userId }, async (tx) => {
      const audit = await work(tx, await findUser(tx, actor.tenantId, userId))
      return { result: await tx.user.findUniqueOrThrow({ where: { userId } }), audit }
    })
  }
}

const noSecondFactor = { totpSecret: null, totpConfirmedAt: null, totpLastStep: 0, recoveryCodes: [] }

/** Returns the error for a missing or wrong code after a correct password. The details tell clients to prompt for a code. */
export const createMissingCodeError = (message: string) =>
  new AssayError('unauthenticated', message, { details: { second_factor: 'code' } })

/** Returns the error for any code of a locked user, even a correct one, so that guesses reveal nothing. */
export function getCodeLockError({ wrongCodes, codesLockedUntil }: UserRow): AssayError | undefined {
  if (wrongCodes >= wrongCodesUntilReset)
    return new AssayError(
      'forbidden',
      `This user's second factor is locked after ${wrongCodesUntilReset} wrong codes. Ask an admin to reset the second factor or the password.`,
      { details: { second_factor: 'locked', locked_until: null } },
    )
  const waitMs = (codesLockedUntil?.getTime() ?? 0) - now()
  if (waitMs <= 0) return undefined
  const until = codesLockedUntil!.toISOString()
  const retryAfter = Math.ceil(waitMs / 1000)
  return new AssayError(
    'rate_limited',
    `This user's second factor is locked until ${until} after ${wrongCodes} wrong codes. Wait, or ask an admin to reset the second factor or the password.`,
    { retryAfter, details: { retry_after: retryAfter, second_factor: 'locked', locked_until: until } },
  )
}

function assertUnlocked(user: UserRow): void {
  const lock = getCodeLockError(user)
  if (lock) throw lock
}

/** Counts a wrong code. Returns an audit log entry if codes are now locked. */
async function recordWrongCode(tx: Transaction, actor: Actor, user: UserRow): Promise<AuditRow[]> {
  const { tenantId, userId, name } = user
  const wrongCodes = user.wrongCodes + 1
  const hours = Math.min(maxLockHours, 2 ** (wrongCodes - wrongCodesUntilLock))
  const codesLockedUntil = wrongCodes < wrongCodesUntilLock ? null : new Date(now() + hours * hourMs)
  await tx.user.update({ where: { tenantId, userId }, data: { wrongCodes, codesLockedUntil } })
  const lock = getCodeLockError({ ...user, wrongCodes, codesLockedUntil })
  if (!lock) return []
  const { message, details: lockDetails } = lock
  const details = { reason: 'second_factor_locked', message, wrong_codes: wrongCodes, locked_until: lockDetails.locked_until }
  return [createAuditRow(actor, 'created', { type: 'security', id: userId, name }, details)]
}
