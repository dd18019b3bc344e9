import pg from 'pg'
import { type Page, type PagePosition, toPage } from '../../api/graphql/page.js'
import type { Queries } from '../../platform/db/queries.js'
import type { File } from './file.types.js'

export interface FileFilter {
  tenantId: string
  /** IDs of the contexts to list. Null means all contexts. */
  contextIds: readonly string[] | null
  uploadedBy: string | null
  /** A content type such as `image/png`, or a wildcard such as `image/*`. */
  contentType?: string | null
}

/**
 * Returns true if the list is filtered by uploader or content type. Statements for such lists are unnamed, because rare and
 * frequent values need different plans.
 */
const hasAttributeFilter = ({ uploadedBy, contentType = null }: FileFilter): boolean =>
  uploadedBy !== null || contentType !== null

/** Returns a SELECT statement that computes the number of matching files from counters. */
export const buildCountSql = (filter: FileFilter, values: unknown[]): string =>
  `SELECT coalesce(sum(files), 0)::bigint AS total FROM ${hasAttributeFilter(filter) ? 'file_groups' : 'file_totals'} WHERE ${buildGroupConditions(filter, values)}`

/** Returns SQL for the combinations of context, uploader and content type that match the filter and contain files. */
export const buildFileGroupsSql = (filter: FileFilter, values: unknown[]): string =>
  `(SELECT context_id, uploaded_by, content_type FROM file_groups WHERE files > 0 AND ${buildGroupConditions(filter, values)})`

function buildGroupConditions(filter: FileFilter, values: unknown[]): string {
  const conditions = [`tenant_id = $${values.push(filter.tenantId)}`]
  if (filter.contextIds) conditions.push(`context_id = ANY ($${values.push(filter.contextIds)})`)
  return [...conditions, ...buildAttributeConditions(filter)].join(' AND ')
}

/**
 * Returns SQL conditions that contain the values as literals, so that PostgreSQL can choose a plan based on the number of
 * matching files.
 */
export function buildAttributeConditions({ uploadedBy, contentType = null }: FileFilter): string[] {
  const conditions: string[] = []
  if (uploadedBy !== null) conditions.push(`uploaded_by = ${pg.escapeLiteral(uploadedBy)}`)
  if (contentType?.endsWith('/*')) conditions.push(`starts_with(content_type, ${pg.escapeLiteral(contentType.slice(0, -1))})`)
  else if (contentType !== null) conditions.push(`content_type = ${pg.escapeLiteral(contentType)}`)
  return conditions
}

/**
 * Returns true if the statement must merge one index scan per context, so that PostgreSQL does not store and sort skipped rows.
 */
const needsContextMerge = (filter: FileFilter, skip: number): boolean =>
  skip > 0 && (filter.contextIds?.length ?? 0) > 1 && !hasAttributeFilter(filter)

export interface IndexScan {
  ascending?: boolean
  /** SQL conditions on the `files` table, which has the alias `f`. */
  where?: readonly string[]
  skip?: number
  /** Maximum number of rows. It is a literal in the statement, so that the planner expects only a few rows. */
  limit: number
  columns?: string
}

// The redundant range condition makes the planner expect few files, so that it does not search the files of all contexts.
const buildContextCondition = (contextId: string): string =>
  `f.context_id = ${contextId} AND f.context_id BETWEEN ${contextId} AND ${contextId} AND`

/**
 * Returns a SELECT statement for matching files in order of creation. The statement reads the primary key or files_by_context in
 * index order. If the filter specifies an uploader or a content type, it reads files_by_size and sorts the rows.
 */
