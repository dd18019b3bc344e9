import { announce } from '../../access/identity-listener.js'
import { generatePassword, type Passwords } from '../../access/passwords.js'
import { mapPage, newestFirst, type Page, type PageArgs, toPagePlace } from '../../api/graphql/page.js'
import type { AuditRow } from '../../ledger/entry.js'
import type { Ledger, Transaction } from '../../ledger/ledger.js'
import type { Actor } from '../../platform/actor.js'
import type { Database } from '../../platform/db/client.js'
import { sqlFault } from '../../platform/db/sql-errors.js'
import { conflict, notFound } from '../../platform/errors/errors.js'
import { idTime, isId, newId } from '../../platform/ids.js'
import { keptEmail } from '../../platform/plain-text.js'
import { noWrongCodes } from './second-factor-lock.js'
import { endSessions } from './session.service.js'
import type { InviteUserInput, UpdateUserInput, User } from './user.types.js'
import { lockedUser, toUser, type UserRow, userAudit } from './user-row.js'

/** Dashboard users: invited, changed, disabled. How they sign in is sign-in.service.ts. */
export class UserService {
  readonly #db: Database
  readonly #ledger: Ledger
  readonly #passwords: Passwords
  readonly #forget: (userId: string) => void

  constructor(parts: { db: Database; ledger: Ledger; passwords: Passwords; forget: (userId: string) => void }) {
    this.#db = parts.db
    this.#ledger = parts.ledger
    this.#passwords = parts.passwords
    this.#forget = parts.forget
  }

