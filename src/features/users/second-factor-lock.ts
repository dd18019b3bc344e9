import type { AuditRow } from '../../ledger/entry.js'
import type { Transaction } from '../../ledger/ledger.js'
import type { Actor } from '../../platform/actor.js'
import { now } from '../../platform/clock.js'
import { AssayError } from '../../platform/errors/errors.js'
import type { UserRow } from './user-row.js'

// Three of one million codes are valid at any time: for the current time step and one step on either side. With these limits,
// 100 guesses take three months and succeed with a probability of 0.03%.
const wrongCodesUntilLock = 10
const wrongCodesUntilReset = 100
const hourMs = 3_600_000
const maxLockHours = 24

export const noWrongCodes = { wrongCodes: 0, codesLockedUntil: null }

/** Returns the error for every code of a locked user. Correct codes cause the same error, so that guesses reveal nothing. */
export function getCodeLockError({ wrongCodes, codesLockedUntil }: UserRow): AssayError | undefined {
  if (wrongCodes >= wrongCodesUntilReset)
    return new AssayError(
      'forbidden',
      `This user's second-factor codes are locked after ${wrongCodesUntilReset} wrong codes. Ask an admin to reset the second factor or the password.`,
      { details: { second_factor: 'locked', locked_until: null } },
    )
  const waitMs = (codesLockedUntil?.getTime() ?? 0) - now()
  if (waitMs <= 0) return undefined
  const until = codesLockedUntil!.toISOString()
  const retryAfter = Math.ceil(waitMs / 1000)
  return new AssayError(
    'rate_limited',
    `This user's second-factor codes are locked until ${until} after ${wrongCodes} wrong codes. Wait, or ask an admin to reset the second factor or the password.`,
    { retryAfter, details: { retry_after: retryAfter, second_factor: 'locked', locked_until: until } },
  )
}

export function assertUnlocked(user: UserRow): void {
  const lock = getCodeLockError(user)
  if (lock) throw lock
}

/**
 * Counts a wrong code. The transaction must hold the lock on the user's row. Returns an audit log entry if codes are now locked.
 */
export async function countWrongCode(tx: Transaction, actor: Actor, user: UserRow): Promise<AuditRow[]> {
  const { tenantId, userId, name } = user
  const wrongCodes = user.wrongCodes + 1
  const hours = Math.min(maxLockHours, 2 ** (wrongCodes - wrongCodesUntilLock))
  const codesLockedUntil = wrongCodes < wrongCodesUntilLock ? null : new Date(now() + hours * hourMs)
  await tx.user.update({ where: { tenantId, userId }, data: { wrongCodes, codesLockedUntil } })
  const lock = getCodeLockError({ ...user, wrongCodes, codesLockedUntil })
  if (!lock) return []
  const { message, details } = lock
  return [
    {
      actor,
      tenantId,
      auditType: 'security',
      action: 'created',
      entityType: 'security',
      entityId: userId,
      entityName: name,
      details: { reason: 'second_factor_locked', message, wrong_codes: wrongCodes, locked_until: details.locked_until },
    },
  ]
}
