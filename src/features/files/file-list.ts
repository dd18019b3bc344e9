import pg from 'pg'
import { type Page, type PagePosition, toPage } from '../../api/graphql/page.js'
import type { Queries } from '../../platform/db/queries.js'
import type { File } from './file.types.js'

/** Selects files of a tenant. */
export interface FileFilter {
  tenantId: string
  /** Null: all contexts. */
  contextIds: readonly string[] | null
  uploadedBy: string | null
  /** A content type, or all types of a kind: image/*. */
  contentType?: string | null
}

/** True for a filter by uploader or type. Its statements have no name: rare and frequent values need different plans. */
const hasAttributes = ({ uploadedBy, contentType = null }: FileFilter): boolean => uploadedBy !== null || contentType !== null

/** Number of matching files, as a SELECT statement that adds up counters. */
export const countStatement = (filter: FileFilter, values: unknown[]): string =>
  `SELECT coalesce(sum(files), 0)::bigint AS total FROM ${hasAttributes(filter) ? 'file_groups' : 'file_totals'} WHERE ${groupConditions(filter, values)}`

/** The combinations of context, uploader and type that match and have files. */
export const selectGroups = (filter: FileFilter, values: unknown[]): string =>
  `(SELECT context_id, uploaded_by, content_type FROM file_groups WHERE files > 0 AND ${groupConditions(filter, values)})`

function groupConditions(filter: FileFilter, values: unknown[]): string {
  const conditions = [`tenant_id = $${values.push(filter.tenantId)}`]
  if (filter.contextIds) conditions.push(`context_id = ANY ($${values.push(filter.contextIds)})`)
  return [...conditions, ...attributeConditions(filter)].join(' AND ')
}

/** The values are literals, because the best plan depends on how many files match. */
export function attributeConditions({ uploadedBy, contentType = null }: FileFilter): string[] {
  const conditions: string[] = []
  if (uploadedBy !== null) conditions.push(`uploaded_by = ${pg.escapeLiteral(uploadedBy)}`)
  if (contentType?.endsWith('/*')) conditions.push(`starts_with(content_type, ${pg.escapeLiteral(contentType.slice(0, -1))})`)
  else if (contentType !== null) conditions.push(`content_type = ${pg.escapeLiteral(contentType)}`)
  return conditions
}

/**
 * True if a page is a merge of one index scan per context. Skipped rows are neither stored nor sorted, but each number of contexts needs
 * its own statement.
 */
const mergesContexts = (filter: FileFilter, skip: number): boolean =>
  skip > 0 && (filter.contextIds?.length ?? 0) > 1 && !hasAttributes(filter)

interface IndexScan {
  ascending?: boolean
  /** Conditions on `f`. */
  where?: readonly string[]
  skip?: number
  /** A literal, so that the planner knows that only a few rows are read. */
  limit: number
  columns?: string
}

/**
 * Matching files in order of their ids, which is the order of creation, as a SELECT statement. It reads the primary key or files_by_context
 * in order and, if only ids are needed, does not access the table. Skipping rows is a pass over the index. Rare files of an uploader or
 * type are read with files_by_size and sorted.
 */