export function buildOrderedFilesSql(
  filter: FileFilter,
  values: unknown[],
  { ascending = false, where = [], skip = 0, limit, columns = 'f.tenant_id, f.file_id' }: IndexScan,
): string {
  const conditions = [`f.tenant_id = $${values.push(filter.tenantId)}`, ...where, ...buildAttributeConditions(filter)]
  const order = `ORDER BY f.file_id ${ascending ? 'ASC' : 'DESC'}`
  const toSqlNumber = (value: number) => (hasAttributeFilter(filter) ? value : `$${values.push(value)}::bigint`)
  const page = `${order} ${skip > 0 ? `OFFSET ${toSqlNumber(skip)}` : ''} LIMIT ${limit}`
  const buildSelect = (contextCondition: string, suffix: string) =>
    `SELECT ${columns} FROM files f WHERE ${contextCondition} ${conditions.join(' AND ')} ${suffix}`
  const { contextIds } = filter
  if (contextIds === null && !hasAttributeFilter(filter)) return buildSelect('', page)
  if (contextIds?.length === 1) return buildSelect(buildContextCondition(`$${values.push(contextIds[0])}`), page)
  if (needsContextMerge(filter, skip)) {
    // Without an explicit order in each branch, PostgreSQL would not use the index order.
    const scans = filter.contextIds!.map((id) => `(${buildSelect(buildContextCondition(`$${values.push(id)}`), order)})`)
    return `SELECT f.* FROM (${scans.join(' UNION ALL ')}) f ${page}`
  }
  // The statement reads each context in index order and sorts the combined rows. Its text does not depend on the number of
  // contexts.
  const contexts = contextIds
    ? `unnest($${values.push(contextIds)}::text[]) c(context_id)`
    : `(SELECT DISTINCT context_id FROM ${buildFileGroupsSql(filter, values)} g) c`
  const each = buildSelect(
    buildContextCondition('c.context_id'),
    `${order} LIMIT ${skip > 0 ? toSqlNumber(skip + limit) : limit}`,
  )
  return `SELECT f.* FROM ${contexts} CROSS JOIN LATERAL (${each}) f ${page}`
}

/** Immutable columns of a file, for statements that select from `files f` and include `contextJoin`. */
export const immutableColumns = `f.file_id AS "fileId", f.tenant_id AS "tenantId", f.context_id AS "contextId", c.context_key AS "contextKey", f.original_filename AS "originalFilename",
  f.content_type AS "contentType", f.size_bytes AS "sizeBytes", f.uploaded_by AS "uploadedBy"`

/** Columns of a file in API responses, for statements that include `buildFileJoinsSql`. */
export const fileColumns = `${immutableColumns}, 'sha256:' || f.checksum AS checksum, f.metadata, f.uploaded_by_name AS "uploadedByName",
  f.download_count + coalesce(d.times, 0)::bigint AS "downloadCount", greatest(f.last_downloaded_at, d.last_at) AS "lastDownloadedAt", f.created_at AS "createdAt", f.updated_at AS "updatedAt", f.quarantined_at AS "quarantinedAt"`

export const contextJoin = 'JOIN file_contexts c ON c.tenant_id = f.tenant_id AND c.context_id = f.context_id'

/**
 * Joins a file's context and the downloads that have not been folded into the file's counter yet. Citus cannot derive the tenant
 * from a subquery, so the caller passes it as `tenant`.
 */
export const buildFileJoinsSql = (tenant: string): string => `${contextJoin}
  LEFT JOIN LATERAL (SELECT sum(times) AS times, max(last_at) AS last_at FROM download_deltas d WHERE d.tenant_id = ${tenant} AND d.file_id = f.file_id) d ON true`

/**
 * Joins `files` with the subquery `ids`. The LIMIT clause makes PostgreSQL look up each file by its key instead of reading the
 * whole table.
 */
export const buildJoinByIdSql = (tenant: string): string =>
  `CROSS JOIN LATERAL (SELECT * FROM files f WHERE f.tenant_id = ${tenant} AND f.file_id = ids.file_id LIMIT 1) f`

// A number greater than the row count of any page. It is a literal in the statement, so that the planner expects few rows.
const maxRows = 101

interface PageRange {
  limit: number
  /** If set, only files that are older than the file with this ID are returned. */
  untilId?: string | undefined
  skip?: number
  /** True if the query reads the oldest files first. The returned rows are always newest first. */
  ascending?: boolean
}

/** Lists files by context and uploader, newest first. `FileSearch` supports further filters and sort orders. */
export class FileList {
  constructor(private readonly database: Queries) {}

