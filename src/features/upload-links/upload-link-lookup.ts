import { timingSafeEqual } from 'node:crypto'
import type { Pool } from 'pg'
import { createCredentialBatcher } from '../../access/identity-cache.js'
import { hashSecret, uploadTokenForm } from '../../access/secrets.js'
import type { Actor, Origin } from '../../platform/actor.js'
import type { UploadLink } from './upload-link.types.js'

const suspectPauseMs = 1_000

export const statusColumn = `CASE WHEN l.revoked_at IS NOT NULL THEN 'revoked' WHEN l.accepted_files >= l.max_files THEN 'used'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END`

/**
 * SQL condition that is true if link `l` is usable. `c` is the link's context, `t` its tenant, and `k` or `s` the API key or user
 * that created it.
 */
const isUsable = `(l.revoked_at IS NULL AND l.expires_at > now() AND t.status = 'active' AND c.status = 'active' AND coalesce(k.status, s.status) = 'active'
  AND (k.expires_at IS NULL OR k.expires_at > now()) AND coalesce(k.scopes, s.scopes) && '{upload,admin}')`

/** Limits of a link and of its context. Null means that the link has no such limit, or that the context was deleted. */
interface Limits {
  allowedExtensions: readonly string[] | null
  maxSizeMb: number | null
  contextExtensions: string[] | null
  contextSizeMb: number | null
}

export type LinkRow = Omit<UploadLink, 'allowedExtensions' | 'maxSizeMb' | 'id'> & Limits

/** SQL columns of `LinkRow`, from `upload_links l` and its context `c`. */
export const linkColumns = `l.link_id AS "linkId", l.context_key AS "contextKey", ${statusColumn} AS status, l.max_files AS "maxFiles", l.accepted_files AS "acceptedFiles",
  l.rejected_files AS "rejectedFiles", l.max_size_mb AS "maxSizeMb", l.allowed_extensions AS "allowedExtensions", l.sha256, l.metadata, l.origins, l.expires_at AS "expiresAt",
  l.created_by AS "createdBy", l.created_at AS "createdAt", c.allowed_extensions AS "contextExtensions", c.max_file_size_mb AS "contextSizeMb"`

/** Returns the limits that currently apply to uploads. The context's limits may have decreased after the link was created. */
export const toCurrentLimits = ({ allowedExtensions, maxSizeMb, contextExtensions, contextSizeMb }: Limits) => ({
  allowedExtensions: (contextExtensions ?? []).filter((extension) => allowedExtensions?.includes(extension) ?? true),
  maxSizeMb: Math.min(contextSizeMb ?? maxSizeMb ?? 0, maxSizeMb ?? Number.POSITIVE_INFINITY),
})

export function toUploadLink({ contextExtensions, contextSizeMb, ...row }: LinkRow): UploadLink {
  return { ...row, ...toCurrentLimits({ ...row, contextExtensions, contextSizeMb }) } as UploadLink
}

interface PresentedToken {
  tenantId: string
  linkId: string
  hash: Buffer
}

/** An upload link whose token a client has sent. */
export type PresentedLink = LinkRow & {
  tenantId: string
  contextId: string
  contextName: string
  createdByKind: 'api_key' | 'user'
  creatorName: string
  creatorEmail: string | null
}

type FoundLink = PresentedLink & { tokenHash: Buffer; isUsable: boolean }

