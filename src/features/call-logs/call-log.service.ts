import {
  type Connection,
  type ConnectionArgs,
  type Page,
  type PageArgs,
  type PagePlace,
  type Stretch,
  toConnection,
  toPage,
  toPagePlace,
  toStretch,
} from '../../api/graphql/page.js'
import type { Window } from '../../api/graphql/rules.js'
import type { ValidationReport } from '../../inspection/report.js'
import { monthStart } from '../../ledger/partitions.js'
import type { Actor } from '../../platform/actor.js'
import { currentTime } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import type { Queries } from '../../platform/db/queries.js'
import { statementNames } from '../../platform/db/statement-names.js'
import { notFound } from '../../platform/errors/errors.js'
import { createCursor, firstIdAt, idAt, idTime, isId } from '../../platform/ids.js'
import type { CallLog } from './call-log.types.js'
import { CallLogCounts, pairsOf } from './call-log-counts.js'
import { type CallLogFilter, idBounds, loggedWindow } from './call-log-window.js'

const columns = `call_id AS "callId", api_key_id AS "apiKeyId", api_key_name AS "apiKeyName", operation, status, file_id AS "fileId", context_key AS "contextKey",
  error_code AS "errorCode", error_message AS "errorMessage", ip_address AS "ipAddress", user_agent AS "userAgent", created_at AS "createdAt"`

// More than any page or connection reads: a limit that the planner sees, so that it need not plan for each value anew.
const mostRows = 101
const nameOf = statementNames('calls')

/** The call log (spec §2): who called, when, from where, and how it ended. Written by the ledger alone. */
export class CallLogService {
  readonly #db: Database
  readonly #counts: CallLogCounts
  readonly #horizon: () => Date | null

  /** `horizon`: calls older than that are out of the log; null: none are. */
  constructor(parts: { db: Database; horizon: () => Date | null }) {
    this.#db = parts.db
    this.#counts = new CallLogCounts(parts.db.reads)
    this.#horizon = parts.horizon
  }

