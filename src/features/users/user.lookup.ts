import type { Pool } from 'pg'
import type { ExternalUserClaims } from '../../access/external-tokens.js'
import type { SessionRecord, UserRecord } from '../../access/token-record.js'
import { createAuditRow, type Entry } from '../../ledger/entry.js'
import type { Ledger, Transaction } from '../../ledger/ledger.js'
import { createSystemActor } from '../../platform/actor.js'
import { getIdTime, isId, newId } from '../../platform/ids.js'
import { normalizeEmail } from '../../platform/text.js'
import { toUserEntity } from './user-row.js'

const userColumns = `u.user_id AS "userId", u.tenant_id AS "tenantId", u.name, u.email, u.scopes::text[] AS scopes, u.status, t.status AS "tenantStatus",
  t.second_factor_required AND u.totp_confirmed_at IS NULL AND u.issuer IS NULL AS "secondFactorDue"`

export const createSessionLoader =
  (pool: Pool) =>
  async (sessionId: string): Promise<SessionRecord | null> => {
    const { rows } = await pool.query<UserRecord & { expiresAt: Date; revokedAt: Date | null }>({
      name: 'session-by-id',
      text: `SELECT s.expires_at AS "expiresAt", s.revoked_at AS "revokedAt", ${userColumns}
        FROM sessions s JOIN users u USING (user_id) JOIN tenants t USING (tenant_id) WHERE s.session_id = $1`,
      values: [sessionId],
    })
    if (!rows[0]) return null
    const { expiresAt, revokedAt, ...user } = rows[0]
    return { sessionId, expiresAt, revokedAt, user }
  }

/** Returns a function that finds or creates the user for an external token. If the tenant does not exist, it returns null. */
export const createExternalUserFinder =
  (pool: Pool, ledger: Ledger) =>
  async (facts: ExternalUserClaims): Promise<UserRecord | null> => {
    const { tenantId, scopes } = facts
    if (!isId('ten', tenantId)) return null
    const existing = await findExternalUser(pool, facts)
    // Scopes in the token take precedence over stored scopes.
    if (existing) return scopes ? { ...existing, scopes } : existing
    const tenant = await pool.query('SELECT 1 FROM tenants WHERE tenant_id = $1', [tenantId])
    if (tenant.rowCount === 0) return null
    await ledger.changeTenant(tenantId, (tx) => createExternalUser(tx, facts))
    return findExternalUser(pool, facts)
  }

async function findExternalUser(pool: Pool, { tenantId, issuer, subject }: ExternalUserClaims): Promise<UserRecord | null> {
  const { rows } = await pool.query<UserRecord>(
    `SELECT ${userColumns} FROM users u JOIN tenants t USING (tenant_id) WHERE u.tenant_id = $1 AND u.issuer = $2 AND u.subject = $3`,
    [tenantId, issuer, subject],
  )
  return rows[0] ?? null
}

/** Creates the user, unless a concurrent request has created it. */
async function createExternalUser(
  tx: Transaction,
  { issuer, subject, tenantId, scopes, email, name }: ExternalUserClaims,
): Promise<{ result: undefined; entry: Entry | [] }> {
  if (await tx.user.findFirst({ where: { tenantId, issuer, subject } })) return { result: undefined, entry: [] }
  const userId = newId('usr')
  const now = getIdTime(userId)
  // A user with a password may already have this email address. The two users remain separate, so the new one gets a different
  // address.
  const sameEmail = email ? await tx.user.findFirst({ where: { tenantId, email: normalizeEmail(email) } }) : null
  const row = await tx.user.create({
    data: {
      userId,
      tenantId,
      email: email && !sameEmail ? normalizeEmail(email) : `${subject}@${issuer}`,
      name: name ?? email ?? subject,
      scopes: scopes ?? [],
      issuer,
      subject,
      createdAt: now,
      updatedAt: now,
    },
  })
  const details = { issuer, subject, email: row.email, scopes: row.scopes }
  return {
    result: undefined,
    entry: { audit: [createAuditRow(createSystemActor(tenantId), 'created', toUserEntity(row), details)] },
  }
}
