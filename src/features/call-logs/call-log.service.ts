import { type Bucket, buildFromClause, type LogQuery, LogReader, type LogTable } from '../../api/graphql/log-reader.js'
import { toTimeWindow, type Window } from '../../api/graphql/rules.js'
import type { ValidationReport } from '../../inspection/report.js'
import { currentUsage, getHourlyRetentionStart, totalBucket } from '../../ledger/counters.js'
import type { Operation } from '../../ledger/entry.js'
import { getCurrentTime, startOfDay, startOfHour } from '../../platform/clock.js'
import { createStatementNamer, type Queries } from '../../platform/db/queries.js'
import { getFirstId, isId } from '../../platform/ids.js'
import type { CallLog, CallLogsArgs } from './call-log.types.js'

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
    const day = await findEarliestNeededDay(this.parts.db.reads, { tenantId, apiKeyIds, count })
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
    const isEmpty = typeof apiKeyId === 'string' && !isId('key', apiKeyId)
    return {
      filter: isEmpty ? null : { conditions, values, pairs: apiKeyId || operation || status ? getMatchingPairs(filter) : null },
      count: async () => (isEmpty ? 0 : countCalls(calls, window)),
      buckets: () => countCallsPerPeriod(calls, window),
      hours: ({ from, until }) => readBuckets(calls, { by: 'hour', from, until }),
    }
  }
}

export type CallLogFilter = Partial<Pick<CallLogsArgs, 'apiKeyId' | 'operation' | 'status' | 'startDate' | 'endDate'>>

const operations: Operation[] = ['upload', 'download', 'metadata', 'delete']
const statuses = ['success', 'failure'] as const
const hourMs = 3_600_000
const dayMs = 24 * hourMs
const nameOf = createStatementNamer('counts')

/** Limits the time range of a filter to the retained part of the log. */
function getLogWindow(filter: CallLogFilter, horizon: Date | null): Window {
  const { from, until } = toTimeWindow(filter)
  return { from: from && horizon && horizon > from ? horizon : (from ?? horizon), until }
}

/** Returns all pairs of operation and status that match a filter. */
const getMatchingPairs = (filter: CallLogFilter): [Operation, 'success' | 'failure'][] =>
  operations
    .filter((operation) => !filter.operation || operation === filter.operation)
    .flatMap((operation) =>
      statuses
        .filter((status) => !filter.status || status === filter.status)
        .map((status): [Operation, typeof status] => [operation, status]),
    )

/** Returns SQL for the sum of the counter columns that match a filter. */
const buildCounterSumSql = (filter: CallLogFilter): string =>
  getMatchingPairs(filter)
    .map(([operation, status]) => `${operation}_${status}`)
    .join(' + ')

/** A part of a time range, and the counters that are read for it. For `rows`, log rows are counted and no counters are read. */
interface Span {
  by: 'hour' | 'day' | 'total' | 'rows'
  from: Date
  until: Date
}

interface CallQuery {
  database: Queries
  tenantId: string
  filter: CallLogFilter
}

/** Counts calls in one statement: reads counters for whole hours and days, and counts log rows for partial hours. */
async function countCalls({ database, tenantId, filter }: CallQuery, window: Window): Promise<number> {
  const isUnbounded = !window.from && !window.until
  const spans: Span[] = isUnbounded ? [{ by: 'total', from: totalBucket, until: new Date(1) }] : splitWindow(window)
  const values: unknown[] = [tenantId]
  const counts = spans.map((span) => (span.by === 'rows' ? buildRowCountSql : buildBucketCountSql)(span, filter, values))
  if (counts.length === 0) return 0
  const text = `SELECT (${counts.join(' + ')})::bigint AS calls`
  // A statement with a time range is unnamed, so that PostgreSQL plans each execution for its specific range.
  const name = isUnbounded ? nameOf(text) : ''
  const { rows } = await database.query<{ calls: number }>({ name, text, values })
  return rows[0]!.calls
}

/** Yields the number of calls per day, newest first. Periods at either end of the time range can be shorter than a day. */
async function* countCallsPerPeriod(calls: CallQuery, window: Window): AsyncGenerator<Bucket> {
  for (const span of splitWindow(window).toReversed())
    if (span.by === 'rows') yield { ...span, count: await countCalls(calls, span) }
    else yield* await readBuckets(calls, span)
}

/**
 * Returns a day such that the log from this day on contains the latest `count` calls of each API key. Returns null if there are
 * no calls.
 */
