import type { Attempt } from '../admission/attempt.js'
import { type Actor, maySeeContext } from '../auth/actor.js'
import type { Database } from '../db/client.js'
import { notFound } from '../errors.js'
import { faultPoint } from '../fault-points.js'
import type { FileContextService } from '../file-contexts/file-context.service.js'
import { type Connection, connectionOf, idOfCursor, type Page, pageOf } from '../graphql/page.js'
import { isId } from '../ids.js'
import type { Ledger } from '../ledger/ledger.js'
import type { BlobStorage } from '../storage/blob-storage.js'
import type { ValidationReport } from '../validation/checks/check.js'
import type { DownloadUrl, File, Uploader } from './file.type.js'

/** Spec §8: how long a download URL lives. */
export const downloadSeconds = 300

interface Filter {
  context?: string | null
  uploadedBy?: string | null
}

const columns = `f.file_id AS "fileId", f.tenant_id AS "tenantId", f.context_id AS "contextId", c.context_key AS "contextKey", f.original_filename AS "originalFilename",
  f.content_type AS "contentType", f.size_bytes AS "sizeBytes", 'sha256:' || f.checksum AS checksum, f.metadata, f.uploaded_by AS "uploadedBy", f.uploaded_by_name AS "uploadedByName",
  f.download_count AS "downloadCount", f.last_downloaded_at AS "lastDownloadedAt", f.created_at AS "createdAt", f.updated_at AS "updatedAt"`
const source = 'files f JOIN file_contexts c ON c.tenant_id = f.tenant_id AND c.context_id = f.context_id'

/** Files that are kept: found, listed, handed out, deleted. How they come in is upload.service.ts. */
export class FileService {
  readonly #db: Database
  readonly #ledger: Ledger
  readonly #storage: BlobStorage
  readonly #contexts: FileContextService

  constructor(parts: { db: Database; ledger: Ledger; storage: BlobStorage; contexts: FileContextService }) {
    this.#db = parts.db
    this.#ledger = parts.ledger
    this.#storage = parts.storage
    this.#contexts = parts.contexts
  }