export function filesInOrder(
  filter: FileFilter,
  values: unknown[],
  { ascending = false, where = [], skip = 0, limit, columns = 'f.tenant_id, f.file_id' }: IndexScan,
): string {
  const conditions = [`f.tenant_id = $${values.push(filter.tenantId)}`, ...where, ...attributeConditions(filter)]
  const order = `ORDER BY f.file_id ${ascending ? 'ASC' : 'DESC'}`
  const number = (value: number) => (hasAttributes(filter) ? value : `$${values.push(value)}::bigint`)
  const page = `${order} ${skip > 0 ? `OFFSET ${number(skip)}` : ''} LIMIT ${limit}`
  const files = (context: string, end: string) =>
    `SELECT ${columns} FROM files f WHERE ${context}${conditions.join(' AND ')} ${end}`
  const { contextIds } = filter
  if (contextIds === null && !hasAttributes(filter)) return files('', page)
  if (contextIds?.length === 1) return files(`f.context_id = $${values.push(contextIds[0])} AND `, page)
  if (mergesContexts(filter, skip)) {
    // Without an explicit order, PostgreSQL does not use the order of the index in a branch.
    const scans = filter.contextIds!.map((id) => `(${files(`f.context_id = $${values.push(id)} AND `, order)})`)
    return `SELECT f.* FROM (${scans.join(' UNION ALL ')}) f ${page}`
  }
  // Reads each context in order and sorts the results together. The statement is the same for any number of contexts.
  const contexts = contextIds
    ? `unnest($${values.push(contextIds)}::text[]) c(context_id)`
    : `(SELECT DISTINCT context_id FROM ${selectGroups(filter, values)} g) c`
  const each = files('f.context_id = c.context_id AND ', `${order} LIMIT ${skip > 0 ? number(skip + limit) : limit}`)
  return `SELECT f.* FROM ${contexts} CROSS JOIN LATERAL (${each}) f ${page}`
}

/** Columns of a file that never change, from `files f` with `contextJoin`. */
export const immutableColumns = `f.file_id AS "fileId", f.tenant_id AS "tenantId", f.context_id AS "contextId", c.context_key AS "contextKey", f.original_filename AS "originalFilename",
  f.content_type AS "contentType", f.size_bytes AS "sizeBytes", f.uploaded_by AS "uploadedBy"`

/** Columns of a file in the API, with `buildFileJoinsSql`. Includes downloads that are not folded yet, in the snapshot of the statement. */
export const fileColumns = `${immutableColumns}, 'sha256:' || f.checksum AS checksum, f.metadata, f.uploaded_by_name AS "uploadedByName",
  f.download_count + coalesce(d.times, 0)::bigint AS "downloadCount", greatest(f.last_downloaded_at, d.last_at) AS "lastDownloadedAt", f.created_at AS "createdAt", f.updated_at AS "updatedAt", f.quarantined_at AS "quarantinedAt"`

export const contextJoin = 'JOIN file_contexts c ON c.tenant_id = f.tenant_id AND c.context_id = f.context_id'

/**
 * Joins the context, and the downloads that are not folded yet. `tenant` is a parameter of the statement, because Citus cannot derive the
 * tenant from a limited subquery.
 */
export const buildFileJoinsSql = (tenant: string): string => `${contextJoin}
  LEFT JOIN LATERAL (SELECT sum(times) AS times, max(last_at) AS last_at FROM download_deltas d WHERE d.tenant_id = ${tenant} AND d.file_id = f.file_id) d ON true`

/** Joins the files of a subquery `ids`. The limit makes PostgreSQL look up each file. Otherwise it may read all files of the tenant. */
export const filesOfIds = (tenant: string): string =>
  `CROSS JOIN LATERAL (SELECT * FROM files f WHERE f.tenant_id = ${tenant} AND f.file_id = ids.file_id LIMIT 1) f`

// More rows than any page or connection reads. It is a literal, so that the planner knows it whatever the parameter is.
const maxRows = 101

interface Stretch {
  limit: number
  /** Only files older than the one with this id. */
  untilId?: string | undefined
  skip?: number
  /** Starts with the oldest file. The returned rows are always newest first. */
  ascending?: boolean
}

/** Lists files by context and uploader, newest first, one page at a time. FileSearch supports the other filters. */
export class FileList {
  readonly #database: Queries

  constructor(database: Queries) {
    this.#database = database
  }

