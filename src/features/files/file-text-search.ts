import { TenantSlots } from '../../access/concurrency.js'
import type { Connection, ListRange } from '../../api/graphql/page.js'
import type { Queries } from '../../platform/db/queries.js'
import { invalidField } from '../../platform/errors/errors.js'
import { createCursor, isId } from '../../platform/ids.js'
import type { File } from './file.types.js'
import { buildAttributeConditions, buildOrderedFilesSql, type IndexScan } from './file-list.js'
import {
  buildPrefixCondition,
  buildRangeConditions,
  buildSortOrderSql,
  buildWindowCondition,
  type Search,
  type SortPosition,
  selectFiles,
} from './file-search.js'

/** Parsed search text: a file ID, a checksum, or part of the file name. */
export type TextFilter = { fileId: string } | { checksum: string } | { name: string }

export function parseTextFilter(search: string): TextFilter {
  const text = search.trim()
  const lower = text.toLowerCase()
  if (isId('file', lower)) return { fileId: lower }
  const checksum = /^(?:sha256:)?([0-9a-f]{64})$/.exec(lower)?.[1]
  return checksum ? { checksum } : { name: text }
}

// Maximum number of file names that one request reads. The names are not indexed for substring searches, because that would
// require pg_trgm and slow down every upload.
const maxScannedFiles = 100_000

type TextSearch = Search & { text: TextFilter }

interface SearchPage {
  rows: File[]
  /**
   * ID of the last file that was read, after which the next page continues. Undefined if the page is full or all files were read.
   */
  scanEnd: string | undefined
}

/** Number of matching files. `isComplete` is false if the search did not read the oldest files. */
interface SearchTotal {
  matching: number
  isComplete: boolean
}

/** Range of the file IDs to read. */
interface Scan extends Pick<ListRange<SortPosition>, 'after' | 'before'> {
  ascending: boolean
}

const newestFirst: Scan = { after: undefined, before: undefined, ascending: false }

const columns = 'f.tenant_id, f.file_id, f.context_id, f.original_filename, f.size_bytes, f.uploaded_by, f.content_type'

/** Finds files by ID, by checksum or by part of the name. Each request reads a limited number of files in ID order. */
export class FileTextSearch {
  readonly #slots = new TenantSlots('file name searches', { inAll: 8, byTenant: 4 })

  constructor(
    private readonly database: Queries,
    private readonly maxFiles = maxScannedFiles,
  ) {}

  /** Returns up to `limit` files, plus one more if further files follow. Throws 400 if too many files would have to be sorted. */
  findPage(search: TextSearch, range: ListRange<SortPosition>): Promise<SearchPage> {
    return this.#runInSlot(search, () => this.#findPage(search, range))
  }

  countMatches(search: TextSearch): Promise<SearchTotal> {
    return this.#runInSlot(search, () => this.#countMatches(search))
  }

