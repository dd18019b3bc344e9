import type { Attempt } from '../../access/admission.js'
import { toPublicError } from '../../access/public-error.js'
import {
  type Connection,
  type ConnectionArgs,
  type ListRange,
  listRowsNewestFirst,
  mapPage,
  type Page,
  type PageArgs,
  type PagePosition,
  toConnection,
  toListRange,
  toPage,
  toPagePosition,
} from '../../api/graphql/page.js'
import { toTimeWindow } from '../../api/graphql/rules.js'
import type { ValidationReport } from '../../inspection/report.js'
import { canAccessContext } from '../../platform/actor.js'
import { createQuarantinedError, invalidField, notFound } from '../../platform/errors/errors.js'
import { reachFaultPoint } from '../../platform/fault-points.js'
import { createCursor, createInvalidCursorError, isId, parseIdCursor, parseKeyCursor } from '../../platform/ids.js'
import type { Components } from '../components.js'
import type { FileContextService } from '../contexts/context.service.js'
import { type DownloadUrl, type File, type FileDeletion, FileSort, type FilesArgs, type Uploader } from './file.types.js'
import { FileList } from './file-list.js'
import { FileLookup, type StoredFile } from './file-lookup.js'
import { FileSearch, maxSortedFiles, type Search, type SortPosition } from './file-search.js'
import { addScanEnd, FileTextSearch, parseTextFilter, type TextFilter } from './file-text-search.js'

/** Lifetime of a download URL, in seconds. */
const downloadSeconds = 300

type CompleteFile = File & StoredFile

type FileListSearch = Search & { text: TextFilter | null }

type FileQuery = Partial<Omit<FilesArgs, keyof PageArgs>>

/** Reads, lists, downloads and deletes stored files. `UploadService` stores new files. */
export class FileService {
  readonly #complete: FileLookup<CompleteFile>
  readonly #basic: FileLookup<StoredFile>
  readonly #list: FileList
  readonly #search: FileSearch
  readonly #textSearch: FileTextSearch

  constructor(private readonly parts: Pick<Components, 'db' | 'ledger' | 'storage'> & { contexts: FileContextService }) {
    this.#complete = FileLookup.complete(parts.db.pool)
    this.#basic = FileLookup.basic(parts.db.pool)
    this.#list = new FileList(parts.db.reads)
    this.#search = new FileSearch(parts.db.reads)
    this.#textSearch = new FileTextSearch(parts.db.reads)
  }

  /** Returns a file's metadata. Throws 404 if the file does not exist, and 403 if it is quarantined. */
  async get(attempt: Attempt, fileId: string): Promise<CompleteFile> {
    return assertNotQuarantined(await this.#findAccessibleFile(this.#complete, attempt, fileId))
  }

  async #findAccessibleFile<Row extends StoredFile>(lookup: FileLookup<Row>, attempt: Attempt, fileId: string): Promise<Row> {
    const { actor } = attempt
    const file = isId('file', fileId)
      ? await this.parts.ledger.announceEntryAfter('append', lookup.findById(actor.tenantId, fileId))
      : null
    if (!file || !canAccessContext(actor, file.contextId)) throw notFound('file', fileId)
    attempt.setTarget({ fileId, context: file })
    return file
  }

  /** Returns the latest validation report, even if the file is quarantined. */
  async getValidationReport(attempt: Attempt, fileId: string): Promise<ValidationReport> {
    await this.#findAccessibleFile(this.#basic, attempt, fileId)
    const reports = await this.getValidationReports(attempt.actor.tenantId, [fileId])
    const report = reports.get(fileId)
    if (!report) throw notFound('file', fileId)
    return report
  }

  async listReports(attempt: Attempt, fileId: string, position: PagePosition): Promise<Page<ValidationReport>> {
    const { tenantId } = await this.#findAccessibleFile(this.#basic, attempt, fileId)
    const { validationReport } = this.parts.db.prisma
    const found = await listRowsNewestFirst(validationReport, { key: 'validatedAt', where: { tenantId, fileId }, position })
    return mapPage(found, ({ report }) => report as unknown as ValidationReport)
  }

  async getValidationReports(tenantId: string, fileIds: readonly string[]): Promise<Map<string, ValidationReport>> {
    const { rows } = await this.parts.db.pool.query<{ fileId: string; report: ValidationReport }>({
      name: 'reports-by-file',
      text: `SELECT DISTINCT ON (file_id) file_id AS "fileId", report FROM validation_reports WHERE tenant_id = $1 AND file_id = ANY($2::text[]) ORDER BY file_id, validated_at DESC`,
      values: [tenantId, fileIds],
    })
    return new Map(rows.map((row) => [row.fileId, row.report]))
  }