  async listPage(filter: FileFilter, position: PagePosition): Promise<Page<File>> {
    const { page, pageSize, afterId } = position
    if (afterId !== undefined) {
      const [rows, total] = await Promise.all([this.listFilesAfter(filter, afterId, pageSize + 1), this.countFiles(filter)])
      return toPage(rows, total, position)
    }
    if (page === 1) return this.#getFirstPage(filter, position)
    const total = await this.countFiles(filter)
    const skip = (page - 1) * pageSize
    if (skip >= total) return toPage<File>([], total, position)
    const limit = Math.min(pageSize, total - skip)
    const fromOldest = total - skip - limit
    // Pages in the second half of the list are read starting from the oldest file, so that no page skips more than half of the
    // list.
    const range = fromOldest < skip ? { limit, skip: fromOldest, ascending: true } : { limit, skip }
    return toPage(await this.#readRows(filter, range), total, position)
  }

  /** Returns the number of matching files from counters, without counting rows. */
  async countFiles(filter: FileFilter): Promise<number> {
    const values: unknown[] = []
    const [row] = await this.#select<{ total: number }>(filter, 'total', buildCountSql(filter, values), values)
    return row!.total
  }

  /** Returns at most `limit` files that are older than `afterId`, or the newest files if `afterId` is undefined. */
  listFilesAfter(filter: FileFilter, afterId: string | undefined, limit: number): Promise<File[]> {
    return this.#readRows(filter, { limit, untilId: afterId })
  }

  /** Reads the rows and the total with a single statement. This is worthwhile, because most clients read only the first page. */
  async #getFirstPage(filter: FileFilter, position: PagePosition): Promise<Page<File>> {
    const values: unknown[] = []
    const text = `SELECT ${fileColumns}, (${buildCountSql(filter, values)}) AS total FROM ${buildPageSql(filter, values, { limit: position.pageSize })}`
    const rows = await this.#select<File & { total: number }>(filter, 'first', text, values)
    return toPage<File>(rows, rows[0]?.total ?? 0, position)
  }

  #readRows(filter: FileFilter, range: PageRange): Promise<File[]> {
    const { untilId, skip = 0, ascending } = range
    const values: unknown[] = []
    const name = `rows${untilId === undefined ? '' : 'b'}${skip > 0 ? 's' : ''}${ascending ? 'a' : ''}`
    return this.#select<File>(
      filter,
      needsContextMerge(filter, skip) ? undefined : name,
      `SELECT ${fileColumns} FROM ${buildPageSql(filter, values, range)}`,
      values,
    )
  }

  /** Runs a statement. If it has no `name`, PostgreSQL plans it for each execution. */
  async #select<Row extends object>(
    filter: FileFilter,
    name: string | undefined,
    text: string,
    values: unknown[],
  ): Promise<Row[]> {
    // Statements that filter by uploader or content type contain literals. If they were named, PostgreSQL would store a plan for
    // each value.
    const { rows } =
      name === undefined || hasAttributeFilter(filter)
        ? await this.database.query<Row>(text, values)
        : await this.database.query<Row>({ name: `files-${name}-${getFilterShape(filter)}`, text, values })
    return rows
  }
}

/** Each filter shape has its own prepared statement, and therefore its own plan. */
const getFilterShape = ({ contextIds }: FileFilter): string => (contextIds === null ? '' : contextIds.length === 1 ? 'c' : 'm')

/**
 * Returns SQL for a page's rows, newest first. If rows must be skipped or sorted, the statement first selects the IDs of the page
 * and then reads the full rows.
 */
function buildPageSql(filter: FileFilter, values: unknown[], { limit, untilId, skip = 0, ascending }: PageRange): string {
  const where = untilId === undefined ? [] : [`f.file_id < $${values.push(untilId)}`]
  const isDirect = skip === 0 && !hasAttributeFilter(filter) && (filter.contextIds?.length ?? 1) === 1
  const ids = buildOrderedFilesSql(filter, values, {
    ascending: ascending ?? false,
    where,
    skip,
    limit: maxRows,
    ...(isDirect && { columns: 'f.*' }),
  })
  const page = `(SELECT * FROM (${ids}) found LIMIT $${values.push(limit)})`
  const tenant = `$${values.push(filter.tenantId)}`
  const rows = isDirect ? `${page} f` : `${page} ids ${buildJoinByIdSql(tenant)}`
  return `${rows} ${buildFileJoinsSql(tenant)} ORDER BY f.file_id DESC`
}