  /** Throws 404, also for a call that is out of the log by its age. */
  async get(actor: Actor, callId: string): Promise<CallLog> {
    const horizon = this.#horizon()
    const { rows } = await this.#db.pool.query<CallLog>(
      `SELECT ${columns} FROM call_logs WHERE tenant_id = $1 AND call_id = $2 AND call_id >= $3`,
      [actor.tenantId, callId, horizon ? firstIdAt('call', horizon) : ''],
    )
    if (!rows[0]) throw notFound('call', callId)
    return rows[0]
  }

  /** Newest first. A page costs the same at any depth: the counters tell in which hour it begins. */
  async list(actor: Actor, { page, pageSize, after, ...filter }: CallLogFilter & PageArgs): Promise<Page<CallLog>> {
    const place = toPagePlace('call', { page, pageSize, after })
    if (isImpossible(filter)) return toPage<CallLog>([], 0, place)
    const totalItems = await this.#counts.total(actor.tenantId, filter, this.#window(filter))
    const rows =
      place.afterId === undefined
        ? await this.#numbered(actor.tenantId, filter, place, totalItems)
        : await this.#after(actor.tenantId, filter, place.afterId, pageSize + 1)
    return toPage(rows, totalItems, place)
  }

  async #numbered(
    tenantId: string,
    filter: CallLogFilter,
    { page, pageSize }: PagePlace,
    totalItems: number,
  ): Promise<CallLog[]> {
    const offset = (page - 1) * pageSize
    const limit = Math.min(pageSize, totalItems - offset)
    if (limit <= 0) return []
    const place = await this.#counts.place(tenantId, filter, this.#window(filter), { offset, limit })
    return place ? select(this.#db.reads, tenantId, filter, { ...idBounds(place), limit, offset: place.skip }) : []
  }

  /** The same at any depth, and whatever came meanwhile. */
  async connection(
    actor: Actor,
    { first, after, last, before, ...filter }: CallLogFilter & ConnectionArgs,
  ): Promise<Connection<CallLog>> {
    const { tenantId } = actor
    const stretch = toStretch({ first, after, last, before }, (cursor, field) => idAt('call', cursor, field))
    return toConnection(isImpossible(filter) ? [] : await this.#stretch(tenantId, filter, stretch), stretch, {
      cursor: (call) => createCursor(call.callId),
      totalCount: async () => (isImpossible(filter) ? 0 : this.#counts.total(tenantId, filter, this.#window(filter))),
    })
  }

  /** One row more than asked for, where there are others. */
  async #stretch(tenantId: string, filter: CallLogFilter, { limit, fromEnd, after, before }: Stretch): Promise<CallLog[]> {
    if (!fromEnd && before === undefined) return this.#after(tenantId, filter, after, limit + 1)
    const bounds = idBounds(this.#window(filter))
    const rows = await select(this.#db.reads, tenantId, filter, {
      from: latestId(bounds.from, before === undefined ? null : behind(before)),
      until: earliestId(bounds.until, after ?? null),
      limit: limit + 1,
      oldestFirst: fromEnd,
    })
    return fromEnd ? rows.reverse() : rows
  }

  /** At most `limit` calls older than that one; the newest without one. */
  async #after(tenantId: string, filter: CallLogFilter, afterId: string | undefined, limit: number): Promise<CallLog[]> {
    const window = this.#window(filter)
    if (afterId && (!window.until || idTime(afterId) < window.until)) window.until = new Date(idTime(afterId).getTime() + 1)
    const place = await this.#counts.place(tenantId, filter, window, { offset: 0, limit })
    if (!place) return []
    const { from, until } = idBounds(place)
    const bound = afterId && (!until || afterId < until) ? afterId : until
    const rows = await select(this.#db.reads, tenantId, filter, { from, until: bound, limit })
    if (rows.length === limit || !from) return rows
    // The call's own millisecond was counted too: where that made the stretch too short, the rest lies before it.
    const rest = { from: idBounds(window).from, until: from, limit: limit - rows.length }
    return [...rows, ...(await select(this.#db.reads, tenantId, filter, rest))]
  }

  async recentByKeys(tenantId: string, apiKeyIds: readonly string[], most: number): Promise<Map<string, CallLog[]>> {
    const byKey = new Map<string, CallLog[]>(apiKeyIds.map((id) => [id, []]))
    const oldest = await this.#counts.newestDays(tenantId, apiKeyIds, most)
    if (!oldest) return byKey
    const horizon = this.#window({}).from
    const { rows } = await this.#db.reads.query<CallLog>(
      `SELECT c.* FROM unnest($2::text[]) AS k(id) CROSS JOIN LATERAL (
         SELECT ${columns} FROM ${source({}, { key: 'k.id', bounds: 'AND call_id >= $4', most: '$3' })} ORDER BY call_id DESC LIMIT $3) c`,
      [tenantId, apiKeyIds, most, firstIdAt('call', horizon && horizon > oldest ? horizon : oldest)],
    )
    for (const row of rows) byKey.get(row.apiKeyId)!.push(row)
    return byKey
  }

  /** The reports of rejected uploads, by call. */
  async validations(tenantId: string, callIds: readonly string[]): Promise<Map<string, ValidationReport>> {
    const { rows } = await this.#db.pool.query<{ call_id: string; validation: ValidationReport }>(
      'SELECT call_id, validation FROM call_logs WHERE tenant_id = $1 AND call_id = ANY($2) AND validation IS NOT NULL',
      [tenantId, callIds],
    )
    return new Map(rows.map((row) => [row.call_id, row.validation]))
  }

  /**
   * All rows up to now, newest first, in batches, for exports. A month at a time by key, each batch a short statement of its
   * own: nothing holds a snapshot or a lock for as long as the client takes to read.
   */
  async *batches(connection: Queries, actor: Actor, filter: CallLogFilter, size: number): AsyncGenerator<CallLog[]> {
    if (isImpossible(filter)) return
    const now = currentTime()
    const window = this.#window(filter)
    const until = window.until && window.until < now ? window.until : now
    const oldest = await new CallLogCounts(connection).oldest(actor.tenantId)
    const from = window.from && oldest && window.from > oldest ? window.from : oldest
    if (!from) return
    for (let month = monthStart(until); monthStart(month, 1) > from; month = monthStart(month, -1)) {
      const bounds = idBounds({ from: new Date(Math.max(month.getTime(), from.getTime())), until })
      for (let before = bounds.until; ; ) {
        const rows = await select(connection, actor.tenantId, filter, { from: bounds.from, until: before, limit: size })
        if (rows.length > 0) yield rows
        if (rows.length < size) break
        before = rows.at(-1)!.callId
      }
      until.setTime(Math.min(until.getTime(), month.getTime()))
    }
  }

  #window(filter: CallLogFilter): Window {
    return loggedWindow(filter, this.#horizon())
  }
}

