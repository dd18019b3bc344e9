import type { Actor } from '../../platform/actor.js'
import { getCurrentTime } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import type { Queries } from '../../platform/db/queries.js'
import { notFound } from '../../platform/errors/errors.js'
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

/** A log table. Row ids begin with a timestamp, so sorting by id is chronological. */
export interface LogTable<Row> {
  name: string
  /** Noun for a row in error messages. */
  noun: string
  id: string
  prefix: IdPrefix
  getId(row: Row): string
  columns: string
  /** Indexed columns that filters use. For each combination of their values, one ordered index scan reads the matching rows. */
  filterColumns: readonly [string, string]
  nameOf(text: string): string
}

/**
 * SQL conditions for log rows. `pairs` contains the requested combinations of values for the two filter columns. Each combination
 * is scanned separately. If `pairs` is null, one scan reads all matching rows.
 */
export interface RowFilter {
  conditions: readonly string[]
  values: readonly unknown[]
  pairs: readonly (readonly [string, string])[] | null
}

/** Range of row ids, newest first by default. `from` is inclusive, `until` is exclusive, and a missing bound means no limit. */
interface RowRange {
  from?: string | undefined
  until?: string | undefined
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

/** A tenant's log rows that match a filter. */
export interface LogQuery {
  /** Conditions for the rows, or null if no row can match. */
  filter: RowFilter | null
  count(): Promise<number>
  /** Returns row counts for time intervals of at most one day, newest first. */
  buckets(): AsyncIterable<Bucket> | Promise<Bucket[]>
  /**
   * Returns hourly row counts for a time interval, newest first. Old counts may be missing, because they are eventually deleted.
   */
  hours(bucket: Bucket): Promise<Bucket[]>
}

// Value of LIMIT that covers the rows of any page. Because it is constant, one query plan serves all page sizes.
const maxRows = 101

/** Reads a log. Only the ledger writes to logs. */
export abstract class LogReader<Row extends object, Filter extends object> {
  protected abstract readonly table: LogTable<Row>

  /** `horizon` returns the start of the retained log, or null if all rows are retained. */
  constructor(protected readonly parts: { db: Database; horizon: () => Date | null }) {}

  protected abstract createQuery(tenantId: string, filter: Filter): LogQuery

  /** Returns a row. Throws 404 if it does not exist or is older than the retention period. */
  async get({ tenantId }: Actor, rowId: string): Promise<Row> {
    const { name, noun, id, prefix, columns } = this.table
    const horizon = this.parts.horizon()
    const { rows } = await this.parts.db.pool.query<Row>(
      `SELECT ${columns} FROM ${name} WHERE tenant_id = $1 AND ${id} = $2 AND ${id} >= $3`,
      [tenantId, rowId, horizon ? getFirstId(prefix, horizon) : ''],
    )
    if (!rows[0]) throw notFound(noun, rowId)
    return rows[0]
  }

