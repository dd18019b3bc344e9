import type { Stretch } from '../../api/graphql/page.js'
import type { Queries } from '../../platform/db/queries.js'
import { badUserInput } from '../../platform/errors/errors.js'
import { isId } from '../../platform/ids.js'
import type { File } from './file.types.js'
import { buildAttributeConditions } from './file-list.js'
import {
  buildCursorCondition,
  buildPrefixCondition,
  buildSortOrderSql,
  buildWindowCondition,
  type Search,
  type SortPosition,
  selectFiles,
} from './file-search.js'

/** Parsed search text: a file ID, a checksum, or a part of the file name. */
export type TextFilter = { fileId: string } | { checksum: string } | { name: string }

export function parseTextFilter(search: string): TextFilter {
  const text = search.trim()
  const lower = text.toLowerCase()
  if (isId('file', lower)) return { fileId: lower }
  const checksum = /^(?:sha256:)?([0-9a-f]{64})$/.exec(lower)?.[1]
  return checksum ? { checksum } : { name: text }
}

/**
 * Maximum number of files that one request reads to search for a part of a file name. An index would require pg_trgm, which some
 * installations lack and which would slow down every upload.
 */
const maxScannedFiles = 100_000

type TextSearch = Search & { text: TextFilter }

const columns = 'f.tenant_id, f.file_id, f.context_id, f.original_filename, f.size_bytes, f.uploaded_by, f.content_type'

/** Finds files by ID, checksum or part of the name. Each request reads a bounded number of files, in order of their IDs. */
export class FileTextSearch {
  readonly #database: Queries

  constructor(database: Queries) {
    this.#database = database
  }

  /** Returns one row more than `limit` if more rows follow. Throws 400 if the request would have to sort too many files. */
  async findRows(search: TextSearch, { limit, fromEnd, after, before }: Stretch<SortPosition>): Promise<File[]> {
    const isDown = search.descending !== fromEnd
    const values: unknown[] = []
    const places = () => [
      buildCursorCondition(search, after, values, search.descending),
      buildCursorCondition(search, before, values, !search.descending),
    ]
    let ids: string
    if (search.sort === 'created_at') ids = buildMatchesSql(search, values, { where: places(), ascending: !isDown })
    else {
      if (await this.findScanEnd(search, { fromEnd, after: undefined, before: undefined }))
        throw badUserInput([{ field: 'sort', message: tooManyToSort }])
      ids = `SELECT f.* FROM (${buildMatchesSql(search, values, { where: [], ascending: false })}) f WHERE ${places().join(' AND ')}`
    }
    const found = await selectFiles(this.#database, ids, {
      search,
      values,
      order: buildSortOrderSql(search.sort, isDown),
      rows: limit + 1,
    })
    return fromEnd ? found.reverse() : found
  }

  /** Returns the ID of the last file that the search read, or undefined if the search read all files after the position. */
  async findScanEnd(
    search: TextSearch,
    { fromEnd, after, before }: Omit<Stretch<SortPosition>, 'limit'>,
  ): Promise<string | undefined> {
    const values: unknown[] = []
    const where = [
      buildCursorCondition(search, after, values, search.descending),
      buildCursorCondition(search, before, values, !search.descending),
    ]
    const scan = { where, ascending: search.descending === fromEnd }
    const { rows } = await this.#database.query<{ fileId: string }>(
      buildScanSql(search, values, { ...scan, what: 'f.file_id AS "fileId"', page: `OFFSET ${maxScannedFiles - 1} LIMIT 2` }),
      values,
    )
    return rows.length === 2 ? rows[0]!.fileId : undefined
  }

  /** Counts matching files among the newest ones. `isComplete` is false if older files were not read. */
  async countMatches(search: TextSearch): Promise<{ matching: number; isComplete: boolean }> {
    const values: unknown[] = []
    const [end, { rows }] = await Promise.all([
      this.findScanEnd(search, { fromEnd: false, after: undefined, before: undefined }),
      this.#database.query<{ matching: number }>(
        `SELECT count(*)::int AS matching FROM (${buildMatchesSql(search, values, { where: [], ascending: false })}) f`,
        values,
      ),
    ])
    return { matching: rows[0]!.matching, isComplete: end === undefined }
  }
}

interface Scan {
  /** SQL conditions on the ID of file `f`. */
  where: readonly string[]
  ascending: boolean
}

/** Returns SQL for the files that the scan reads. The conditions form an index range in the order of the IDs. */
function buildScanSql(
  { tenantId, contextIds, text, window }: TextSearch,
  values: unknown[],
  { where, ascending, what, page }: Scan & { what: string; page: string },
): string {
  const conditions = [`f.tenant_id = $${values.push(tenantId)}`, buildWindowCondition(window, values), ...where]
  if ('fileId' in text) conditions.push(`f.file_id = $${values.push(text.fileId)}`)
  else if ('checksum' in text) conditions.push(`f.checksum = $${values.push(text.checksum)}`)
  else if (contextIds?.length === 1) conditions.push(`f.context_id = $${values.push(contextIds[0])}`)
  // The scan must not read files of other contexts, because its cursor exposes the ID of the last file read.
  else if (contextIds) conditions.push(`f.context_id = ANY ($${values.push(contextIds)})`)
  return `SELECT ${what} FROM files f WHERE ${conditions.join(' AND ')} ORDER BY f.file_id ${ascending ? 'ASC' : 'DESC'} ${page}`
}

/** Returns SQL for the matching files among those that the scan reads. */
function buildMatchesSql(search: TextSearch, values: unknown[], scan: Scan): string {
  const { contextIds, namePrefix, text } = search
  const from = buildScanSql(search, values, { ...scan, what: columns, page: `LIMIT ${maxScannedFiles}` })
  const conditions = ['true', ...buildAttributeConditions(search)]
  if (contextIds) conditions.push(`f.context_id = ANY ($${values.push(contextIds)})`)
  if (namePrefix !== null) conditions.push(buildPrefixCondition(namePrefix, values))
  if ('name' in text)
    conditions.push(`strpos(lower(f.original_filename COLLATE "C"), lower($${values.push(text.name)}::text COLLATE "C")) > 0`)
  return `SELECT f.* FROM (${from}) f WHERE ${conditions.join(' AND ')}`
}

const tooManyToSort = `must be created_at if search reads more than ${maxScannedFiles} files. Select a context or a shorter period`