  async listPage(filter: FileFilter, place: PagePosition): Promise<Page<File>> {
    const { page, pageSize, afterId } = place
    if (afterId !== undefined) {
      const [rows, total] = await Promise.all([this.after(filter, afterId, pageSize + 1), this.total(filter)])
      return toPage(rows, total, place)
    }
    if (page === 1) return this.#first(filter, place)
    const total = await this.total(filter)
    const skip = (page - 1) * pageSize
    if (skip >= total) return toPage<File>([], total, place)
    const limit = Math.min(pageSize, total - skip)
    const fromOldest = total - skip - limit
    // A page in the second half of the list is counted from the oldest file, so that the middle page is the most expensive one.
    const stretch = fromOldest < skip ? { limit, skip: fromOldest, ascending: true } : { limit, skip }
    return toPage(await this.#rows(filter, stretch), total, place)
  }

  /** Number of matching files, from counters. */
  async total(filter: FileFilter): Promise<number> {
    const values: unknown[] = []
    const [row] = await this.#select<{ total: number }>(filter, 'total', countStatement(filter, values), values)
    return row!.total
  }

  /** Returns at most `limit` files that are older than the file with this id, or the newest files if it is undefined. */
  after(filter: FileFilter, afterId: string | undefined, limit: number): Promise<File[]> {
    return this.#rows(filter, { limit, untilId: afterId })
  }

  /** Returns rows and total with one statement, because most clients read only the first page. */
  async #first(filter: FileFilter, place: PagePosition): Promise<Page<File>> {
    const values: unknown[] = []
    const text = `SELECT ${fileColumns}, (${countStatement(filter, values)}) AS total FROM ${selectRows(filter, values, { limit: place.pageSize })}`
    const rows = await this.#select<File & { total: number }>(filter, 'first', text, values)
    return toPage<File>(rows, rows[0]?.total ?? 0, place)
  }

  #rows(filter: FileFilter, stretch: Stretch): Promise<File[]> {
    const { untilId, skip = 0, ascending } = stretch
    const values: unknown[] = []
    const name = `rows${untilId === undefined ? '' : 'b'}${skip > 0 ? 's' : ''}${ascending ? 'a' : ''}`
    return this.#select<File>(
      filter,
      mergesContexts(filter, skip) ? undefined : name,
      `SELECT ${fileColumns} FROM ${selectRows(filter, values, stretch)}`,
      values,
    )
  }

  /** Statements without a `name` are planned each time. */
  async #select<Row extends object>(
    filter: FileFilter,
    name: string | undefined,
    text: string,
    values: unknown[],
  ): Promise<Row[]> {
    // A filter by uploader or type uses literals. With a name, each value would keep its own plan.
    const { rows } =
      name === undefined || hasAttributes(filter)
        ? await this.#database.query<Row>(text, values)
        : await this.#database.query<Row>({ name: `files-${name}-${getShape(filter)}`, text, values })
    return rows
  }
}

/** One statement name, and therefore one plan, for each shape of the filter. */
const getShape = ({ contextIds }: FileFilter): string => (contextIds === null ? '' : contextIds.length === 1 ? 'c' : 'm')

/** Returns the rows of a page, newest first. If an index contains the ids in order, they are read first. */
function selectRows(filter: FileFilter, values: unknown[], { limit, untilId, skip = 0, ascending }: Stretch): string {
  const where = untilId === undefined ? [] : [`f.file_id < $${values.push(untilId)}`]
  const isDirect = skip === 0 && !hasAttributes(filter) && (filter.contextIds?.length ?? 1) === 1
  const ids = filesInOrder(filter, values, {
    ascending: ascending ?? false,
    where,
    skip,
    limit: maxRows,
    ...(isDirect && { columns: 'f.*' }),
  })
  const page = `(SELECT * FROM (${ids}) found LIMIT $${values.push(limit)})`
  const tenant = `$${values.push(filter.tenantId)}`
  const rows = isDirect ? `${page} f` : `${page} ids ${filesOfIds(tenant)}`
  return `${rows} ${buildFileJoinsSql(tenant)} ORDER BY f.file_id DESC`
}
