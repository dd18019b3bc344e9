import { createRowToken } from '../../access/secrets.js'
import { type Page, toPage, toPagePosition, toSkipAndTake } from '../../api/graphql/page.js'
import { maxMetadataBytes } from '../../api/graphql/rules.js'
import { type AuditRow, createAuditRow, type Entry } from '../../ledger/entry.js'
import type { Transaction } from '../../ledger/ledger.js'
import { type Actor, createSystemActor, hasScope, type UploadLinkRules } from '../../platform/actor.js'
import { badUserInput, conflict, type FieldError, invalidField, notFound } from '../../platform/errors/errors.js'
import { getIdTime, isId, newId } from '../../platform/ids.js'
import type { Components } from '../components.js'
import { assertActive, type FileContextService } from '../contexts/context.service.js'
import { type FileContext, normalizeExtensions } from '../contexts/context.types.js'
import type { CreateUploadLinkInput, NewUploadLink, UploadLink, UploadLinksArgs } from './upload-link.types.js'
import { type LinkRow, linkColumns, statusColumn, toCurrentLimits, toUploadLink } from './upload-link-lookup.js'

/** Maximum number of usable links per tenant. */
const maxOpenLinks = 10_000
/** Number of rejected files, per file that a link may accept, after which the link is revoked. */
const rejectedFilesPerFile = 10
const minRejectedFiles = 20

/** Manages links through which clients without an API key upload files. */
export class UploadLinkService {
  constructor(private readonly parts: Pick<Components, 'db' | 'ledger'> & { contexts: FileContextService; publicUrl: string }) {}

  /**
   * Creates a link. Throws 400 if it would allow more than its context. The error contains the field names that `toRequestName`
   * returns.
   */
  async create(actor: Actor, input: CreateUploadLinkInput, toRequestName: (field: string) => string): Promise<NewUploadLink> {
    const { tenantId } = actor
    const context = await this.parts.contexts.get(actor, input.context)
    const { contextId, contextKey } = context
    assertActive(context)
    assertWithinContextLimits(input, context, toRequestName)
    const linkId = newId('ulk')
    const { token, hash } = createRowToken('ulk', tenantId, linkId)
    const values = [
      ...[tenantId, linkId, new Uint8Array(hash), contextId, contextKey, input.maxFiles, input.maxSizeMb ?? null],
      ...[
        input.allowedExtensions ? normalizeExtensions(input.allowedExtensions) : null,
        input.sha256?.toLowerCase() ?? null,
        JSON.stringify(input.metadata ?? {}),
      ],
      ...[input.origins, actor.id, actor.kind, getIdTime(linkId), input.expiresInSeconds],
    ]
    const row = await this.parts.ledger.changeTenant(tenantId, async (tx) => {
      await assertBelowLinkLimit(tx, tenantId)
      await tx.$executeRawUnsafe(insertStatement, ...values)
      const [made] = await tx.$queryRawUnsafe<LinkRow[]>(selectStatement, tenantId, linkId, null, null)
      const { maxFiles, expiresAt, origins } = made!
      const details = { max_files: maxFiles, expires_at: expiresAt.toISOString(), origins }
      return { result: made!, entry: { audit: [toLinkAuditRow(actor, 'created', made!, details)] } }
    })
    const uploadLink = toUploadLink(row)
    return { ...uploadLink, url: `${this.parts.publicUrl}/upload/${token}`, uploadLink }
  }

  /** Lists the tenant's links, newest first. An actor without the `admin` scope sees only its own links. */
  async list(actor: Actor, { context, status, ...args }: UploadLinksArgs): Promise<Page<UploadLink>> {
    const position = toPagePosition('ulk', args)
    const filter = [
      actor.tenantId,
      await this.parts.contexts.getAccessibleContextIds(actor, context),
      toOwnerFilter(actor),
      status ?? null,
    ]
    const where = `l.tenant_id = $1 AND ($2::text[] IS NULL OR l.context_id = ANY ($2)) AND ($3::text IS NULL OR l.created_by = $3) AND ($4::text IS NULL OR ${statusColumn} = $4)`
    const { skip, take } = toSkipAndTake(position)
    const [{ rows }, counted] = await Promise.all([
      this.parts.db.pool.query<LinkRow>(
        `SELECT ${linkColumns} ${source} WHERE ${where} AND ($5::text IS NULL OR l.link_id < $5) ORDER BY l.link_id DESC OFFSET $6 LIMIT $7`,
        [...filter, position.afterId ?? null, skip, take],
      ),
      this.parts.db.pool.query<{ total: string }>(`SELECT count(*) AS total FROM upload_links l WHERE ${where}`, filter),
    ])
    return toPage(rows.map(toUploadLink), Number(counted.rows[0]!.total), position)
  }

  /** Returns a link. Throws 404 if it does not exist, or if the caller is neither its creator nor an admin. */
  async get(actor: Actor, linkId: string): Promise<UploadLink> {
    const { rows } = await this.parts.db.pool.query<LinkRow>(selectStatement, toLinkQueryValues(actor, linkId))
    if (!rows[0]) throw notFound('upload link', linkId)
    return toUploadLink(rows[0])
  }

  /** Returns links by the IDs of files that were uploaded through them. Omits links that the actor cannot see. */
  async getByFileIds(actor: Actor, fileIds: readonly string[]): Promise<Map<string, UploadLink>> {
    const { rows } = await this.parts.db.pool.query<LinkRow & { fileId: string }>(
      `SELECT u.file_id AS "fileId", ${linkColumns} ${source} JOIN upload_link_files u ON u.tenant_id = l.tenant_id AND u.link_id = l.link_id
       WHERE l.tenant_id = $1 AND u.tenant_id = $1 AND u.file_id = ANY ($2) AND ($3::text IS NULL OR l.created_by = $3)`,
      [actor.tenantId, fileIds, toOwnerFilter(actor)],
    )
    return new Map(rows.map(({ fileId, ...row }) => [fileId, toUploadLink(row)]))
  }

