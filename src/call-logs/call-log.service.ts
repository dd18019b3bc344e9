import type { Actor } from '../auth/actor.js'
import type { Database } from '../db/client.js'
import type { ValidationReport } from '../files/checks/check.js'
import { type Connection, connectionOf, idOfCursor, type Page, pageOf } from '../graphql/page.js'
import { firstIdAt, idTime, isId } from '../ids.js'
import type { CallLog } from './call-log.type.js'
import { CallLogCounts, pairsOf } from './call-log-counts.js'
import { type CallLogFilter, idBounds, logHorizon, type Window, windowOf } from './call-log-window.js'

const columns = `call_id AS "callId", api_key_id AS "apiKeyId", api_key_name AS "apiKeyName", operation, status, file_id AS "fileId", context_key AS "contextKey",
  error_code AS "errorCode", error_message AS "errorMessage", ip_address AS "ipAddress", user_agent AS "userAgent", created_at AS "createdAt"`

/** The call log (spec §2): who called, when, from where, and how it ended. Written by the ledger alone. */
export class CallLogService {
  readonly #db: Database
  readonly #counts: CallLogCounts
  readonly #retentionDays: number | undefined

  constructor(parts: { db: Database; retentionDays: number | undefined }) {
    this.#db = parts.db
    this.#counts = new CallLogCounts(parts.db.pool)
    this.#retentionDays = parts.retentionDays
  }

  /** Newest first. A page costs the same at any depth: the counters tell in which hour it begins. */
  async list(
    actor: Actor,
    { page, pageSize, ...filter }: CallLogFilter & { page: number; pageSize: number },
  ): Promise<Page<CallLog>> {
    if (isImpossible(filter)) return pageOf<CallLog>([], 0, { page, pageSize })
    const window = windowOf(filter, logHorizon(this.#retentionDays))
    const totalItems = await this.#counts.total(actor.tenantId, filter, window)
    const offset = (page - 1) * pageSize
    const rows =
      offset >= totalItems
        ? []
        : await this.#pageRows(actor.tenantId, filter, window, { offset, limit: Math.min(pageSize, totalItems - offset) })
    return pageOf(rows, totalItems, { page, pageSize })
  }

  async connection(
    actor: Actor,
    { first, after, ...filter }: CallLogFilter & { first: number; after?: string },
  ): Promise<Connection<CallLog>> {
    const from = idOfCursor(after)
    const { from: oldest, until } = idBounds(windowOf(filter, logHorizon(this.#retentionDays)))
    const newest = from && (!until || from < until) ? from : until
    const rows = isImpossible(filter)
      ? []
      : await this.#newestFirst(actor.tenantId, filter, { from: oldest, until: newest, limit: first + 1 })
    return connectionOf(rows, { first, ...(after && { after }) }, (call) => call.callId)
  }

  /** The newest calls of several keys, for relations: one statement, whatever their number. */
  async recentByKeys(tenantId: string, apiKeyIds: readonly string[], most: number): Promise<Map<string, CallLog[]>> {
    const { rows } = await this.#db.pool.query<CallLog>(
      `SELECT c.* FROM unnest($2::text[]) AS k(id) CROSS JOIN LATERAL (
         SELECT ${columns} FROM (${branches({}, 'k.id', '', '$3')}) newest ORDER BY call_id DESC LIMIT $3) c`,
      [tenantId, apiKeyIds, most],
    )
    const byKey = new Map<string, CallLog[]>(apiKeyIds.map((id) => [id, []]))
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

  /** Rows from the newest on, between bounds of ids (`from` inclusive, `until` exclusive). For exports and connections. */
  async rows(
    tenantId: string,
    filter: CallLogFilter,
    { from, until, limit, offset = 0 }: { from: string | null; until: string | null; limit: number; offset?: number },
  ): Promise<CallLog[]> {
    const values: unknown[] = [tenantId]
    const key = filter.apiKeyId ? `$${values.push(filter.apiKeyId)}` : null
    const bounds = `${from ? ` AND call_id >= $${values.push(from)}` : ''}${until ? ` AND call_id < $${values.push(until)}` : ''}`
    const most = `$${values.push(offset + limit)}`
    const { rows } = await this.#db.pool.query<CallLog>(
      `SELECT ${columns} FROM (${branches(filter, key, bounds, most)}) calls ORDER BY call_id DESC LIMIT $${values.push(limit)} OFFSET $${values.push(offset)}`,
      values,
    )
    return rows
  }

  // Nearly always the next rows are close by: a month's partitions are asked first, all of them only where that was too little.
  async #newestFirst(
    tenantId: string,
    filter: CallLogFilter,
    bounds: { from: string | null; until: string | null; limit: number },
  ): Promise<CallLog[]> {
    const near = firstIdAt('call', new Date((bounds.until ? idTime(bounds.until).getTime() : Date.now()) - 31 * 86_400_000))
    if (!bounds.from || bounds.from < near) {
      const rows = await this.rows(tenantId, filter, { ...bounds, from: near })
      if (rows.length === bounds.limit) return rows
    }
    return this.rows(tenantId, filter, bounds)
  }

  async #pageRows(
    tenantId: string,
    filter: CallLogFilter,
    window: Window,
    { offset, limit }: { offset: number; limit: number },
  ): Promise<CallLog[]> {
    const day = await this.#counts.locate(tenantId, filter, 'day', startOfDays(window), offset)
    // A window that breaks a day makes the day's counter too large by the rows outside: then rows are skipped one by one, within the window.
    if (!day || window.until) return this.rows(tenantId, filter, { ...idBounds(window), limit, offset })
    const until = new Date(day.bucket.getTime() + 86_400_000)
    const hour = await this.#counts.locate(tenantId, filter, 'hour', { from: day.bucket, until }, offset - day.skipped)
    const end = hour ? new Date(hour.bucket.getTime() + 3_600_000) : until
    const skipped = day.skipped + (hour?.skipped ?? 0)
    // The day of the page's last row is the other bound: the partitions of all other months are not even opened.
    const last = await this.#counts.locate(tenantId, filter, 'day', startOfDays(window), offset + limit - 1)
    const from = last && (!window.from || last.bucket > window.from) ? last.bucket : window.from
    return this.rows(tenantId, filter, { ...idBounds({ from, until: end }), limit, offset: offset - skipped })
  }
}

const startOfDays = ({ from }: Window): Window => ({
  from: from && new Date(Math.floor(from.getTime() / 86_400_000) * 86_400_000),
  until: null,
})

// An id that is none matches nothing (contract §1).
const isImpossible = ({ apiKeyId }: CallLogFilter): boolean => typeof apiKeyId === 'string' && !isId('key', apiKeyId)

/**
 * One ordered index scan for each pair of operation and status, merged: two indexes serve every combination of filters, and
 * none of them ever reads a row that it then throws away.
 */
function branches(filter: CallLogFilter, key: string | null, bounds: string, most: string): string {
  if (!key && !filter.operation && !filter.status)
    return `(SELECT * FROM call_logs WHERE tenant_id = $1${bounds} ORDER BY call_id DESC LIMIT ${most})`
  return pairsOf(filter)
    .map(
      ({ operation, status }) =>
        `(SELECT * FROM call_logs WHERE tenant_id = $1${key ? ` AND api_key_id = ${key}` : ''} AND operation = '${operation}' AND status = '${status}'${bounds} ORDER BY call_id DESC LIMIT ${most})`,
    )
    .join(' UNION ALL ')
}