// Ids are of one length, so that nothing lies between.
const behind = (id: string): string => `${id}0`
const latestId = (a: string | null, b: string | null): string | null => (!a ? b : !b ? a : a > b ? a : b)
const earliestId = (a: string | null, b: string | null): string | null => (!a ? b : !b ? a : a < b ? a : b)

// An id that is none matches nothing (contract §1).
const isImpossible = ({ apiKeyId }: CallLogFilter): boolean => typeof apiKeyId === 'string' && !isId('key', apiKeyId)

/** Rows from the newest on, or from the oldest, between bounds of ids (`from` inclusive, `until` exclusive). */
async function select(
  database: Queries,
  tenantId: string,
  filter: CallLogFilter,
  {
    from,
    until,
    limit,
    offset = 0,
    oldestFirst = false,
  }: { from: string | null; until: string | null; limit: number; offset?: number; oldestFirst?: boolean },
): Promise<CallLog[]> {
  const values: unknown[] = [tenantId]
  const key = filter.apiKeyId ? `$${values.push(filter.apiKeyId)}` : null
  const bounds = `${from ? `AND call_id >= $${values.push(from)}` : ''} ${until ? `AND call_id < $${values.push(until)}` : ''}`
  const most = Math.max(limit, mostRows)
  const skip = offset > 0 ? `$${values.push(offset)}::bigint` : null
  const order = oldestFirst ? 'call_id' : 'call_id DESC'
  const calls = source(filter, { key, bounds, most: skip ? `${skip} + ${most}` : `${most}`, order })
  const text = `SELECT * FROM (SELECT ${columns} FROM ${calls} ORDER BY ${order} ${skip ? `OFFSET ${skip}` : ''} LIMIT ${most}) page LIMIT $${values.push(limit)}`
  return (await database.query<CallLog>({ name: nameOf(text), text, values })).rows
}

/**
 * One ordered index scan for each pair of operation and status, merged: two indexes serve every combination of filters, and
 * none of them ever reads a row that it then throws away.
 */
function source(
  filter: CallLogFilter,
  { key, bounds, most, order = 'call_id DESC' }: { key: string | null; bounds: string; most: string; order?: string },
): string {
  if (!key && !filter.operation && !filter.status)
    return `(SELECT * FROM call_logs WHERE tenant_id = $1 ${bounds} ORDER BY ${order} LIMIT ${most}) calls`
  const pairs = pairsOf(filter).map(({ operation, status }) => `('${operation}', '${status}')`)
  // LATERAL, and not a union: planned once, whatever the number of pairs and partitions.
  return `(VALUES ${pairs.join(', ')}) AS pair(op, st) CROSS JOIN LATERAL (
    SELECT * FROM call_logs WHERE tenant_id = $1 ${key ? `AND api_key_id = ${key}` : ''} AND operation = pair.op AND status = pair.st ${bounds}
    ORDER BY ${order} LIMIT ${most}) calls`
}
