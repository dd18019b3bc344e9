import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Actor } from '../auth/actor.js'
import { hashOf, logTokenForm } from '../auth/secrets.js'
import { now } from '../clock.js'
import type { Database } from '../db/client.js'
import { conflict, notFound } from '../errors.js'
import { type Page, type PageArgs, pageOf, placeOf, rowsOf } from '../graphql/page.js'
import { idTime, isId, newId } from '../ids.js'
import type { AuditRow } from '../ledger/entry.js'
import type { Ledger } from '../ledger/ledger.js'
import type { LogShare, NewLogShare } from './proof.type.js'

const day = 86_400_000
const mostShares = 100
const secretBytes = 32

/** Whose log a token reads. */
export interface LogReader {
  tenantId: string
  shareId: string
  isSuspended: boolean
}

/** Tokens for an auditor: each reads the log of one tenant, and nothing else. */
export class LogShareService {
  readonly #db: Database
  readonly #ledger: Ledger

  constructor(parts: { db: Database; ledger: Ledger }) {
    this.#db = parts.db
    this.#ledger = parts.ledger
  }

  /** The token is in the answer and nowhere else. */
  create(actor: Actor, days: number): Promise<NewLogShare> {
    const { tenantId } = actor
    const shareId = newId('shr')
    const createdAt = idTime(shareId)
    const expiresAt = new Date(createdAt.getTime() + days * day)
    const secret = randomBytes(secretBytes).toString('base64url')
    return this.#ledger.change(tenantId, async (tx) => {
      await tx.logShare.deleteMany({ where: { tenantId, expiresAt: { lt: new Date(now()) } } })
      if ((await tx.logShare.count({ where: { tenantId } })) >= mostShares)
        throw conflict(`The log is shared by ${mostShares} tokens already; revoke one that is not needed any more.`)
      const tokenHash = new Uint8Array(hashOf(secret))
      await tx.logShare.create({ data: { tenantId, shareId, tokenHash, createdBy: actor.id, createdAt, expiresAt } })
      return {
        result: { shareId, token: `log_${bare(tenantId)}_${bare(shareId)}_${secret}`, expiresAt },
        entry: { audit: [auditOf(actor, 'created', shareId, { change: 'log_shared', days })] },
      }
    })
  }

  async list(actor: Actor, args: PageArgs): Promise<Page<LogShare>> {
    const place = placeOf('shr', args)
    const where = { tenantId: actor.tenantId }
    const older = place.afterId === undefined ? {} : { shareId: { lt: place.afterId } }
    const [rows, total] = await Promise.all([
      this.#db.prisma.logShare.findMany({ where: { ...where, ...older }, orderBy: { shareId: 'desc' }, ...rowsOf(place) }),
      this.#db.prisma.logShare.count({ where }),
    ])
    return pageOf<LogShare>(rows, total, place)
  }

  /** Takes effect at once. */
  revoke(actor: Actor, shareId: string): Promise<LogShare> {
    const { tenantId } = actor
    return this.#ledger.change(tenantId, async (tx) => {
      const share = isId('shr', shareId) ? await tx.logShare.findFirst({ where: { tenantId, shareId } }) : null
      if (!share) throw notFound('share', shareId)
      await tx.logShare.deleteMany({ where: { tenantId, shareId } })
      return { result: share, entry: { audit: [auditOf(actor, 'revoked', shareId, { change: 'log_share_revoked' })] } }
    })
  }

  /** Undefined where the token is none, or not any more. */
  async readerOf(token: string): Promise<LogReader | undefined> {
    const [, tenant, share, secret] = logTokenForm.exec(token) ?? []
    if (!tenant || !share || !secret) return undefined
    const [tenantId, shareId] = [`ten_${tenant}`, `shr_${share}`]
    const { rows } = await this.#db.pool.query<{ token_hash: Buffer; expires_at: Date; is_suspended: boolean }>({
      name: 'log-share',
      text: `SELECT s.token_hash, s.expires_at, t.status <> 'active' AS is_suspended
        FROM log_shares s JOIN tenants t ON t.tenant_id = s.tenant_id WHERE s.tenant_id = $1 AND s.share_id = $2`,
      values: [tenantId, shareId],
    })
    const row = rows[0]
    if (!row || !timingSafeEqual(row.token_hash, hashOf(secret)) || row.expires_at.getTime() <= now()) return undefined
    return { tenantId, shareId, isSuspended: row.is_suspended }
  }
}

const bare = (id: string): string => id.slice(id.indexOf('_') + 1)

const auditOf = (actor: Actor, action: AuditRow['action'], shareId: string, details: Record<string, unknown>): AuditRow => ({
  actor,
  tenantId: actor.tenantId,
  auditType: 'tenant',
  action,
  entityType: 'log_share',
  entityId: shareId,
  entityName: shareId,
  details,
})
