import { type AuditRow, createAuditRow } from '../../ledger/entry.js'
import { type Actor, hasScope } from '../../platform/actor.js'
import { badUserInput, type FieldError } from '../../platform/errors/errors.js'
import { type FileContext, normalizeExtensions } from '../contexts/context.types.js'
import type { CreateUploadLinkInput, UploadLink } from './upload-link.types.js'

/** SQL expression for the status of link `l`. */
export const statusColumn = `CASE WHEN l.revoked_at IS NOT NULL THEN 'revoked' WHEN l.accepted_files >= l.max_files THEN 'used'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END`

/**
 * SQL condition that is true if link `l` is usable. `c` is the link's context, `t` its tenant, and `k` or `s` the API key or user
 * that created it.
 */
export const isUsable = `(l.revoked_at IS NULL AND l.expires_at > now() AND t.status = 'active' AND c.status = 'active' AND coalesce(k.status, s.status) = 'active'
  AND (k.expires_at IS NULL OR k.expires_at > now()) AND coalesce(k.scopes, s.scopes) && '{upload,admin}')`

/**
 * Limits of a link, and current limits of its context. Null means that the link has no such limit, or that the context was
 * deleted.
 */
interface Limits {
  allowedExtensions: string[] | null
  maxSizeMb: number | null
  contextExtensions: string[] | null
  contextSizeMb: number | null
}

export type LinkRow = Omit<UploadLink, 'allowedExtensions' | 'maxSizeMb' | 'id'> & Limits

/** SQL columns of `LinkRow`, from `upload_links l` and its context `c`. */
export const linkColumns = `l.link_id AS "linkId", l.context_key AS "contextKey", ${statusColumn} AS status, l.max_files AS "maxFiles", l.accepted_files AS "acceptedFiles",
  l.rejected_files AS "rejectedFiles", l.max_size_mb AS "maxSizeMb", l.allowed_extensions AS "allowedExtensions", l.sha256, l.metadata, l.origins, l.expires_at AS "expiresAt",
  l.created_by AS "createdBy", l.created_at AS "createdAt", c.allowed_extensions AS "contextExtensions", c.max_file_size_mb AS "contextSizeMb"`

/**
 * Returns the limits that currently apply to uploads. The limits of the context may have decreased after the link was created.
 */
export const toCurrentLimits = ({ allowedExtensions, maxSizeMb, contextExtensions, contextSizeMb }: Limits) => ({
  allowedExtensions: (contextExtensions ?? []).filter((extension) => allowedExtensions?.includes(extension) ?? true),
  maxSizeMb: Math.min(contextSizeMb ?? maxSizeMb ?? 0, maxSizeMb ?? Number.POSITIVE_INFINITY),
})

/** Converts a row to the fields of a link in the API. */
export function toUploadLink({ contextExtensions, contextSizeMb, ...row }: LinkRow): UploadLink {
  return { ...row, ...toCurrentLimits({ ...row, contextExtensions, contextSizeMb }) } as UploadLink
}

/** Throws 400 if the link would allow more than its context. `toRequestName` returns a field's name in the request. */
export function assertWithinContextLimits(
  { maxSizeMb, allowedExtensions, sha256, maxFiles }: CreateUploadLinkInput,
  context: FileContext,
  toRequestName: (field: string) => string,
): void {
  const errors: FieldError[] = []
  const addError = (field: string, message: string) => errors.push({ field: toRequestName(field), message })
  const { contextKey, maxFileSizeMb } = context
  if (typeof maxSizeMb === 'number' && maxSizeMb > maxFileSizeMb)
    addError('maxSizeMb', `must be at most ${maxFileSizeMb}, the limit of context '${contextKey}'`)
  const more = normalizeExtensions(allowedExtensions ?? []).filter((extension) => !context.allowedExtensions.includes(extension))
  if (more.length > 0)
    addError(
      'allowedExtensions',
      `must be allowed in context '${contextKey}', which allows ${context.allowedExtensions.join(', ')}`,
    )
  if (sha256 && maxFiles !== 1) addError('sha256', `requires ${toRequestName('maxFiles')} to be 1`)
  if (errors.length > 0) throw badUserInput(errors)
}

/** Returns the creator whose links the actor can see. Null means all links, which only admins can see. */
export const toOwnerFilter = (actor: Actor): string | null => (hasScope(actor, 'admin') ? null : actor.id)

export const toLinkAuditRow = (
  actor: Actor,
  action: 'created' | 'revoked',
  { linkId, contextKey }: Pick<UploadLink, 'linkId' | 'contextKey'>,
  details: Record<string, unknown>,
): AuditRow => ({
  ...createAuditRow(actor, action, { type: 'upload_link', id: linkId, name: linkId }, { context_key: contextKey, ...details }),
  contextKey,
})
