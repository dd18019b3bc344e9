import { timingSafeEqual } from 'node:crypto'
import { createCredentialBatcher } from '../../access/identity-cache.js'
import { createRowToken, hashSecret, logTokenForm } from '../../access/secrets.js'
import { listRowsNewestFirst, type Page, type PageArgs, toPagePosition } from '../../api/graphql/page.js'
import { type AuditRow, createAuditRow } from '../../ledger/entry.js'
import type { Actor } from '../../platform/actor.js'
import { now } from '../../platform/clock.js'
import { conflict, notFound } from '../../platform/errors/errors.js'
import { getIdTime, isId, newId } from '../../platform/ids.js'
import type { Components } from '../components.js'
import type { LogShare, NewLogShare } from './proof.types.js'

const day = 86_400_000
const maxShares = 100
const suspectPauseMs = 1_000

interface PresentedToken {
  tenantId: string
  shareId: string
  hash: Buffer
}

interface FoundReader {
  tenantId: string
  shareId: string
  isSuspended: boolean
  expiresAt: Date
}

/** Manages access tokens for auditors. Each token can read only the log of one tenant. */
export class LogShareService {
  readonly #lookups = createCredentialBatcher((presented: readonly PresentedToken[]) => this.#findReaders(presented))
  readonly #suspectLookups = createCredentialBatcher((presented: readonly PresentedToken[]) => this.#findReaders(presented), {
    minPauseMs: suspectPauseMs,
  })

  constructor(private readonly parts: Pick<Components, 'db' | 'ledger'>) {}

  create(actor: Actor, days: number): Promise<NewLogShare> {
    const { tenantId } = actor
    const shareId = newId('shr')
    const createdAt = getIdTime(shareId)
    const expiresAt = new Date(createdAt.getTime() + days * day)
    const { token, hash } = createRowToken('log', tenantId, shareId)
    return this.parts.ledger.changeTenant(tenantId, async (tx) => {
      await tx.logShare.deleteMany({ where: { tenantId, expiresAt: { lt: new Date(now()) } } })
      if ((await tx.logShare.count({ where: { tenantId } })) >= maxShares)
        throw conflict(`The transparency log already has the maximum of ${maxShares} access tokens. Revoke a token first.`)
      const tokenHash = new Uint8Array(hash)
      await tx.logShare.create({ data: { tenantId, shareId, tokenHash, createdBy: actor.id, createdAt, expiresAt } })
      return {
        result: { shareId, token, expiresAt },
        entry: { audit: [toShareAuditRow(actor, 'created', shareId, { change: 'log_shared', days })] },
      }
    })
  }

  async list({ tenantId }: Actor, args: PageArgs): Promise<Page<LogShare>> {
    return listRowsNewestFirst(this.parts.db.prisma.logShare, {
      key: 'shareId',
      where: { tenantId },
      position: toPagePosition('shr', args),
    })
  }

  revoke(actor: Actor, shareId: string): Promise<LogShare> {
    const { tenantId } = actor
    return this.parts.ledger.changeTenant(tenantId, async (tx) => {
      const share = isId('shr', shareId) ? await tx.logShare.findFirst({ where: { tenantId, shareId } }) : null
      if (!share) throw notFound('share', shareId)
      await tx.logShare.deleteMany({ where: { tenantId, shareId } })
      return { result: share, entry: { audit: [toShareAuditRow(actor, 'revoked', shareId, { change: 'log_share_revoked' })] } }
    })
  }

  /**
   * Returns the reader that a token belongs to, or undefined if the token is unknown, revoked or expired. Tokens from suspect IP
   * addresses are looked up together, in at most one query per second, so that guessing causes little load.
   */
  async findReader(token: string, { isSuspectAddress }: { isSuspectAddress: boolean }): Promise<FoundReader | undefined> {
    const [, tenant, share, secret] = logTokenForm.exec(token) ?? []
    if (!tenant || !share || !secret) return undefined
    const lookups = isSuspectAddress ? this.#suspectLookups : this.#lookups
    const found = await lookups.add({ tenantId: `ten_${tenant}`, shareId: `shr_${share}`, hash: hashSecret(secret) })
    return found && found.expiresAt.getTime() > now() ? found : undefined
  }

  async #findReaders(tokens: readonly PresentedToken[]): Promise<(FoundReader | null)[]> {
    const { rows } = await this.parts.db.pool.query<FoundReader & { tokenHash: Buffer }>({
      name: 'log-shares-presented',
      text: `SELECT s.tenant_id AS "tenantId", s.share_id AS "shareId", s.token_hash AS "tokenHash", s.expires_at AS "expiresAt",
          t.status <> 'active' AS "isSuspended"
        FROM log_shares s JOIN tenants t ON t.tenant_id = s.tenant_id WHERE s.tenant_id = ANY ($1) AND s.share_id = ANY ($2)`,
      values: [tokens.map(({ tenantId }) => tenantId), tokens.map(({ shareId }) => shareId)],
    })
    const found = new Map(rows.map((row) => [`${row.tenantId} ${row.shareId}`, row]))
    return tokens.map(({ tenantId, shareId, hash }) => {
      const row = found.get(`${tenantId} ${shareId}`)
      return row && timingSafeEqual(row.tokenHash, hash) ? row : null
    })
  }
}

const toShareAuditRow = (actor: Actor, action: AuditRow['action'], shareId: string, details: Record<string, unknown>) =>
  createAuditRow(actor, action, { type: 'log_share', id: shareId, name: shareId }, details)
