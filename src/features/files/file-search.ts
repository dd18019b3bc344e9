import type { ListRange } from '../../api/graphql/page.js'
import type { Window } from '../../api/graphql/rules.js'
import type { Queries } from '../../platform/db/queries.js'
import { invalidField } from '../../platform/errors/errors.js'
import { getFirstId } from '../../platform/ids.js'
import type { File, FileSort } from './file.types.js'
import {
  buildCountSql,
  buildFileGroupsSql,
  buildFileJoinsSql,
  buildJoinByIdSql,
  buildOrderedFilesSql,
  type FileFilter,
  fileColumns,
} from './file-list.js'

export interface Search extends FileFilter {
  contentType: string | null
  namePrefix: string | null
  window: Window
  sort: FileSort
  descending: boolean
}

/** Position in a sorted list. `key` is omitted if the list is sorted by age, because IDs are ordered by time. */
export interface SortPosition {
  id: string
  key?: string
}

/** Maximum number of files that one request counts or sorts. */
export const maxSortedFiles = 10_000

/**
 * Lists files with more filters and sort orders than `FileList`. Sorting by age reads an index in order. Sorting by name or size
 * merges one sorted index range per combination of context, uploader and content type. If no index provides the order, for
 * example for the largest files of a month, the statement sorts the matching files, up to a limit.
 */
export class FileSearch {
  constructor(private readonly database: Queries) {}

  /** Returns up to `limit` files, plus one more if further files follow. Throws 400 if too many files would have to be sorted. */
  async findRows(search: Search, range: ListRange<SortPosition>): Promise<File[]> {
    const { limit, fromEnd } = range
    const isDescending = search.descending !== fromEnd
    const order = buildSortOrderSql(search.sort, isDescending)
    const values: unknown[] = []
    const within = buildRangeConditions(search, range, values)
    const rows = limit + 1
    let ids: string
    if (isSortedByUploadTime(search)) {
      const where = [buildWindowCondition(search.window, values), ...within]
      ids = buildOrderedFilesSql(search, values, { ascending: !isDescending, where, limit: rows })
    } else if (canMergeGroups(search)) {
      ids = buildMergedGroupsSql(search, values, [buildPrefixCondition(search.namePrefix, values), ...within], { order, rows })
    } else {
      await this.#assertSortable(search)
      ids = `SELECT f.* FROM ${buildCandidatesSql(search, values)} WHERE ${[buildWindowCondition(search.window, values), ...within].join(' AND ')}`
    }
    const found = await selectFiles(this.database, ids, { search, values, order, rows })
    return fromEnd ? found.reverse() : found
  }