  /** Throws 409 where the tenant has a user of that e-mail address. The password is in the answer only where it was made here. */
  async create(actor: Actor, input: InviteUserInput): Promise<{ user: User; password: string | null }> {
    const made = input.password ? null : generatePassword()
    const email = keptEmail(input.email)
    const passwordHash = await this.#passwords.hash(input.password ?? made!, await this.#hashBesides(email))
    const userId = newId('usr')
    const now = idTime(userId)
    try {
      const user = await this.#ledger.change(actor.tenantId, async (tx) => {
        const row = await tx.user.create({
          data: {
            userId,
            tenantId: actor.tenantId,
            email,
            name: input.name,
            passwordHash,
            scopes: [...new Set(input.scopes)],
            createdAt: now,
            updatedAt: now,
          },
        })
        return { result: toUser(row), entry: { audit: [userAudit(actor, 'created', row, { email, scopes: row.scopes })] } }
      })
      return { user, password: made }
    } catch (error) {
      if (sqlFault(error) === 'duplicate') throw conflict(`User '${email}' already exists in this tenant.`, { email })
      throw error
    }
  }

  async get(actor: Actor, userId: string): Promise<User> {
    const row = isId('usr', userId) ? await this.#db.prisma.user.findFirst({ where: { tenantId: actor.tenantId, userId } }) : null
    if (!row) throw notFound('user', userId)
    return toUser(row)
  }

  async list(
    tenantId: string,
    { page, pageSize, after, status }: PageArgs & { status?: 'active' | 'disabled' | null },
  ): Promise<Page<User>> {
    const place = toPagePlace('usr', { page, pageSize, after })
    const where = { tenantId, ...(status && { status }) }
    return mapPage(await newestFirst(this.#db.prisma.user, { key: 'userId', where, place }), toUser)
  }

  update(actor: Actor, userId: string, input: UpdateUserInput): Promise<User> {
    return this.#change(actor, userId, (before) => {
      // With `disable` below: an admin is ended by another one, so that a tenant is never left without.
      if (userId === actor.id && before.scopes.includes('admin') && input.scopes?.includes('admin') === false)
        throw conflict("You cannot remove the scope 'admin' from yourself. Ask another admin.", { user_id: userId })
      return {
        data: {
          ...(input.name !== undefined && { name: input.name }),
          ...(input.scopes !== undefined && { scopes: [...new Set(input.scopes)] }),
        },
        audit: (after) => updateOf(actor, before, after),
      }
    })
  }

  /** Throws 409 where the user is disabled already, or is the one who asks. */
  disable(actor: Actor, userId: string): Promise<User> {
    if (userId === actor.id) throw conflict('You cannot disable yourself. Ask another admin.', { user_id: userId })
    return this.#move(actor, userId, 'disabled', 'disabled')
  }

  /** Throws 409 where the user is active already. */
  enable = (actor: Actor, userId: string) => this.#move(actor, userId, 'active', 'enabled')

  /** Ends every session of the user but `keepSession` in the same transaction: an intruder who knew the old password may hold one. */
  async setPassword(actor: Actor, userId: string, password: string, keepSession?: string): Promise<User> {
    const { email } = await this.get(actor, userId)
    const passwordHash = await this.#passwords.hash(password, await this.#hashBesides(email))
    return this.#change(actor, userId, (before) => {
      if (before.issuer) throw conflict(`User '${userId}' signs in at ${before.issuer} and has no password in this service.`)
      return {
        // A user’s own new password keeps the count: an attacker with an open session and the password could otherwise reset it.
        data: { passwordHash, ...(actor.id !== userId && noWrongCodes) },
        audit: async (after, tx) => [
          ...(await endSessions(tx, actor, after, keepSession ? { sessionId: { not: keepSession } } : {})),
          userAudit(actor, 'updated', after, { changed: { password: true } }),
        ],
      }
    })
  }

  /** A made password in place of the old one; ends the user's sessions. Shown once. */
  async resetPassword(actor: Actor, userId: string): Promise<{ user: User; password: string }> {
    const password = generatePassword()
    return { user: await this.setPassword(actor, userId, password), password }
  }

  /** By the operator, who knows the address; throws 404. */
  async byEmail(actor: Actor, email: string): Promise<User> {
    const where = { tenantId: actor.tenantId, email: keptEmail(email) }
    const row = await this.#db.prisma.user.findFirst({ where })
    if (!row) throw notFound('user', email)
    return toUser(row)
  }

  /** The hash whose salt every user of that address shares, whatever the tenant: one hash then judges a sign-in to all of them. */
  async #hashBesides(email: string): Promise<string | null> {
    const where = { email, passwordHash: { not: null } }
    const user = await this.#db.prisma.user.findFirst({ where, orderBy: { userId: 'asc' }, select: { passwordHash: true } })
    return user?.passwordHash ?? null
  }

  #move(actor: Actor, userId: string, status: 'active' | 'disabled', action: AuditRow['action']): Promise<User> {
    return this.#change(actor, userId, (before) => {
      if (before.status === status) throw conflict(`User '${userId}' is already ${status}.`, { user_id: userId, status })
      return {
        data: { status },
        audit: async (after, tx) => [
          // For good: a user who is enabled again signs in again.
          ...(status === 'disabled' ? await endSessions(tx, actor, after) : []),
          userAudit(actor, action, after, { previous_status: before.status, new_status: status }),
        ],
      }
    })
  }

  async #change(
    actor: Actor,
    userId: string,
    plan: (before: UserRow) => {
      data: Partial<UserRow>
      audit: (after: UserRow, tx: Transaction) => AuditRow[] | Promise<AuditRow[]>
    },
  ): Promise<User> {
    const row = await this.#ledger.change(actor.tenantId, async (tx: Transaction) => {
      const { data, audit } = plan(await lockedUser(tx, actor.tenantId, userId))
      const after = await tx.user.update({ where: { userId }, data: { ...data, updatedAt: new Date() } })
      await announce({ query: (sql, values) => tx.$executeRawUnsafe(sql, ...values) }, 'user', userId)
      return { result: after, entry: { audit: await audit(after, tx) } }
    })
    this.#forget(userId)
    return toUser(row)
  }
}

/** None where nothing was changed. */
function updateOf(actor: Actor, before: UserRow, after: UserRow): AuditRow[] {
  const changed: Record<string, unknown> = {}
  if (before.name !== after.name) changed.name = { previous: before.name, new: after.name }
  if (before.scopes.join() !== after.scopes.join()) changed.scopes = { previous: before.scopes, new: after.scopes }
  return Object.keys(changed).length > 0 ? [userAudit(actor, 'updated', after, { changed })] : []
}