  /** Returns a page by number or after a cursor. The cost does not depend on the page's position. */
  async list({ tenantId }: Actor, args: Filter & PageArgs): Promise<Page<Row>> {
    const query = this.createQuery(tenantId, args)
    const position = toPagePosition(this.table.prefix, args)
    const { page, pageSize, afterId } = position
    const total = await query.count()
    if (afterId !== undefined) return toPage(await this.#select(query, { until: afterId, limit: pageSize + 1 }), total, position)
    const offset = (page - 1) * pageSize
    const limit = Math.min(pageSize, total - offset)
    if (limit <= 0) return toPage([], total, position)
    return toPage(await this.#select(query, { ...(await this.#findHourAtOffset(query, offset)), limit }), total, position)
  }

  async getConnection({ tenantId }: Actor, args: Filter & ConnectionArgs): Promise<Connection<Row>> {
    const query = this.createQuery(tenantId, args)
    const range = toListRange(args, (cursor, field) => parseIdCursor(this.table.prefix, cursor, field))
    const { after, before, limit, fromEnd } = range
    // The page must not include `before`. All ids have the same length, so the appended character excludes `before` but no later
    // id.
    const from = before && `${before}0`
    const rows = await this.#select(query, { from, until: after, limit: limit + 1, oldestFirst: fromEnd })
    return toConnection(fromEnd ? rows.reverse() : rows, range, {
      cursor: (row) => createCursor(this.table.getId(row)),
      totalCount: () => query.count(),
    })
  }

  /**
   * Yields all rows up to the current time in batches, newest first. A separate statement reads each batch, so that slow
   * clients do not keep a snapshot open.
   */
  async *readInBatches(connection: Queries, { tenantId }: Actor, filter: Filter, size: number): AsyncGenerator<Row[]> {
    const query = this.createQuery(tenantId, filter)
    for (let until = getFirstId(this.table.prefix, getCurrentTime()); ; ) {
      const rows = await this.#select(query, { until, limit: size }, connection)
      if (rows.length > 0) yield rows
      if (rows.length < size) return
      until = this.table.getId(rows.at(-1)!)
    }
  }

  /** Returns the end of the hour that contains the row at `offset`, and the row's offset within that hour. */
  async #findHourAtOffset(query: LogQuery, offset: number): Promise<{ offset: number; until?: string }> {
    if (offset === 0) return { offset }
    const { prefix } = this.table
    let rest = offset
    for await (const bucket of await query.buckets()) {
      if (bucket.count <= rest) {
        rest -= bucket.count
        continue
      }
      const hours = await query.hours(bucket)
      const isComplete = hours.reduce((sum, { count }) => sum + count, 0) >= bucket.count
      for (const { until, count } of isComplete ? hours : []) {
        if (count > rest) return { offset: rest, until: getFirstId(prefix, until) }
        rest -= count
      }
      return { offset: rest, until: getFirstId(prefix, bucket.until) }
    }
    return { offset }
  }

  async #select(
    { filter }: LogQuery,
    { from, until, limit, offset = 0, oldestFirst = false }: RowRange,
    database: Queries = this.parts.db.reads,
  ): Promise<Row[]> {
    if (!filter) return []
    const { id, columns, nameOf } = this.table
    const values = [...filter.values]
    const conditions = [...filter.conditions]
    if (from) conditions.push(`${id} >= $${values.push(from)}`)
    if (until) conditions.push(`${id} < $${values.push(until)}`)
    const max = Math.max(limit, maxRows)
    const skip = offset > 0 ? `$${values.push(offset)}::bigint` : '0'
    const order = oldestFirst ? id : `${id} DESC`
    const rows = buildFromClause(this.table, { conditions, pairs: filter.pairs, order, max: `${skip} + ${max}` })
    const text = `SELECT * FROM (SELECT ${columns} FROM ${rows} ORDER BY ${order} OFFSET ${skip} LIMIT ${max}) page LIMIT $${values.push(limit)}`
    return (await database.query<Row>({ name: nameOf(text), text, values })).rows
  }
}

/** Returns a FROM clause that combines one ordered index scan per pair of filter values, so that only matching rows are read. */
export function buildFromClause(
  { name, id, filterColumns: [first, second] }: LogTable<never>,
  { conditions, pairs, max, order = `${id} DESC` }: Omit<RowFilter, 'values'> & { max: string; order?: string },
): string {
  const buildRowsSelect = (pair: string[]) =>
    `(SELECT * FROM ${name} WHERE ${[...conditions, ...pair].join(' AND ')} ORDER BY ${order} LIMIT ${max}) log_rows`
  if (!pairs) return buildRowsSelect([])
  // Use a LATERAL join, because PostgreSQL plans it only once. It would plan a UNION separately for each pair and partition.
  return `(VALUES ${pairs.map(([a, b]) => `('${a}', '${b}')`).join(', ')}) AS pair(a, b) CROSS JOIN LATERAL ${buildRowsSelect([`${first} = pair.a`, `${second} = pair.b`])}`
}