  /** Throws 404; the attempt learns which file and context it is about. */
  async get(attempt: Attempt, fileId: string): Promise<File & { blobPath: string }> {
    const { actor } = attempt
    const { rows } = isId('file', fileId)
      ? await this.#db.pool.query<File & { blobPath: string }>({
          name: 'file-by-id',
          text: `SELECT ${columns}, f.blob_path AS "blobPath" FROM ${source} WHERE f.tenant_id = $1 AND f.file_id = $2`,
          values: [actor.tenantId, fileId],
        })
      : { rows: [] }
    const file = rows[0]
    if (!file || !maySeeContext(actor, file.contextId)) throw notFound('file', fileId)
    attempt.involve({ fileId, context: file })
    return file
  }

  /** The report that was kept with the file. */
  async validation(attempt: Attempt, fileId: string): Promise<ValidationReport> {
    await this.get(attempt, fileId)
    const reports = await this.validations(attempt.actor.tenantId, [fileId])
    const report = reports.get(fileId)
    if (!report) throw notFound('file', fileId)
    return report
  }

  async validations(tenantId: string, fileIds: readonly string[]): Promise<Map<string, ValidationReport>> {
    const rows = await this.#db.prisma.file.findMany({
      where: { tenantId, fileId: { in: [...fileIds] } },
      select: { fileId: true, validation: true },
    })
    return new Map(rows.map((row) => [row.fileId, row.validation as unknown as ValidationReport]))
  }

  /** Several at once, by id, for relations. */
  async byIds(tenantId: string, fileIds: readonly string[]): Promise<Map<string, File>> {
    const { rows } = await this.#db.pool.query<File>({
      name: 'files-by-id',
      text: `SELECT ${columns} FROM ${source} WHERE f.tenant_id = $1 AND f.file_id = ANY($2)`,
      values: [tenantId, fileIds],
    })
    return new Map(rows.map((file) => [file.fileId, file]))
  }

  /** Keys and users by id, for relations; one that is gone is missing. */
  async uploaders(tenantId: string, ids: readonly string[]): Promise<Map<string, Uploader>> {
    const { rows } = await this.#db.pool.query<Uploader>(
      `SELECT api_key_id AS id, 'api_key' AS type, name FROM api_keys WHERE tenant_id = $1 AND api_key_id = ANY($2)
       UNION ALL SELECT user_id, 'user', name FROM users WHERE tenant_id = $1 AND user_id = ANY($2)`,
      [tenantId, ids],
    )
    return new Map(rows.map((row) => [row.id, row]))
  }

  /** Newest first. */
  async list(attempt: Attempt, { page, pageSize, ...filter }: Filter & { page: number; pageSize: number }): Promise<Page<File>> {
    const where = await this.#where(attempt, filter)
    if (!where) return pageOf<File>([], 0, { page, pageSize })
    const [rows, total] = await Promise.all([
      // The ids are paged through in an index; only the page's own rows are read.
      this.#rows(where, { limit: pageSize, offset: (page - 1) * pageSize }),
      this.#total(attempt.actor, where),
    ])
    return pageOf(rows, total, { page, pageSize })
  }

  async connection(
    attempt: Attempt,
    { first, after, ...filter }: Filter & { first: number; after?: string },
  ): Promise<Connection<File>> {
    const where = await this.#where(attempt, filter)
    const from = idOfCursor(after)
    if (!where) return connectionOf<File>([], { first, ...(after && { after }) }, (file) => file.fileId)
    const rows = await this.#rows(where, { limit: first + 1, after: from })
    return connectionOf(rows, { first, ...(after && { after }) }, (file) => file.fileId)
  }

  /** A pre-signed URL; counted, and in the log, before it is handed out (spec §4). */
  async createDownloadUrl(attempt: Attempt, fileId: string): Promise<DownloadUrl> {
    const file = await this.get(attempt, fileId)
    const downloadUrl = await this.#storage.signDownload({
      fileId,
      path: file.blobPath,
      filename: file.originalFilename,
      contentType: file.contentType,
      expiresInSeconds: downloadSeconds,
    })
    await this.#ledger.commit({ ...attempt.succeed(), download: { tenantId: file.tenantId, fileId, sizeBytes: file.sizeBytes } })
    return { fileId, downloadUrl, expiresInSeconds: downloadSeconds, originalFilename: file.originalFilename }
  }

  /** Gone for every reader when this resolves; the blob follows by the garbage journal. */
  async delete(attempt: Attempt, fileId: string): Promise<{ fileId: string }> {
    const file = await this.get(attempt, fileId)
    faultPoint('delete.found')
    await this.#ledger.commit({ ...attempt.succeed(), deletion: { actor: attempt.actor, fileId, contextId: file.contextId } })
    faultPoint('delete.committed')
    return { fileId }
  }

  /** For the door that serves local URLs: whatever the tenant, since the signature is the credential. */
  async findForDownload(fileId: string): Promise<(File & { path: string; tenantStatus: string }) | null> {
    if (!isId('file', fileId)) return null
    const { rows } = await this.#db.pool.query<File & { path: string; tenantStatus: string }>({
      name: 'file-for-download',
      text: `SELECT ${columns}, f.blob_path AS path, t.status AS "tenantStatus" FROM ${source} JOIN tenants t ON t.tenant_id = f.tenant_id WHERE f.file_id = $1`,
      values: [fileId],
    })
    return rows[0] ?? null
  }

  /** Undefined where no file can match: an unknown context, or an id that is none (contract §1: an empty list). */
  async #where(attempt: Attempt, filter: Filter): Promise<Where | undefined> {
    const { actor } = attempt
    const values: unknown[] = [actor.tenantId]
    const conditions = ['f.tenant_id = $1']
    const where: Where = { conditions, values, contextIds: null, uploadedBy: '' }
    if (typeof filter.context === 'string') {
      const context = await this.#contexts.find(actor, filter.context)
      if (!context) return undefined
      attempt.involve({ context })
      where.contextIds = [context.contextId]
    } else if (actor.contexts) where.contextIds = [...actor.contexts]
    if (where.contextIds)
      conditions.push(
        where.contextIds.length === 1
          ? `f.context_id = $${values.push(where.contextIds[0])}`
          : `f.context_id = ANY($${values.push(where.contextIds)})`,
      )
    if (typeof filter.uploadedBy === 'string') {
      if (!isId('key', filter.uploadedBy) && !isId('usr', filter.uploadedBy)) return undefined
      conditions.push(`f.uploaded_by = $${values.push(filter.uploadedBy)}`)
      where.uploadedBy = filter.uploadedBy
    }
    return where
  }

  async #rows(
    where: Where,
    { limit, offset = 0, after }: { limit: number; offset?: number; after?: string | undefined },
  ): Promise<File[]> {
    const values = [...where.values]
    const conditions = after ? [...where.conditions, `f.file_id < $${values.push(after)}`] : where.conditions
    const { rows } = await this.#db.pool.query<File>({
      // One plan for each shape of the filter, prepared once.
      name: `files-list-${where.conditions.length}${where.contextIds?.length === 1 ? 'c' : ''}${where.uploadedBy && 'u'}${after ? 'a' : ''}`,
      text: `SELECT ${columns} FROM (SELECT f.file_id FROM files f WHERE ${conditions.join(' AND ')} ORDER BY f.file_id DESC LIMIT $${values.push(limit)} OFFSET $${values.push(offset)}) ids
       JOIN files f ON f.file_id = ids.file_id JOIN file_contexts c ON c.tenant_id = f.tenant_id AND c.context_id = f.context_id ORDER BY f.file_id DESC`,
      values,
    })
    return rows
  }

  // Kept by the ledger, never counted.
  async #total(actor: Actor, { contextIds, uploadedBy }: Where): Promise<number> {
    const { rows } = await this.#db.pool.query<{ files: number }>({
      name: 'files-total',
      text: 'SELECT coalesce(sum(files), 0)::bigint AS files FROM file_totals WHERE tenant_id = $1 AND context_id = ANY($2) AND uploaded_by = $3',
      values: [actor.tenantId, contextIds ?? [''], uploadedBy],
    })
    return Number(rows[0]!.files)
  }
}

interface Where {
  conditions: string[]
  values: unknown[]
  contextIds: string[] | null
  uploadedBy: string
}