  /**
   * Finds the page and then counts all matches. Both use the same slot and run one after another, so they need only one database
   * connection at a time.
   */
  findPageAndTotal(search: TextSearch, range: ListRange<SortPosition>): Promise<SearchPage & SearchTotal> {
    return this.#runInSlot(search, async () => ({
      ...(await this.#findPage(search, range)),
      ...(await this.#countMatches(search)),
    }))
  }

  async #findPage(search: TextSearch, range: ListRange<SortPosition>): Promise<SearchPage> {
    const { limit, fromEnd, after, before } = range
    const isDown = search.descending !== fromEnd
    const isByAge = search.sort === 'created_at'
    const scan = isByAge ? { after, before, ascending: !isDown } : newestFirst
    const end = await this.#findScanEnd(search, scan)
    if (end !== undefined && !isByAge) throw invalidField('sort', createTooManyFilesMessage(this.maxFiles))
    const values: unknown[] = []
    const conditions = [buildMatchCondition(search, values), ...buildRangeConditions(search, range, values)]
    const ids = `SELECT f.* FROM (${this.#buildScanSql(search, scan, values, end)}) f WHERE ${conditions.join(' AND ')}`
    const order = buildSortOrderSql(search.sort, isDown)
    const rows = await selectFiles(this.database, ids, { search, values, order, rows: limit + 1 })
    return { rows: fromEnd ? rows.reverse() : rows, scanEnd: rows.length > limit ? undefined : end }
  }

  async #countMatches(search: TextSearch): Promise<SearchTotal> {
    const end = await this.#findScanEnd(search, newestFirst)
    const values: unknown[] = []
    const { rows } = await this.database.query<{ matching: number }>(
      `SELECT count(*)::int AS matching FROM (${this.#buildScanSql(search, newestFirst, values, end)}) f WHERE ${buildMatchCondition(search, values)}`,
      values,
    )
    return { matching: rows[0]!.matching, isComplete: end === undefined }
  }

  /**
   * Returns the ID of the last file that the scan may read, or undefined if it may read all files. A row limit alone would not be
   * safe, because files may be deleted between the two statements.
   */
  async #findScanEnd(search: TextSearch, scan: Scan): Promise<string | undefined> {
    const values: unknown[] = []
    const sql = buildScanSql(search, scan, values, { skip: this.maxFiles - 1, limit: 2 })
    const { rows } = await this.database.query<{ file_id: string }>(sql, values)
    return rows.length === 2 ? rows[0]!.file_id : undefined
  }

  /**
   * Returns SQL that reads the files up to `end`. The limit is twice the usual one, because further files may be stored between
   * the two statements.
   */
  #buildScanSql(search: TextSearch, scan: Scan, values: unknown[], end: string | undefined): string {
    const where = end === undefined ? [] : [`f.file_id ${scan.ascending ? '<=' : '>='} $${values.push(end)}`]
    return buildScanSql(search, scan, values, { where, columns, limit: 2 * this.maxFiles })
  }

  /** Runs `work` in a slot if the search is by name. Searches by ID or checksum need no slot, because they use an index. */
  #runInSlot<T>({ tenantId, text }: TextSearch, work: () => Promise<T>): Promise<T> {
    return 'name' in text ? this.#slots.run(tenantId, work) : work()
  }
}

/** Makes the connection's next page continue after the last file read, because the search did not read all files. */
export function addScanEnd(
  connection: Connection<File>,
  scanEnd: string,
  { fromEnd }: ListRange<SortPosition>,
): Connection<File> {
  const cursor = createCursor(scanEnd)
  const more = fromEnd ? { hasPreviousPage: true, startCursor: cursor } : { hasNextPage: true, endCursor: cursor }
  return { ...connection, pageInfo: { ...connection.pageInfo, ...more } }
}

// The scan must not read files of contexts that the search excludes, because the cursor reveals the ID of the last file that was
// read.
function buildScanSql(search: TextSearch, scan: Scan, values: unknown[], page: IndexScan): string {
  const { tenantId, contextIds, text, window } = search
  const { ascending } = scan
  const where = [buildWindowCondition(window, values), ...buildRangeConditions(search, scan, values), ...(page.where ?? [])]
  if ('name' in text)
    return buildOrderedFilesSql({ tenantId, contextIds, uploadedBy: null }, values, { ...page, ascending, where })
  if (contextIds) where.push(`f.context_id = ANY ($${values.push(contextIds)})`)
  where.push('fileId' in text ? `f.file_id = $${values.push(text.fileId)}` : `f.checksum = $${values.push(text.checksum)}`)
  return buildOrderedFilesSql({ tenantId, contextIds: null, uploadedBy: null }, values, { ...page, ascending, where })
}

/** Returns the SQL condition that selects matching files among the scanned files. */
function buildMatchCondition(search: TextSearch, values: unknown[]): string {
  const { namePrefix, text } = search
  const conditions = [buildPrefixCondition(namePrefix, values), ...buildAttributeConditions(search)]
  if ('name' in text)
    conditions.push(`strpos(lower(f.original_filename COLLATE "C"), lower($${values.push(text.name)}::text COLLATE "C")) > 0`)
  return conditions.join(' AND ')
}

const createTooManyFilesMessage = (maxFiles: number): string =>
  `must be created_at if the search covers more than ${maxFiles} files. Select a context or a shorter period`