  getByIds(tenantId: string, fileIds: readonly string[]): Promise<Map<string, File>> {
    return this.#complete.findByIds(tenantId, fileIds)
  }

  /** Returns API keys and users by ID, for GraphQL relations. Deleted API keys and users are missing from the map. */
  async getUploadersByIds(tenantId: string, ids: readonly string[]): Promise<Map<string, Uploader>> {
    const { rows } = await this.parts.db.pool.query<Uploader>(
      `SELECT api_key_id AS id, 'api_key' AS type, name FROM api_keys WHERE tenant_id = $1 AND api_key_id = ANY($2)
       UNION ALL SELECT user_id, 'user', name FROM users WHERE tenant_id = $1 AND user_id = ANY($2)`,
      [tenantId, ids],
    )
    return new Map(rows.map((row) => [row.id, row]))
  }

  /** Lists files, newest first unless the query specifies another order. */
  async list(attempt: Attempt, { page, pageSize, after, ...query }: FileQuery & PageArgs): Promise<Page<File>> {
    const search = await this.#toSearch(attempt, query)
    if (isDefaultListing(search)) return this.#list.listPage(search, toPagePosition('file', { page, pageSize, after }))
    const range = toListRange({ first: pageSize, after: after ?? null }, parseSortPosition(search.sort))
    if (page > 1 && !range.after) throw invalidField('page', pageWithoutCursor)
    const { text } = search
    if (text) {
      const { rows, matching, scanEnd } = await this.#textSearch.findPageAndTotal({ ...search, text }, range)
      if (scanEnd !== undefined) attempt.call.nextCursor = createCursor(scanEnd)
      return toPage(rows, matching, { page, pageSize }, rows.length > pageSize || scanEnd !== undefined)
    }
    const [rows, total] = await Promise.all([this.#search.findRows(search, range), this.#countMatches(search)])
    return toPage(rows, total, { page, pageSize }, rows.length > pageSize)
  }

  async getConnection(
    attempt: Attempt,
    { first, after, last, before, ...query }: FileQuery & ConnectionArgs,
  ): Promise<Connection<File>> {
    const search = await this.#toSearch(attempt, query)
    const { sort, text } = search
    const range = toListRange({ first, after, last, before }, parseSortPosition(sort))
    const { rows, scanEnd } = text
      ? await this.#textSearch.findPage({ ...search, text }, range)
      : { rows: await this.#findRows(search, range), scanEnd: undefined }
    const connection = toConnection(rows, range, {
      cursor: (file) => createCursor(file.fileId, sort === 'created_at' ? undefined : { sort, key: getSortKey(file, sort) }),
      totalCount: async () => {
        if (text) {
          const { matching, isComplete } = await this.#textSearch.countMatches({ ...search, text })
          return isComplete ? matching : null
        }
        const total = await this.#countMatches(search)
        return !canUseCounters(search) && total >= maxSortedFiles ? null : total
      },
    })
    return scanEnd === undefined ? connection : addScanEnd(connection, scanEnd, range)
  }

  #findRows(search: FileListSearch, range: ListRange<SortPosition>): Promise<File[]> {
    return isDefaultListing(search) && !range.fromEnd && !range.before
      ? this.#list.listFilesAfter(search, range.after?.id, range.limit + 1)
      : this.#search.findRows(search, range)
  }

  /** Deletes files and writes a single call log row. The ledger commits all deletions together. */
  async deleteMany(attempt: Attempt, fileIds: readonly string[]): Promise<FileDeletion[]> {
    const { actor } = attempt
    const ids = [...new Set(fileIds)]
    const validIds = ids.filter((id) => isId('file', id))
    const found = await this.#basic.findByIds(actor.tenantId, validIds)
    return Promise.all(
      ids.map(async (fileId) => {
        try {
          const file = found.get(fileId)
          if (!file || !canAccessContext(actor, file.contextId)) throw notFound('file', fileId)
          await this.parts.ledger.commit({ deletion: { actor, file: assertNotQuarantined(file) } })
          attempt.outcome = 'committed'
          return { fileId, deleted: true, error: null }
        } catch (error) {
          const { code, message, details } = toPublicError(error)
          // If one outcome is unknown, all are, because the deletions are part of the same commit.
          if (details.outcome === 'unknown') throw error
          return { fileId, deleted: false, error: { code, message } }
        }
      }),
    )
  }

  /** Returns the total from counters if possible. Otherwise, counts the files up to a limit. */
  async #countMatches(search: FileListSearch): Promise<number> {
    return canUseCounters(search) ? this.#list.countFiles(search) : this.#search.countMatches(search)
  }

  /**
   * Creates a pre-signed download URL, and counts and logs the download. A HEAD request only checks that the file can be
   * downloaded.
   */
  async createDownloadUrl(attempt: Attempt, fileId: string, once = false): Promise<DownloadUrl> {
    if (once && this.parts.storage.kind !== 'local')
      throw invalidField('once', 'must be false, because a bucket does not support single-use download URLs')
    const file = assertNotQuarantined(await this.#findAccessibleFile(this.#basic, attempt, fileId))
    if (attempt.call.isHead) return toDownloadUrl(file, '')
    const { tenantId, id: by } = attempt.actor
    const { blobPath: path, originalFilename: filename, contentType, contextId, sizeBytes } = file
    const grant = { tenantId, fileId, by, once, path, filename, contentType, expiresInSeconds: downloadSeconds }
    const downloadUrl = await this.parts.storage.signDownload(grant)
    await this.parts.ledger.commit({ ...attempt.markSucceeded(), download: { tenantId, fileId, contextId, sizeBytes } })
    return toDownloadUrl(file, downloadUrl)
  }

  /** Deletes a file. The file immediately becomes unavailable to all users, and the sweep deletes its blob later. */
  async delete(attempt: Attempt, fileId: string): Promise<{ fileId: string }> {
    const file = assertNotQuarantined(await this.#findAccessibleFile(this.#basic, attempt, fileId))
    reachFaultPoint('delete.found')
    await this.parts.ledger.commit({ ...attempt.markSucceeded(), deletion: { actor: attempt.actor, file } })
    reachFaultPoint('delete.committed')
    return { fileId }
  }

  async #toSearch(attempt: Attempt, query: FileQuery): Promise<FileListSearch> {
    const { actor } = attempt
    const context = typeof query.context === 'string' ? await this.parts.contexts.find(actor, query.context) : null
    if (context) attempt.setTarget({ context })
    // An unknown context or a malformed uploader ID is not an error. It matches no file, so the list is empty.
    const contextIds = context === null ? actor.contexts : context ? [context.contextId] : []
    const { uploadedBy: uploader = null } = query
    const uploadedBy = uploader === null || isId('key', uploader) || isId('usr', uploader) ? uploader : ''
    const namePrefix = query.namePrefix ?? null
    const sort = query.sort ?? (namePrefix === null ? FileSort.created_at : FileSort.original_filename)
    return {
      tenantId: actor.tenantId,
      contextIds,
      uploadedBy,
      contentType: query.contentType ?? null,
      namePrefix,
      text: typeof query.search === 'string' ? parseTextFilter(query.search) : null,
      window: toTimeWindow(query),
      sort,
      descending: query.order ? query.order === 'desc' : sort !== 'original_filename',
    }
  }
}

function assertNotQuarantined<Row extends StoredFile>(file: Row): Row {
  if (file.quarantinedAt) throw createQuarantinedError(file.fileId)
  return file
}

const toDownloadUrl = ({ fileId, originalFilename }: StoredFile, downloadUrl: string): DownloadUrl => {
  return { fileId, downloadUrl, expiresInSeconds: downloadSeconds, originalFilename }
}

const pageWithoutCursor =
  'must be 1 if the list is filtered by more than context and uploader, or sorted differently. Use the `after` cursor from the Link header of the previous page'

/** Returns true if the filter specifies at most a context and an uploader. */
const canUseCounters = ({ contentType, namePrefix, text, window }: FileListSearch): boolean =>
  text === null && contentType === null && namePrefix === null && window.from === null && window.until === null

const isDefaultListing = (search: FileListSearch): boolean =>
  canUseCounters(search) && search.sort === 'created_at' && search.descending

const getSortKey = (file: File, sort: FileSort): string =>
  sort === 'size_bytes' ? String(file.sizeBytes) : file.originalFilename

const parseSortPosition =
  (sort: FileSort) =>
  (cursor: string, field: string): SortPosition => {
    const id = parseIdCursor('file', cursor, field)
    if (sort === 'created_at') return { id }
    const key = parseKeyCursor(cursor, sort)
    if (key === undefined || (sort === 'size_bytes' && !/^\d{1,15}$/.test(key))) throw createInvalidCursorError(field)
    return { id, key }
  }