  async countMatches(search: Search): Promise<number> {
    if (search.namePrefix !== null || hasBounds(search.window))
      return Math.min((await this.#countRows(search)).matching, maxSortedFiles)
    const values: unknown[] = []
    const { rows } = await this.database.query<{ total: number }>(buildCountSql(search, values), values)
    return Math.min(rows[0]!.total, maxSortedFiles)
  }

  async #assertSortable(search: Search): Promise<void> {
    if ((await this.#countRows(search)).gathered <= maxSortedFiles) return
    const message =
      search.namePrefix === null
        ? `must be created_at if more than ${maxSortedFiles} files were uploaded between start_date and end_date. Use a shorter period`
        : `must be original_filename, without start_date and end_date, if name_prefix matches more than ${maxSortedFiles} files. Use a longer prefix`
    throw invalidField('sort', message)
  }

  async #countRows(search: Search): Promise<{ gathered: number; matching: number }> {
    const values: unknown[] = []
    const { rows } = await this.database.query<{ gathered: number; matching: number }>(
      `SELECT count(*)::int AS gathered, (count(*) FILTER (WHERE ${buildWindowCondition(search.window, values)}))::int AS matching FROM ${buildCandidatesSql(search, values)}`,
      values,
    )
    return rows[0]!
  }
}

interface Selection {
  search: Search
  values: unknown[]
  order: string
  rows: number
}

/** Returns all columns of the first `rows` files in the subquery `idsSql`. */
export async function selectFiles(
  database: Queries,
  idsSql: string,
  { search, values, order, rows }: Selection,
): Promise<File[]> {
  const tenant = `$${values.push(search.tenantId)}`
  const found = await database.query<File>(
    `SELECT ${fileColumns} FROM (SELECT f.* FROM (${idsSql}) f ORDER BY ${order} LIMIT ${rows}) ids
     ${buildJoinByIdSql(tenant)} ${buildFileJoinsSql(tenant)} ORDER BY ${order}`,
    values,
  )
  return found.rows
}

/**
 * Returns the SQL condition that joins file `f` with group `g`. The files of a group form a contiguous range in the indexes
 * files_by_name and files_by_size.
 */
const buildGroupCondition = ({ tenantId }: Search, values: unknown[]): string =>
  `f.tenant_id = $${values.push(tenantId)} AND f.context_id = g.context_id AND f.uploaded_by = g.uploaded_by AND f.content_type = g.content_type`

const columns = 'f.tenant_id, f.file_id, f.original_filename, f.size_bytes'

/**
 * Returns SQL that merges groups into N sorted rows. Only the N groups with the smallest first entries can contribute, so the
 * statement reads only N rows from each of them.
 */
function buildMergedGroupsSql(
  search: Search,
  values: unknown[],
  rangeConditions: string[],
  { order, rows }: { order: string; rows: number },
): string {
  const where = [buildGroupCondition(search, values), ...rangeConditions].join(' AND ')
  const buildFirstFilesJoin = (count: number) =>
    `CROSS JOIN LATERAL (SELECT ${columns} FROM files f WHERE ${where} ORDER BY ${order} LIMIT ${count}) f`
  return `SELECT f.* FROM (SELECT g.* FROM ${buildFileGroupsSql(search, values)} g ${buildFirstFilesJoin(1)} ORDER BY ${order} LIMIT ${rows}) g ${buildFirstFilesJoin(rows)}`
}

// SQL expressions for the sort keys, which must match the indexes. Sorting by age needs no expression, because IDs are ordered by
// time.
const nameKey = 'lower(f.original_filename COLLATE "C")'
const keys: Record<FileSort, { sql: string; given: (parameter: string) => string } | null> = {
  created_at: null,
  original_filename: { sql: nameKey, given: (parameter) => `lower(${parameter}::text COLLATE "C")` },
  size_bytes: { sql: 'f.size_bytes', given: (parameter) => `${parameter}::bigint` },
}

export function buildSortOrderSql(sort: FileSort, isDescending: boolean): string {
  const direction = isDescending ? 'DESC' : 'ASC'
  const key = keys[sort]
  return `${key ? `${key.sql} ${direction}, ` : ''}f.file_id ${direction}`
}

/** Returns the SQL conditions for files between two cursors. */
export const buildRangeConditions = (
  search: Search,
  { after, before }: Pick<ListRange<SortPosition>, 'after' | 'before'>,
  values: unknown[],
): string[] => [
  buildCursorCondition(search, after, values, search.descending),
  buildCursorCondition(search, before, values, !search.descending),
]

function buildCursorCondition(
  { sort }: Search,
  position: SortPosition | undefined,
  values: unknown[],
  isDescending: boolean,
): string {
  if (!position) return 'true'
  const key = keys[sort]
  const comparison = isDescending ? '<' : '>'
  const id = `$${values.push(position.id)}`
  return key
    ? `(${key.sql}, f.file_id) ${comparison} (${key.given(`$${values.push(position.key)}`)}, ${id})`
    : `f.file_id ${comparison} ${id}`
}

const isSortedByUploadTime = ({ namePrefix, sort }: Search): boolean => namePrefix === null && sort === 'created_at'

/** Returns true if the filter selects a contiguous range of the index that determines the sort order. */
const canMergeGroups = ({ namePrefix, window, sort }: Search): boolean =>
  !hasBounds(window) && (namePrefix === null || sort === 'original_filename')

const hasBounds = ({ from, until }: Window): boolean => from !== null || until !== null

export function buildWindowCondition({ from, until }: Window, values: unknown[]): string {
  const conditions = ['true']
  if (from) conditions.push(`f.file_id >= $${values.push(getFirstId('file', from))}`)
  if (until) conditions.push(`f.file_id < $${values.push(getFirstId('file', until))}`)
  return conditions.join(' AND ')
}

export function buildPrefixCondition(prefix: string | null, values: unknown[]): string {
  if (prefix === null) return 'true'
  const given = `lower($${values.push(prefix)}::text COLLATE "C")`
  // U+10FFFF is the last Unicode character, so no text with this prefix sorts after the upper bound.
  return `${nameKey} >= ${given} AND ${nameKey} < ${given} || chr(1114111)`
}

/**
 * Returns SQL that selects the candidate files: the files in the time range or, for a name prefix, the matching files of each
 * group.
 */
function buildCandidatesSql(search: Search, values: unknown[]): string {
  if (search.namePrefix === null) {
    const ids = buildOrderedFilesSql(search, values, {
      where: [buildWindowCondition(search.window, values)],
      limit: maxSortedFiles + 1,
    })
    return `(SELECT ${columns} FROM (${ids}) ids ${buildJoinByIdSql(`$${values.push(search.tenantId)}`)}) f`
  }
  const where = `${buildGroupCondition(search, values)} AND ${buildPrefixCondition(search.namePrefix, values)}`
  return `(SELECT f.* FROM ${buildFileGroupsSql(search, values)} g CROSS JOIN LATERAL (
      SELECT ${columns} FROM files f WHERE ${where} LIMIT ${maxSortedFiles + 1}) f LIMIT ${maxSortedFiles + 1}) f`
}
