import type { Attempt } from '../admission/attempt.js'
import { maySeeContext } from '../auth/actor.js'
import type { Database } from '../db/client.js'
import { badUserInput, notFound } from '../errors.js'
import { faultPoint } from '../fault-points.js'
import type { FileContextService } from '../file-contexts/file-context.service.js'
import { type Connection, connectionOf, idOfCursor, type Page, type PageArgs, pageOf, placeOf } from '../graphql/page.js'
import { isId } from '../ids.js'
import type { Ledger } from '../ledger/ledger.js'
import type { BlobStorage } from '../storage/blob-storage.js'
import type { ValidationReport } from '../validation/checks/check.js'
import type { DownloadUrl, File, Uploader } from './file.type.js'
import { type FileFilter, FileList, fileColumns, fileJoins } from './file-list.js'

/** Spec §8: how long a download URL lives. */
const downloadSeconds = 300

interface Asked {
  context?: string | null
  uploadedBy?: string | null
}

const source = `files f ${fileJoins}`

/** Files that are kept: found, listed, handed out, deleted. How they come in is upload.service.ts. */
export class FileService {
  readonly #db: Database
  readonly #ledger: Ledger
  readonly #storage: BlobStorage
  readonly #contexts: FileContextService
  readonly #list: FileList

  constructor(parts: { db: Database; ledger: Ledger; storage: BlobStorage; contexts: FileContextService }) {
    this.#db = parts.db
    this.#ledger = parts.ledger
    this.#storage = parts.storage
    this.#contexts = parts.contexts
    this.#list = new FileList(parts.db.pool)
  }

  /** Throws 404; the attempt learns which file and context it is about. */
  async get(attempt: Attempt, fileId: string): Promise<File & { blobPath: string }> {
    const { actor } = attempt
    const { rows } = isId('file', fileId)
      ? await this.#db.pool.query<File & { blobPath: string }>({
          name: 'file-by-id',
          text: `SELECT ${fileColumns}, f.blob_path AS "blobPath" FROM ${source} WHERE f.tenant_id = $1 AND f.file_id = $2`,
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
    const { rows } = await this.#db.pool.query<{ fileId: string; report: ValidationReport }>({
      name: 'reports-by-file',
      text: `SELECT DISTINCT ON (file_id) file_id AS "fileId", report FROM validation_reports WHERE tenant_id = $1 AND file_id = ANY($2) ORDER BY file_id, validated_at DESC`,
      values: [tenantId, fileIds],
    })
    return new Map(rows.map((row) => [row.fileId, row.report]))
  }

  /** Several at once, by id, for relations. */
  async byIds(tenantId: string, fileIds: readonly string[]): Promise<Map<string, File>> {
    const { rows } = await this.#db.pool.query<File>({
      name: 'files-by-id',
      text: `SELECT ${fileColumns} FROM ${source} WHERE f.tenant_id = $1 AND f.file_id = ANY($2)`,
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
  async list(attempt: Attempt, { page, pageSize, after, ...asked }: Asked & PageArgs): Promise<Page<File>> {
    const filter = await this.#filterOf(attempt, asked)
    const place = placeOf('file', { page, pageSize, after })
    return filter ? this.#list.page(filter, place) : pageOf<File>([], 0, place)
  }

  async connection(
    attempt: Attempt,
    { first, after, ...asked }: Asked & { first: number; after?: string },
  ): Promise<Connection<File>> {
    const filter = await this.#filterOf(attempt, asked)
    const afterId = idOfCursor('file', after)
    const rows = filter ? await this.#list.after(filter, afterId, first + 1) : []
    return connectionOf(rows, { first, ...(after && { after }) }, (file) => file.fileId)
  }

  /** A pre-signed URL; counted, and in the log, before it is handed out (spec §4). */
  async createDownloadUrl(attempt: Attempt, fileId: string, once = false): Promise<DownloadUrl> {
    if (once && this.#storage.kind === 'gcs')
      throw badUserInput([{ field: 'once', message: 'must be false here: the URLs of a bucket are of use until they expire' }])
    const file = await this.get(attempt, fileId)
    const downloadUrl = await this.#storage.signDownload({
      tenantId: file.tenantId,
      fileId,
      by: attempt.actor.id,
      once,
      path: file.blobPath,
      filename: file.originalFilename,
      contentType: file.contentType,
      expiresInSeconds: downloadSeconds,
    })
    const { tenantId, contextId, sizeBytes } = file
    await this.#ledger.commit({ ...attempt.succeed(), download: { tenantId, fileId, contextId, sizeBytes } })
    return { fileId, downloadUrl, expiresInSeconds: downloadSeconds, originalFilename: file.originalFilename }
  }

  /** Gone for every reader when this resolves; the blob follows by the garbage journal. */
  async delete(attempt: Attempt, fileId: string): Promise<{ fileId: string }> {
    const file = await this.get(attempt, fileId)
    faultPoint('delete.found')
    await this.#ledger.commit({ ...attempt.succeed(), deletion: { actor: attempt.actor, file } })
    faultPoint('delete.committed')
    return { fileId }
  }

  /** Undefined where no file can match: an unknown context, or an id that is none (contract §1: an empty list). */
  async #filterOf(attempt: Attempt, asked: Asked): Promise<FileFilter | undefined> {
    const { actor } = attempt
    let contextIds = actor.contexts ? [...actor.contexts] : null
    if (typeof asked.context === 'string') {
      const context = await this.#contexts.find(actor, asked.context)
      if (!context) return undefined
      attempt.involve({ context })
      contextIds = [context.contextId]
    }
    const uploadedBy = asked.uploadedBy ?? null
    if (uploadedBy !== null && !isId('key', uploadedBy) && !isId('usr', uploadedBy)) return undefined
    return { tenantId: actor.tenantId, contextIds, uploadedBy }
  }
}
