import type { Queries } from '../../platform/db/queries.js'
import { createCursor, getFirstId, type IdPrefix, parseIdCursor } from '../../platform/ids.js'
import {
  type Connection,
  type ConnectionArgs,
  type Page,
  type PageArgs,
  toConnection,
  toListRange,
  toPage,
  toPagePosition,
} from './page.js'

/** A log table. Row ids begin with a timestamp, so their order is chronological. */
export interface LogTable {
  name: string
  id: string
  columns: string
  /** Columns that the indexes filter by. One ordered index scan reads the rows of each combination of values. */
  filterColumns: readonly [string, string]
}

/** Range of row ids, newest first by default. `from` is inclusive, `until` is exclusive, and a missing bound means unbounded. */
export interface RowRange {
  from?: string | null | undefined
  until?: string | null | undefined
  limit: number
  offset?: number
  oldestFirst?: boolean
}

/** Number of rows in a period. `until` is exclusive. */
export interface Bucket {
  from: Date
  until: Date
  count: number
}

/** Access to a tenant's log rows that match a filter. */
export interface LogQuery<Row> {
  prefix: IdPrefix
  getId(row: Row): string
  select(range: RowRange): Promise<Row[]>
  count(): Promise<number>
  /** Returns row counts in buckets of at most one day, newest first. */
  buckets(): AsyncIterable<Bucket>
  /** Returns row counts for the hours of a bucket, newest first. Old hours may be missing, because they are deleted. */
  hours(bucket: Bucket): AsyncIterable<Bucket>
}

/** Returns a page by number or after a cursor. The cost does not depend on the page's position. */
export async function listLog<Row>(log: LogQuery<Row>, args: PageArgs): Promise<Page<Row>> {
  const place = toPagePosition(log.prefix, args)
  const { page, pageSize, afterId } = place
  const total = await log.count()
  if (afterId !== undefined) return toPage(await log.select({ until: afterId, limit: pageSize + 1 }), total, place)
  const offset = (page - 1) * pageSize
  const limit = Math.min(pageSize, total - offset)
  return toPage(limit > 0 ? await log.select({ ...(await findHourAtOffset(log, offset)), limit }) : [], total, place)
}

/** Returns the end of the hour that contains the row at `offset`, and the offset of the row within that hour. */
async function findHourAtOffset(log: LogQuery<unknown>, offset: number): Promise<{ offset: number; until?: string }> {
  if (offset === 0) return { offset }
  let rest = offset
  for await (const bucket of log.buckets()) {
    if (bucket.count <= rest) {
      rest -= bucket.count
      continue
    }
    const hours: Bucket[] = []
    for await (const hour of log.hours(bucket)) hours.push(hour)
    const isComplete = hours.reduce((sum, { count }) => sum + count, 0) >= bucket.count
    for (const { until, count } of isComplete ? hours : []) {
      if (count > rest) return { offset: rest, until: getFirstId(log.prefix, until) }
      rest -= count
    }
    return { offset: rest, until: getFirstId(log.prefix, bucket.until) }
  }
  return { offset }
}

export async function connectLog<Row>(log: LogQuery<Row>, args: ConnectionArgs): Promise<Connection<Row>> {
  const stretch = toListRange(args, (cursor, field) => parseIdCursor(log.prefix, cursor, field))
  const { after, before, limit, fromEnd } = stretch
  // Ids have equal lengths, so no other id lies between `before` and `before` with a suffix.
  const from = before && `${before}0`
  const rows = await log.select({ from, until: after, limit: limit + 1, oldestFirst: fromEnd })
  return toConnection(fromEnd ? rows.reverse() : rows, stretch, {
    cursor: (row) => createCursor(log.getId(row)),
    totalCount: () => log.count(),
  })
}

/**
 * Reads all rows older than `until` in batches, for exports. Each batch is a separate statement, so slow clients do not hold a
 * snapshot.
 */
export async function* readLogInBatches<Row>(
  log: LogQuery<Row>,
  { until, size }: { until: Date; size: number },
): AsyncGenerator<Row[]> {
  for (let before = getFirstId(log.prefix, until); ; ) {
    const rows = await log.select({ until: before, limit: size })
    if (rows.length > 0) yield rows
    if (rows.length < size) return
    before = log.getId(rows.at(-1)!)
  }
}

// Exceeds the size of every page. With a constant limit in the statement, one query plan serves all page sizes.
const maxRows = 101

export async function selectLogRows<Row extends object>(
  database: Queries,
  table: LogTable,
  filter: { conditions: readonly string[]; values: unknown[]; pairs: readonly (readonly [string, string])[] | null },
  { from, until, limit, offset = 0, oldestFirst = false, nameOf }: RowRange & { nameOf: (text: string) => string },
): Promise<Row[]> {
  const { values } = filter
  const conditions = [...filter.conditions]
  if (from) conditions.push(`${table.id} >= $${values.push(from)}`)
  if (until) conditions.push(`${table.id} < $${values.push(until)}`)
  const max = Math.max(limit, maxRows)
  const skip = offset > 0 ? `$${values.push(offset)}::bigint` : '0'
  const order = oldestFirst ? table.id : `${table.id} DESC`
  const rows = createRowsClause(table, { conditions, pairs: filter.pairs, order, max: `${skip} + ${max}` })
  const text = `SELECT * FROM (SELECT ${table.columns} FROM ${rows} ORDER BY ${order} OFFSET ${skip} LIMIT ${max}) page LIMIT $${values.push(limit)}`
  return (await database.query<Row>({ name: nameOf(text), text, values })).rows
}

/**
 * Returns a FROM clause that combines one ordered index scan per pair of filter values. Scans do not read rows that are discarded
 * later.
 */
export function createRowsClause(
  { name, id, filterColumns: [first, second] }: LogTable,
  {
    conditions,
    pairs,
    max,
    order = `${id} DESC`,
  }: { conditions: readonly string[]; pairs: readonly (readonly [string, string])[] | null; max: string; order?: string },
): string {
  const rows = (pair: string[]) =>
    `(SELECT * FROM ${name} WHERE ${[...conditions, ...pair].join(' AND ')} ORDER BY ${order} LIMIT ${max}) log_rows`
  if (!pairs) return rows([])
  // LATERAL is planned once. UNION would be planned for each pair and partition.
  return `(VALUES ${pairs.map(([a, b]) => `('${a}', '${b}')`).join(', ')}) AS pair(a, b) CROSS JOIN LATERAL ${rows([`${first} = pair.a`, `${second} = pair.b`])}`
}