  /**
   * Revokes a link. Once the returned promise resolves, no further upload through the link is stored. Revoking it again has
   * no effect. Throws 404 if the link does not exist.
   */
  async revoke(actor: Actor, linkId: string): Promise<UploadLink> {
    const { tenantId } = actor
    const row = await this.parts.ledger.changeTenant(tenantId, async (tx) => {
      const selection = toLinkQueryValues(actor, linkId)
      const [found] = await tx.$queryRawUnsafe<LinkRow[]>(selectStatement, ...selection)
      if (!found) throw notFound('upload link', linkId)
      if (found.status === 'revoked') return { result: found, entry: [] }
      await tx.$executeRawUnsafe(revokeStatement, tenantId, linkId)
      return {
        result: { ...found, status: 'revoked' as const },
        entry: { audit: [toLinkAuditRow(actor, 'revoked', found, { reason: 'requested' })] },
      }
    })
    return toUploadLink(row)
  }

  /** Returns the context's rules, narrowed by the limits of the upload link. */
  narrowRules(context: FileContext, link: UploadLinkRules): FileContext {
    const { allowedExtensions: contextExtensions, maxFileSizeMb: contextSizeMb } = context
    const { allowedExtensions, maxSizeMb } = toCurrentLimits({ ...link, contextExtensions, contextSizeMb })
    return { ...context, allowedExtensions, maxFileSizeMb: maxSizeMb, requiredSha256: link.sha256 }
  }

  /** Merges the uploader's metadata with the upload link's metadata, which takes precedence. */
  addMetadata(link: UploadLinkRules, metadata: Record<string, unknown>): Record<string, unknown> {
    const merged = { ...metadata, ...link.metadata }
    if (Buffer.byteLength(JSON.stringify(merged)) > maxMetadataBytes)
      throw invalidField('metadata', 'must be at most 16 KiB when combined with the metadata of the upload link')
    return merged
  }

  /** Commits the rejection of a file that was uploaded through a link. Revokes the link after too many rejections. */
  rejectFile({ tenantId, uploadLink }: Actor, entry: Entry): Promise<void> {
    return this.parts.ledger.changeTenant(tenantId, async (tx) => {
      const [link] = await tx.$queryRawUnsafe<{ isOpen: boolean; rejectedFiles: number; maxFiles: number }[]>(
        `UPDATE upload_links SET rejected_files = rejected_files + 1 WHERE tenant_id = $1 AND link_id = $2
         RETURNING revoked_at IS NULL AS "isOpen", rejected_files AS "rejectedFiles", max_files AS "maxFiles"`,
        tenantId,
        uploadLink!.linkId,
      )
      if (!link?.isOpen || link.rejectedFiles < Math.max(minRejectedFiles, rejectedFilesPerFile * link.maxFiles))
        return { result: undefined, entry }
      await tx.$executeRawUnsafe(revokeStatement, tenantId, uploadLink!.linkId)
      const details = { reason: 'too_many_rejected_files', rejected_files: link.rejectedFiles }
      const audit = toLinkAuditRow(createSystemActor(tenantId), 'revoked', uploadLink!, details)
      return { result: undefined, entry: [entry, { audit: [audit] }] }
    })
  }
}

const source = 'FROM upload_links l LEFT JOIN file_contexts c ON c.tenant_id = l.tenant_id AND c.context_id = l.context_id'

const selectStatement = `SELECT ${linkColumns} ${source} WHERE l.tenant_id = $1 AND l.link_id = $2
  AND ($3::text IS NULL OR l.created_by = $3) AND ($4::text[] IS NULL OR l.context_id = ANY ($4))`

const toLinkQueryValues = (actor: Actor, linkId: string) => [
  actor.tenantId,
  isId('ulk', linkId) ? linkId : '',
  toOwnerFilter(actor),
  actor.contexts === null ? null : [...actor.contexts],
]

const insertStatement = `INSERT INTO upload_links (tenant_id, link_id, token_hash, context_id, context_key, max_files, max_size_mb, allowed_extensions, sha256, metadata, origins,
    created_by, created_by_kind, created_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6::int, $7::int, $8::text[], $9, $10::jsonb, $11::text[], $12, $13, $14::timestamptz, now() + make_interval(secs => $15::int))`

const revokeStatement = 'UPDATE upload_links SET revoked_at = now() WHERE tenant_id = $1 AND link_id = $2 AND revoked_at IS NULL'

async function assertBelowLinkLimit(tx: Transaction, tenantId: string): Promise<void> {
  const open = await tx.$queryRawUnsafe<object[]>(
    `SELECT 1 FROM upload_links WHERE tenant_id = $1 AND expires_at > now() AND revoked_at IS NULL AND accepted_files < max_files LIMIT ${maxOpenLinks}`,
    tenantId,
  )
  if (open.length === maxOpenLinks)
    throw conflict(
      `The tenant already has the maximum of ${maxOpenLinks} active upload links. Revoke links that are no longer needed.`,
    )
}

function assertWithinContextLimits(
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
const toOwnerFilter = (actor: Actor): string | null => (hasScope(actor, 'admin') ? null : actor.id)

const toLinkAuditRow = (
  actor: Actor,
  action: 'created' | 'revoked',
  { linkId, contextKey }: Pick<UploadLink, 'linkId' | 'contextKey'>,
  details: Record<string, unknown>,
): AuditRow => ({
  ...createAuditRow(actor, action, { type: 'upload_link', id: linkId, name: linkId }, { context_key: contextKey, ...details }),
  contextKey,
})
