import { buildFromClause, type LogQuery, LogReader, type LogTable } from '../../api/graphql/log-reader.js'
import type { ValidationReport } from '../../inspection/report.js'
import { createStatementNamer } from '../../platform/db/queries.js'
import { getFirstId, isId } from '../../platform/ids.js'
import type { CallLog } from './call-log.types.js'
import {
  type CallLogFilter,
  countCalls,
  countCallsPerPeriod,
  findFirstRecentDay,
  getLogWindow,
  getMatchingPairs,
  readBuckets,
} from './call-log-counts.js'

const table: LogTable<CallLog> = {
  name: 'call_logs',
  noun: 'call',
  id: 'call_id',
  prefix: 'call',
  getId: ({ callId }) => callId,
  columns: `call_id AS "callId", api_key_id AS "apiKeyId", api_key_name AS "apiKeyName", operation, status, file_id AS "fileId", context_key AS "contextKey",
  error_code AS "errorCode", error_message AS "errorMessage", ip_address AS "ipAddress", user_agent AS "userAgent", created_at AS "createdAt"`,
  filterColumns: ['operation', 'status'],
  nameOf: createStatementNamer('calls'),
}

export class CallLogService extends LogReader<CallLog, CallLogFilter> {
  protected readonly table = table

  async getRecentByKeys(tenantId: string, apiKeyIds: readonly string[], count: number): Promise<Map<string, CallLog[]>> {
    const byKey = new Map<string, CallLog[]>(apiKeyIds.map((id) => [id, []]))
    const day = await findFirstRecentDay(this.parts.db.reads, { tenantId, apiKeyIds, count })
    if (!day) return byKey
    const horizon = this.parts.horizon()
    const conditions = ['tenant_id = $1', 'api_key_id = k.id', 'call_id >= $4']
    const { rows } = await this.parts.db.reads.query<CallLog>(
      `SELECT c.* FROM unnest($2::text[]) AS k(id) CROSS JOIN LATERAL (
         SELECT ${table.columns} FROM ${buildFromClause(table, { conditions, pairs: getMatchingPairs({}), max: '$3' })} ORDER BY call_id DESC LIMIT $3) c`,
      [tenantId, apiKeyIds, count, getFirstId('call', horizon && horizon > day ? horizon : day)],
    )
    for (const row of rows) byKey.get(row.apiKeyId)!.push(row)
    return byKey
  }

  /** Returns validation reports of rejected uploads by call ID. */
  async getValidationReports(tenantId: string, callIds: readonly string[]): Promise<Map<string, ValidationReport>> {
    const { rows } = await this.parts.db.pool.query<{ call_id: string; validation: ValidationReport }>(
      'SELECT call_id, validation FROM call_logs WHERE tenant_id = $1 AND call_id = ANY($2) AND validation IS NOT NULL',
      [tenantId, callIds],
    )
    return new Map(rows.map((row) => [row.call_id, row.validation]))
  }

  protected createQuery(tenantId: string, filter: CallLogFilter): LogQuery {
    const { apiKeyId, operation, status } = filter
    const calls = { database: this.parts.db.reads, tenantId, filter }
    const window = getLogWindow(filter, this.parts.horizon())
    const values: unknown[] = [tenantId]
    const conditions = ['tenant_id = $1']
    if (apiKeyId) conditions.push(`api_key_id = $${values.push(apiKeyId)}`)
    if (window.from) conditions.push(`call_id >= $${values.push(getFirstId('call', window.from))}`)
    if (window.until) conditions.push(`call_id < $${values.push(getFirstId('call', window.until))}`)
    // A malformed API key ID matches no calls.
    const isEmpty = typeof apiKeyId === 'string' && !isId('key', apiKeyId)
    return {
      filter: isEmpty ? null : { conditions, values, pairs: apiKeyId || operation || status ? getMatchingPairs(filter) : null },
      count: async () => (isEmpty ? 0 : countCalls(calls, window)),
      buckets: () => countCallsPerPeriod(calls, window),
      hours: ({ from, until }) => readBuckets(calls, { by: 'hour', from, until }),
    }
  }
}