/** Finds upload links by token. Nothing is cached, so that every request uses the current state and the database clock. */
export class UploadLinkLookup {
  readonly #lookups = createCredentialBatcher((presented: readonly PresentedToken[]) => this.#findLinks(presented))
  readonly #suspectLookups = createCredentialBatcher((presented: readonly PresentedToken[]) => this.#findLinks(presented), {
    minPauseMs: suspectPauseMs,
  })

  constructor(private readonly pool: Pool) {}

  /**
   * Returns the link for a token, even if the link is used up. Returns undefined if the token is unknown, or if the link is
   * unusable for another reason. Lookups for suspect IP addresses (those with many failed attempts) share at most one query per
   * second.
   */
  async findByToken(token: string, { isSuspectAddress }: { isSuspectAddress: boolean }): Promise<PresentedLink | undefined> {
    const [, tenant, link, secret] = uploadTokenForm.exec(token) ?? []
    if (!tenant || !link || !secret) return undefined
    const lookups = isSuspectAddress ? this.#suspectLookups : this.#lookups
    const found = await lookups.add({ tenantId: `ten_${tenant}`, linkId: `ulk_${link}`, hash: hashSecret(secret) })
    return found ?? undefined
  }

  /** Returns true if the link was used with this Idempotency-Key and the response is stored. */
  async hasResponse({ tenantId, linkId }: PresentedLink, key: string): Promise<boolean> {
    const { rowCount } = await this.pool.query(
      'SELECT 1 FROM idempotency_keys WHERE tenant_id = $1 AND actor_id = $2 AND key = $3 AND response IS NOT NULL',
      [tenantId, linkId, key],
    )
    return rowCount === 1
  }

  async #findLinks(tokens: readonly PresentedToken[]): Promise<(PresentedLink | null)[]> {
    const { rows } = await this.pool.query<FoundLink>({
      name: 'upload-links-presented',
      text: findStatement,
      values: [tokens.map(({ tenantId }) => tenantId), tokens.map(({ linkId }) => linkId)],
    })
    const found = new Map(rows.map((row) => [`${row.tenantId} ${row.linkId}`, row]))
    return tokens.map(({ tenantId, linkId, hash }) => {
      const row = found.get(`${tenantId} ${linkId}`)
      return row && timingSafeEqual(row.tokenHash, hash) && row.isUsable ? row : null
    })
  }
}

const findStatement = `SELECT ${linkColumns}, l.tenant_id AS "tenantId", l.token_hash AS "tokenHash", l.context_id AS "contextId", c.display_name AS "contextName",
    l.created_by_kind AS "createdByKind", coalesce(k.name, s.name) AS "creatorName", s.email AS "creatorEmail", ${isUsable} AS "isUsable"
  FROM (SELECT DISTINCT tenant_id, link_id FROM unnest($1::text[], $2::text[]) AS p(tenant_id, link_id)) p
  JOIN upload_links l ON l.tenant_id = p.tenant_id AND l.link_id = p.link_id
  JOIN tenants t ON t.tenant_id = l.tenant_id
  JOIN file_contexts c ON c.tenant_id = l.tenant_id AND c.context_id = l.context_id
  LEFT JOIN api_keys k ON l.created_by_kind = 'api_key' AND k.tenant_id = l.tenant_id AND k.api_key_id = l.created_by
  LEFT JOIN users s ON l.created_by_kind = 'user' AND s.tenant_id = l.tenant_id AND s.user_id = l.created_by`

export const isUsedUp = ({ acceptedFiles, maxFiles }: PresentedLink): boolean => acceptedFiles >= maxFiles

/** Returns an actor that acts on behalf of the link's creator, but can only upload to the link's context. */
export const toLinkActor = (
  { linkId, contextKey, allowedExtensions, maxSizeMb, sha256, metadata, ...link }: PresentedLink,
  origin: Origin,
): Actor => ({
  tenantId: link.tenantId,
  kind: link.createdByKind,
  id: link.createdBy,
  name: link.creatorName,
  email: link.creatorEmail,
  scopes: ['upload'],
  contexts: [link.contextId],
  uploadLink: { linkId, contextKey, allowedExtensions, maxSizeMb, sha256, metadata },
  ...origin,
})

/** Returns the rules that a client can check before an upload, for the response to `GET /upload/{token}`. */
export const toPublicRules = (link: PresentedLink) => {
  const { allowedExtensions, maxSizeMb } = toCurrentLimits(link)
  return {
    allowed_extensions: allowedExtensions,
    max_size_mb: maxSizeMb,
    max_files: link.maxFiles,
    remaining: link.maxFiles - link.acceptedFiles,
    expires_at: link.expiresAt.toISOString(),
    display_name: link.contextName,
  }
}
