/** Which files of a tenant. */
export interface FileFilter {
  tenantId: string
  /** Null: all contexts. */
  contextIds: readonly string[] | null
  uploadedBy: string | null
  /** A whole type, or all of a kind: image/*. */
  contentType?: string | null
}

/** Whether the filter needs more than an index by id. */
export const hasAttributes = ({ uploadedBy, contentType = null }: FileFilter): boolean =>
  uploadedBy !== null || contentType !== null

export interface FileCounts {
  /** Number of matching files. */
  total: number
  /** Number of files of the same contexts. */
  all: number
}

/**
 * Whether a list by age with a filter by uploader or type reads less if it sorts all matching files than if it reads the files in their order
 * until `rows` of them match. The matches are assumed to be spread evenly. Sorting counts twice.
 */
export const isSortingCheaper = ({ total, all }: FileCounts, rows: number): boolean => 2 * total ** 2 <= rows * all

export function countsStatement(filter: FileFilter, values: unknown[]): string {
  const total = countStatement(filter, values)
  const all = hasAttributes(filter) ? countStatement({ ...filter, uploadedBy: null, contentType: null }, values) : 'SELECT 0'
  return `SELECT (${total}) AS total, (${all}) AS "all"`
}

/** Number of matching files, as SELECT. Counters, never a count of rows. */
export function countStatement(filter: FileFilter, values: unknown[]): string {
  const table = hasAttributes(filter) ? 'file_groups' : 'file_totals'
  return `SELECT coalesce(sum(files), 0)::bigint AS total FROM ${table} WHERE ${groupConditions(filter, values)}`
}

/** The combinations of context, uploader and type that match and have files. */
export const groupsOf = (filter: FileFilter, values: unknown[]): string =>
  `(SELECT context_id, uploaded_by, content_type FROM file_groups WHERE files > 0 AND ${groupConditions(filter, values)})`

/** File `f` belongs to group `g`: a range of files_by_name and files_by_size. */
export const isInGroup = (tenant: string): string =>
  `f.tenant_id = ${tenant} AND f.context_id = g.context_id AND f.uploaded_by = g.uploaded_by AND f.content_type = g.content_type`

function groupConditions(filter: FileFilter, values: unknown[]): string {
  const conditions = [`tenant_id = $${values.push(filter.tenantId)}`]
  if (filter.contextIds) conditions.push(`context_id = ANY ($${values.push(filter.contextIds)})`)
  return [...conditions, ...attributeConditions(filter, values)].join(' AND ')
}

function attributeConditions({ uploadedBy, contentType = null }: FileFilter, values: unknown[], table = ''): string[] {
  const conditions: string[] = []
  if (uploadedBy !== null) conditions.push(`${table}uploaded_by = $${values.push(uploadedBy)}`)
  if (contentType?.endsWith('/*')) conditions.push(`starts_with(${table}content_type, $${values.push(contentType.slice(0, -1))})`)
  else if (contentType !== null) conditions.push(`${table}content_type = $${values.push(contentType)}`)
  return conditions
}

interface Stretch {
  ascending?: boolean
  /** Conditions on `f.file_id`. */
  where?: readonly string[]
  skip?: number
  /** A literal, so that the planner knows that few rows are read. */
  limit: number
  /** Of `f`. Others than its ids cost a look at the row. */
  columns?: string
}

/**
 * Matching files in the order of their ids, which is the order of their creation, as SELECT. It reads the primary key or files_by_context
 * in order and, for ids, not the table. Skipping rows is a pass over the index.
 */
export function filesInOrder(
  filter: FileFilter,
  values: unknown[],
  { ascending = false, where = [], skip = 0, limit, columns = 'f.tenant_id, f.file_id' }: Stretch,
): string {
  const tenant = `f.tenant_id = $${values.push(filter.tenantId)}`
  const order = `ORDER BY f.file_id ${ascending ? 'ASC' : 'DESC'}`
  const offset = offsetOf(skip, values)
  const conditions = [tenant, ...where, ...attributeConditions(filter, values, 'f.')]
  const ids = (context: string[], end: string) =>
    `SELECT ${columns} FROM files f WHERE ${[...context, ...conditions].join(' AND ')} ${order} ${end}`
  const { contextIds } = filter
  if (contextIds === null && !hasAttributes(filter)) return ids([], `${offset} LIMIT ${limit}`)
  if (contextIds?.length === 1) return ids([`f.context_id = $${values.push(contextIds[0])}`], `${offset} LIMIT ${limit}`)
  // Each context in its order, merged.
  const contexts = contextIds
    ? `unnest($${values.push(contextIds)}::text[]) c(context_id)`
    : `(SELECT DISTINCT context_id FROM ${groupsOf(filter, values)} g) c`
  const enough = skip > 0 ? `(SELECT $${values.push(skip + limit)}::bigint)` : String(limit)
  return `SELECT f.* FROM ${contexts} CROSS JOIN LATERAL (${ids(['f.context_id = c.context_id'], `LIMIT ${enough}`)}) f ${order} ${offset} LIMIT ${limit}`
}

/** The same from all matching files, sorted. OFFSET 0 makes the planner go group by group. */
export function sortedFiles(
  filter: FileFilter,
  values: unknown[],
  { ascending = false, where = [], skip = 0, limit }: Stretch,
): string {
  const tenant = `$${values.push(filter.tenantId)}`
  return `SELECT f.* FROM ${groupsOf(filter, values)} g CROSS JOIN LATERAL (
      SELECT f.tenant_id, f.file_id FROM files f WHERE ${[isInGroup(tenant), ...where].join(' AND ')} OFFSET 0) f
    ORDER BY f.file_id ${ascending ? 'ASC' : 'DESC'} ${offsetOf(skip, values)} LIMIT ${limit}`
}

/** Not the parameter itself: PostgreSQL would plan the statement again for each value. */
const offsetOf = (skip: number, values: unknown[]): string => (skip > 0 ? `OFFSET (SELECT $${values.push(skip)}::bigint)` : '')
