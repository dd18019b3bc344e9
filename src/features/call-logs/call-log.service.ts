import {
  connectLog,
  createRowsClause,
  type LogQuery,
  type LogTable,
  listLog,
  readLogInBatches,
  selectLogRows,
} from '../../api/graphql/log-list.js'
import type { Connection, ConnectionArgs, Page, PageArgs } from '../../api/graphql/page.js'
import type { ValidationReport } from '../../inspection/report.js'
import type { Actor } from '../../platform/actor.js'
import { getCurrentTime } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import type { Queries } from '../../platform/db/queries.js'
import { createStatementNamer } from '../../platform/db/statement-names.js'
import { notFound } from '../../platform/errors/errors.js'
import { getFirstId, isId } from '../../platform/ids.js'
import type { CallLog } from './call-log.types.js'
import { CallLogCounts, type CallLogFilter, getLogWindow, getMatchingPairs } from './call-log-counts.js'

const table: LogTable = {
  name: 'call_logs',
  id: 'call_id',
  columns: `call_id AS "callId", api_key_id AS "apiKeyId", api_key_name AS "apiKeyName", operation, status, file_id AS "fileId", context_key AS "contextKey",
  error_code AS "errorCode", error_message AS "errorMessage", ip_address AS "ipAddress", user_agent AS "userAgent", created_at AS "createdAt"`,
  filterColumns: ['operation', 'status'],
}
const nameOf = createStatementNamer('calls')

/** Reads the call log, which only the ledger writes. */
export class CallLogService {
  readonly #db: Database
  readonly #counts: CallLogCounts
  readonly #horizon: () => Date | null

  /** `horizon` returns the start of the retained log, or null if all calls are retained. */
  constructor(parts: { db: Database; horizon: () => Date | null }) {
    this.#db = parts.db
    this.#counts = new CallLogCounts(parts.db.reads)
    this.#horizon = parts.horizon
  }

  /** Returns a call log entry. Throws 404 if it does not exist or is older than the retention period. */
  async get(actor: Actor, callId: string): Promise<CallLog> {
    const horizon = this.#horizon()
    const { rows } = await this.#db.pool.query<CallLog>(
      `SELECT ${table.columns} FROM call_logs WHERE tenant_id = $1 AND call_id = $2 AND call_id >= $3`,
      [actor.tenantId, callId, horizon ? getFirstId('call', horizon) : ''],
    )
    if (!rows[0]) throw notFound('call', callId)
    return rows[0]
  }

  list(actor: Actor, { page, pageSize, after, ...filter }: CallLogFilter & PageArgs): Promise<Page<CallLog>> {
    return listLog(this.#createQuery(actor.tenantId, filter), { page, pageSize, after })
  }

  connection(
    actor: Actor,
    { first, after, last, before, ...filter }: CallLogFilter & ConnectionArgs,
  ): Promise<Connection<CallLog>> {
    return connectLog(this.#createQuery(actor.tenantId, filter), { first, after, last, before })
  }

  /** Yields all calls up to the current time in batches, newest first. */
  readInBatches(connection: Queries, actor: Actor, filter: CallLogFilter, size: number): AsyncGenerator<CallLog[]> {
    return readLogInBatches(this.#createQuery(actor.tenantId, filter, connection), { until: getCurrentTime(), size })
  }

  async getRecentByKeys(tenantId: string, apiKeyIds: readonly string[], count: number): Promise<Map<string, CallLog[]>> {
    const byKey = new Map<string, CallLog[]>(apiKeyIds.map((id) => [id, []]))
    const day = await this.#counts.findFirstRecentDay(tenantId, apiKeyIds, count)
    if (!day) return byKey
    const horizon = this.#horizon()
    const conditions = ['tenant_id = $1', 'api_key_id = k.id', 'call_id >= $4']
    const { rows } = await this.#db.reads.query<CallLog>(
      `SELECT c.* FROM unnest($2::text[]) AS k(id) CROSS JOIN LATERAL (
         SELECT ${table.columns} FROM ${createRowsClause(table, { conditions, pairs: getMatchingPairs({}), max: '$3' })} ORDER BY call_id DESC LIMIT $3) c`,
      [tenantId, apiKeyIds, count, getFirstId('call', horizon && horizon > day ? horizon : day)],
    )
    for (const row of rows) byKey.get(row.apiKeyId)!.push(row)
    return byKey
  }

  /** Returns the validation reports of rejected uploads by call ID. */
  async getValidationReports(tenantId: string, callIds: readonly string[]): Promise<Map<string, ValidationReport>> {
    const { rows } = await this.#db.pool.query<{ call_id: string; validation: ValidationReport }>(
      'SELECT call_id, validation FROM call_logs WHERE tenant_id = $1 AND call_id = ANY($2) AND validation IS NOT NULL',
      [tenantId, callIds],
    )
    return new Map(rows.map((row) => [row.call_id, row.validation]))
  }

  #createQuery(tenantId: string, filter: CallLogFilter, database: Queries = this.#db.reads): LogQuery<CallLog> {
    const window = getLogWindow(filter, this.#horizon())
    // A malformed API key ID matches no calls.
    const isEmpty = typeof filter.apiKeyId === 'string' && !isId('key', filter.apiKeyId)
    const isFiltered = Boolean(filter.apiKeyId || filter.operation || filter.status)
    return {
      prefix: 'call',
      getId: ({ callId }) => callId,
      count: async () => (isEmpty ? 0 : this.#counts.countCalls(tenantId, filter, window)),
      buckets: () => this.#counts.countPerPeriod(tenantId, filter, window),
      hours: (bucket) => this.#counts.countPerHour(tenantId, filter, bucket),
      select: async (range) => {
        if (isEmpty) return []
        const values: unknown[] = [tenantId]
        const conditions = ['tenant_id = $1']
        if (filter.apiKeyId) conditions.push(`api_key_id = $${values.push(filter.apiKeyId)}`)
        if (window.from) conditions.push(`call_id >= $${values.push(getFirstId('call', window.from))}`)
        if (window.until) conditions.push(`call_id < $${values.push(getFirstId('call', window.until))}`)
        const pairs = isFiltered ? getMatchingPairs(filter) : null
        return selectLogRows<CallLog>(database, table, { conditions, values, pairs }, { ...range, nameOf })
      },
    }
  }
}
