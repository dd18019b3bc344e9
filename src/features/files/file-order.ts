import pg from 'pg'
/** Selects files of a tenant. */
export interface FileFilter {
  tenantId: string
  /** Null: all contexts. */
  contextIds: readonly string[] | null
  uploadedBy: string | null
  /** A whole type, or all of a kind: image/*. */
  contentType?: string | null
}

/** A filter by uploader or type. Its statements have no name: the planner has to see the values, because rare and frequent ones need different plans. */
export const hasAttributes = ({ uploadedBy, contentType = null }: FileFilter): boolean =>
  uploadedBy !== null || contentType !== null

/** Number of matching files, as SELECT: a sum of counters. */
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

const { escapeLiteral } = pg

/** As literals: the best plan depends on how many files match, and plans of parameters are made without their values. */
function attributeConditions({ uploadedBy, contentType = null }: FileFilter): string[] {
  const conditions: string[] = []
  if (uploadedBy !== null) conditions.push(`uploaded_by = ${escapeLiteral(uploadedBy)}`)
  if (contentType?.endsWith('/*')) conditions.push(`starts_with(content_type, ${escapeLiteral(contentType.slice(0, -1))})`)
  else if (contentType !== null) conditions.push(`content_type = ${escapeLiteral(contentType)}`)
  return conditions
}

/**
 * True if a page is a merge of one index scan per context. Skipped rows are neither stored nor sorted, but each number of contexts
 * has its own statement.
 */
export const mergesContexts = (filter: FileFilter, skip: number): boolean =>
  skip > 0 && (filter.contextIds?.length ?? 0) > 1 && !hasAttributes(filter)

interface Stretch {
  ascending?: boolean
  /** Conditions on `f`. */
  where?: readonly string[]
  skip?: number
  /** A literal, so that the planner knows that few rows are read. */
  limit: number
  columns?: string
}

/**
 * Matching files in the order of their ids, which is the order of their creation, as SELECT. It reads the primary key or files_by_context in
 * order and, for ids, not the table. Skipping rows is a pass over the index. Rare files of an uploader or type are read by files_by_size and sorted.
 */
export function filesInOrder(
  filter: FileFilter,
  values: unknown[],
  { ascending = false, where = [], skip = 0, limit, columns = 'f.tenant_id, f.file_id' }: Stretch,
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
    // Without an order of its own, PostgreSQL does not use the order of the index in a branch.
    const scans = filter.contextIds!.map((id) => `(${files(`f.context_id = $${values.push(id)} AND `, order)})`)
    return `SELECT f.* FROM (${scans.join(' UNION ALL ')}) f ${page}`
  }
  // Each context in its order, sorted together. The statement is the same for any number of contexts.
  const contexts = contextIds
    ? `unnest($${values.push(contextIds)}::text[]) c(context_id)`
    : `(SELECT DISTINCT context_id FROM ${selectGroups(filter, values)} g) c`
  const each = files('f.context_id = c.context_id AND ', `${order} LIMIT ${skip > 0 ? number(skip + limit) : limit}`)
  return `SELECT f.* FROM ${contexts} CROSS JOIN LATERAL (${each}) f ${page}`
}
