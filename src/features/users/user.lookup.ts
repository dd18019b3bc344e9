import type { Pool } from 'pg'
import type { ExternalUserClaims } from '../../access/external-tokens.js'
import type { SessionRecord, UserRecord } from '../../access/token-record.js'
import type { Entry } from '../../ledger/entry.js'
import type { Ledger, Transaction } from '../../ledger/ledger.js'
import { createSystemActor } from '../../platform/actor.js'
import { getSqlErrorKind } from '../../platform/db/sql-errors.js'
import { getIdTime, isId, newId } from '../../platform/ids.js'
import { normalizeEmail } from '../../platform/text.js'
import { toUserAuditRow } from './user-row.js'

const userColumns = `u.user_id AS "userId", u.tenant_id AS "tenantId", u.name, u.email, u.scopes::text[] AS scopes, u.status, t.status AS "tenantStatus",
  t.second_factor_required AND u.totp_confirmed_at IS NULL AND u.issuer IS NULL AS "secondFactorDue"`

/** Returns a function that loads a session with the current data of its user. */
export const createSessionLoader =
  (pool: Pool) =>
  async (sessionId: string): Promise<SessionRecord | null> => {
    const { rows } = await pool.query<UserRecord & { sessionId: string; expiresAt: Date; revokedAt: Date | null }>({
      name: 'session-by-id',
      text: `SELECT s.session_id AS "sessionId", s.expires_at AS "expiresAt", s.revoked_at AS "revokedAt", ${userColumns}
        FROM sessions s JOIN users u USING (user_id) JOIN tenants t USING (tenant_id) WHERE s.session_id = $1`,
      values: [sessionId],
    })
    const row = rows[0]
    if (!row) return null
    const { sessionId: id, expiresAt, revokedAt, ...user } = row
    return { sessionId: id, expiresAt, revokedAt, user }
  }

/**
 * Returns a function that finds or creates the user for an external token. The function returns null if the tenant does not
 * exist.
 */
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
    // Concurrent requests may create the same user, or another user with the same email address, so retry after a conflict.
    for (let attempt = 1; ; attempt++) {
      try {
        await ledger.changeTenant(tenantId, (tx) => createExternalUser(tx, facts))
      } catch (error) {
        if (getSqlErrorKind(error) !== 'duplicate' || attempt === 5) throw error
      }
      const created = await findExternalUser(pool, facts)
      if (created) return created
    }
  }

async function findExternalUser(pool: Pool, { tenantId, issuer, subject }: ExternalUserClaims): Promise<UserRecord | null> {
  const { rows } = await pool.query<UserRecord>(
    `SELECT ${userColumns} FROM users u JOIN tenants t USING (tenant_id) WHERE u.tenant_id = $1 AND u.issuer = $2 AND u.subject = $3`,
    [tenantId, issuer, subject],
  )
  return rows[0] ?? null
}

async function createExternalUser(
  tx: Transaction,
  { issuer, subject, tenantId, scopes, email, name }: ExternalUserClaims,
): Promise<{ result: undefined; entry: Entry }> {
  const userId = newId('usr')
  const now = getIdTime(userId)
  // A user with a password may already have this email address. The two users stay separate.
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
  return { result: undefined, entry: { audit: [toUserAuditRow(createSystemActor(tenantId), 'created', row, details)] } }
}
