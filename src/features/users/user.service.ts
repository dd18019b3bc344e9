import { changeIdentity } from '../../access/identity.js'
import { generatePassword } from '../../access/passwords.js'
import { listRowsNewestFirst, mapPage, type Page, toPagePosition } from '../../api/graphql/page.js'
import { type AuditRow, createAuditRow, createUpdateAuditRows } from '../../ledger/entry.js'
import type { Transaction } from '../../ledger/ledger.js'
import type { Actor } from '../../platform/actor.js'
import { conflict, notFound } from '../../platform/errors/errors.js'
import { getIdTime, newId } from '../../platform/ids.js'
import { normalizeEmail } from '../../platform/text.js'
import type { Components } from '../components.js'
import { noWrongCodes } from './second-factor.service.js'
import { endSessions } from './session.service.js'
import type { InvitedUser, InviteUserInput, PasswordReset, UpdateUserInput, User, UsersArgs } from './user.types.js'
import { findUser, toUser, toUserEntity, type UserRow } from './user-row.js'

interface UserChange {
  data: Partial<UserRow>
  getAudit: (after: UserRow, tx: Transaction) => AuditRow[] | Promise<AuditRow[]>
}

export class UserService {
  constructor(private readonly parts: Pick<Components, 'db' | 'ledger' | 'identity' | 'passwords'>) {}

  /** Creates a user. Throws 409 if the tenant already has a user with this email address. */
  async create(actor: Actor, input: InviteUserInput): Promise<InvitedUser> {
    const { tenantId } = actor
    const generated = input.password ? null : generatePassword()
    const email = normalizeEmail(input.email)
    const passwordHash = await this.#hashPassword(email, input.password ?? generated!)
    const scopes = [...new Set(input.scopes)]
    const userId = newId('usr')
    const createdAt = getIdTime(userId)
    const data = { userId, tenantId, email, name: input.name, passwordHash, scopes, createdAt, updatedAt: createdAt }
    const user = await this.parts.ledger.changeTenant(tenantId, async (tx) => {
      if (await tx.user.findFirst({ where: { tenantId, email } }))
        throw conflict(`User '${email}' already exists in this tenant.`, { email })
      const row = await tx.user.create({ data })
      return { result: toUser(row), entry: { audit: [createAuditRow(actor, 'created', toUserEntity(row), { email, scopes })] } }
    })
    return { user, password: generated }
  }

  async get(actor: Actor, userId: string): Promise<User> {
    return toUser(await findUser(this.parts.db.prisma, actor.tenantId, userId))
  }

  async getByEmail(actor: Actor, email: string): Promise<User> {
    const where = { tenantId: actor.tenantId, email: normalizeEmail(email) }
    const row = await this.parts.db.prisma.user.findFirst({ where })
    if (!row) throw notFound('user', email)
    return toUser(row)
  }

  async list(tenantId: string, { status, ...args }: UsersArgs): Promise<Page<User>> {
    const where = { tenantId, ...(status && { status }) }
    return mapPage(
      await listRowsNewestFirst(this.parts.db.prisma.user, { key: 'userId', where, position: toPagePosition('usr', args) }),
      toUser,
    )
  }

  update(actor: Actor, userId: string, { name, scopes }: UpdateUserInput): Promise<User> {
    return this.#updateUser(actor, userId, (before) => {
      // Only another admin can remove or disable an admin, so a tenant always has at least one admin.
      if (userId === actor.id && before.scopes.includes('admin') && scopes?.includes('admin') === false)
        throw conflict("You cannot remove your own 'admin' scope. Ask another admin.", { user_id: userId })
      return {
        data: { name, scopes: scopes && [...new Set(scopes)] },
        getAudit: (after) => createUpdateAuditRows(actor, toUserEntity(after), toAuditFields(before), toAuditFields(after)),
      }
    })
  }

  disable(actor: Actor, userId: string): Promise<User> {
    if (userId === actor.id) throw conflict('You cannot disable yourself. Ask another admin.', { user_id: userId })
    return this.#setStatus(actor, userId, 'disabled')
  }

  enable(actor: Actor, userId: string): Promise<User> {
    return this.#setStatus(actor, userId, 'active')
  }

  /** Sets the password and ends the user's other sessions, because an intruder who knew the old password may have a session. */
  async setPassword(actor: Actor, userId: string, password: string, currentSession?: string): Promise<User> {
    const { email } = await this.get(actor, userId)
    const passwordHash = await this.#hashPassword(email, password)
    return this.#updateUser(actor, userId, (before) => {
      if (before.issuer)
        throw conflict(
          `User '${userId}' signs in through ${before.issuer} and has no password in this service. Change the password at the identity provider.`,
        )
      return {
        // Users who change their own password keep their count of wrong codes, so that a stolen session cannot reset it.
        data: { passwordHash, ...(actor.id !== userId && noWrongCodes) },
        getAudit: async (after, tx) => [
          ...(await endSessions(tx, actor, after, currentSession && { not: currentSession })),
          createAuditRow(actor, 'updated', toUserEntity(after), { changed: { password: true } }),
        ],
      }
    })
  }

  async resetPassword(actor: Actor, userId: string): Promise<PasswordReset> {
    const password = generatePassword()
    return { user: await this.setPassword(actor, userId, password), password }
  }

  /**
   * Hashes a password. Users with the same email address in several tenants share a salt, so that a sign-in computes only one
   * hash.
   */
  async #hashPassword(email: string, password: string): Promise<string> {
    const user = await this.parts.db.prisma.user.findFirst({
      where: { email, passwordHash: { not: null } },
      orderBy: { userId: 'asc' },
      select: { passwordHash: true },
    })
    return this.parts.passwords.hash(password, user?.passwordHash ?? null)
  }

  #setStatus(actor: Actor, userId: string, status: 'active' | 'disabled'): Promise<User> {
    return this.#updateUser(actor, userId, (before) => {
      if (before.status === status) throw conflict(`User '${userId}' is already ${status}.`, { user_id: userId, status })
      const details = { previous_status: before.status, new_status: status }
      return {
        data: { status },
        getAudit: async (after, tx) =>
          status === 'active'
            ? [createAuditRow(actor, 'enabled', toUserEntity(after), details)]
            : [...(await endSessions(tx, actor, after)), createAuditRow(actor, 'disabled', toUserEntity(after), details)],
      }
    })
  }

  async #updateUser(actor: Actor, userId: string, planChange: (before: UserRow) => UserChange): Promise<User> {
    const { tenantId } = actor
    return changeIdentity(this.parts, { tenantId, kind: 'user', id: userId }, async (tx) => {
      const { data, getAudit } = planChange(await findUser(tx, tenantId, userId))
      const after = await tx.user.update({ where: { userId }, data: { ...data, updatedAt: new Date() } })
      return { result: toUser(after), audit: await getAudit(after, tx) }
    })
  }
}

const toAuditFields = ({ name, scopes }: UserRow) => ({ name, scopes })