async function findEarliestNeededDay(
  database: Queries,
  { tenantId, apiKeyIds, count }: { tenantId: string; apiKeyIds: readonly string[]; count: number },
): Promise<Date | null> {
  const { rows } = await database.query<{ bucket: Date | null }>(
    `SELECT min(d.bucket) AS bucket FROM unnest($2::text[]) AS k(id) CROSS JOIN LATERAL (
       SELECT DISTINCT bucket FROM ${currentUsage} u WHERE tenant_id = $1 AND subject = k.id AND grain = 'day' AND ${buildCounterSumSql({})} > 0 ORDER BY bucket DESC LIMIT $3) d`,
    [tenantId, apiKeyIds, count],
  )
  return rows[0]?.bucket ?? null
}

/** Returns the number of calls for each hour or day of a span, newest first. */
async function readBuckets({ database, tenantId, filter }: CallQuery, { by, from, until }: Span): Promise<Bucket[]> {
  const text = `SELECT bucket AS "from", sum(${buildCounterSumSql(filter)})::bigint AS count FROM ${currentUsage} u
    WHERE tenant_id = $1 AND subject = $2 AND grain = '${by}' AND bucket >= $3 AND bucket < $4 GROUP BY bucket ORDER BY bucket DESC`
  const values = [tenantId, filter.apiKeyId ?? '', from, until]
  const { rows } = await database.query<Omit<Bucket, 'until'>>({ name: nameOf(text), text, values })
  return rows.map((row) => ({ ...row, until: new Date(row.from.getTime() + (by === 'hour' ? hourMs : dayMs)) }))
}

const ceilToHour = (time: Date): Date => new Date(Math.ceil(time.getTime() / hourMs) * hourMs)
const ceilToDay = (time: Date): Date => new Date(Math.ceil(time.getTime() / dayMs) * dayMs)

/** Splits a time range into at most two partial hours, two partial days and the whole days between them, in ascending order. */
function splitWindow(window: Window, now = getCurrentTime()): Span[] {
  const from = window.from ?? new Date(0)
  // Include at least the next 24 hours, because rows may have future timestamps if the database clock was set back.
  const until = window.until ?? ceilToDay(new Date(now.getTime() + dayMs))
  const [firstHour, lastHour] = [ceilToHour(from), startOfHour(until)]
  const [firstDay, lastDay] = [ceilToDay(firstHour), startOfDay(lastHour)]
  const hours: Span[] =
    firstDay <= lastDay
      ? [
          { by: 'hour', from: firstHour, until: firstDay },
          { by: 'day', from: firstDay, until: lastDay },
          { by: 'hour', from: lastDay, until: lastHour },
        ]
      : [{ by: 'hour', from: firstHour, until: lastHour }]
  const spans: Span[] =
    firstHour > lastHour
      ? [{ by: 'rows', from, until }]
      : [{ by: 'rows', from, until: firstHour }, ...hours, { by: 'rows', from: lastHour, until }]
  const isDeleted = (span: Span) => span.by === 'hour' && span.from < getHourlyRetentionStart(now)
  return spans.map((span): Span => (isDeleted(span) ? { ...span, by: 'rows' } : span)).filter((span) => span.from < span.until)
}

function buildBucketCountSql({ by, from, until }: Span, filter: CallLogFilter, values: unknown[]): string {
  return `(SELECT coalesce(sum(${buildCounterSumSql(filter)}), 0) FROM ${currentUsage} u WHERE tenant_id = $1 AND subject = $${values.push(filter.apiKeyId ?? '')}
    AND grain = '${by}' AND bucket >= $${values.push(from)} AND bucket < $${values.push(until)})`
}

/**
 * Returns SQL that counts the log rows of a partial hour, or of up to one day if the hourly counters of that day were deleted.
 */
function buildRowCountSql({ from, until }: Span, filter: CallLogFilter, values: unknown[]): string {
  const conditions = [
    'tenant_id = $1',
    `call_id >= $${values.push(getFirstId('call', from))}`,
    `call_id < $${values.push(getFirstId('call', until))}`,
  ]
  if (filter.apiKeyId) conditions.push(`api_key_id = $${values.push(filter.apiKeyId)}`)
  if (filter.operation) conditions.push(`operation = $${values.push(filter.operation)}`)
  if (filter.status) conditions.push(`status = $${values.push(filter.status)}`)
  return `(SELECT count(*) FROM call_logs WHERE ${conditions.join(' AND ')})`
}
