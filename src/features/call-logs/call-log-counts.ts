import type { Window } from '../../api/graphql/rules.js'
import { dayOf, hourOf, hoursSince, totalBucket, usageNow } from '../../ledger/counters.js'
import type { Operation } from '../../ledger/entry.js'
import { currentTime } from '../../platform/clock.js'
import type { Queries } from '../../platform/db/queries.js'
import { statementNames } from '../../platform/db/statement-names.js'
import { firstIdAt } from '../../platform/ids.js'
import { type Span, spansOf } from './call-log-spans.js'
import type { CallLogFilter } from './call-log-window.js'

const operations: Operation[] = ['upload', 'download', 'metadata', 'delete']
const statuses = ['success', 'failure'] as const
const hourMs = 3_600_000
const dayMs = 24 * hourMs
const bucketsAtOnce = 400
const nameOf = statementNames('counts')

/** The operation and status pairs that a filter asks for. */
export const pairsOf = (filter: CallLogFilter): { operation: Operation; status: 'success' | 'failure' }[] =>
  operations
    .filter((operation) => !filter.operation || operation === filter.operation)
    .flatMap((operation) =>
      statuses.filter((status) => !filter.status || status === filter.status).map((status) => ({ operation, status })),
    )

/** The counters' columns of these pairs, added up. */
const sumOf = (filter: CallLogFilter): string =>
  pairsOf(filter)
    .map(({ operation, status }) => `${operation}_${status}`)
    .join(' + ')

/** Where in the log a page lies: between these bounds, behind so many newer rows. */
export interface Place {
  from: Date | null
  until: Date | null
  skip: number
}

interface Bucket {
  from: Date
  until: Date
  calls: number
}

/** Counts calls from the counters: days in the middle, hours at the edges, rows only for the broken hours of a date filter. */
export class CallLogCounts {
  readonly #database: Queries

  constructor(database: Queries) {
    this.#database = database
  }

  /** In one statement, so that all of it is of one moment. */
  async total(tenantId: string, filter: CallLogFilter, window: Window): Promise<number> {
    const values: unknown[] = [tenantId]
    const spans =
      window.from || window.until
        ? spansOf(window).map((span) => (span.by === 'rows' ? rowsOf(span, filter, values) : bucketsOf(span, filter, values)))
        : [bucketsOf({ by: 'total', from: totalBucket, until: new Date(1) }, filter, values)]
    if (spans.length === 0) return 0
    const text = `SELECT (${spans.join(' + ')})::bigint AS calls`
    // What reads rows is planned for the window at hand.
    const name = window.from || window.until ? '' : nameOf(text)
    const { rows } = await this.#database.query<{ calls: number }>({ name, text, values })
    return Number(rows[0]!.calls)
  }

  /**
   * Where the page of `limit` rows behind the newest `offset` lies, so that no page skips more than an hour's rows, and no
   * partition is opened that holds none of it. Null where there are not so many rows.
   */
  async place(
    tenantId: string,
    filter: CallLogFilter,
    window: Window,
    { offset, limit }: { offset: number; limit: number },
  ): Promise<Place | null> {
    let passed = 0
    let first: { bucket: Bucket; passed: number } | undefined
    let oldest: Bucket | undefined
    for await (const bucket of this.#newestFirst(tenantId, filter, window)) {
      if (bucket.calls === 0) continue
      if (!first && passed + bucket.calls > offset) first = await this.#finer(tenantId, filter, { bucket, passed, offset })
      passed += bucket.calls
      oldest = bucket
      if (passed >= offset + limit) break
    }
    if (!first || !oldest) return null
    return { from: latest(window.from, oldest.from), until: first.bucket.until, skip: offset - first.passed }
  }

  /** The day on which the oldest call of a tenant lies that the counters know of. */
  async oldest(tenantId: string): Promise<Date | null> {
    const { rows } = await this.#database.query<{ bucket: Date }>(
      `SELECT min(bucket) AS bucket FROM ${usageNow} u WHERE tenant_id = $1 AND subject = '' AND grain = 'day'`,
      [tenantId],
    )
    return rows[0]?.bucket ?? null
  }

  /** A day before which none of the newest `most` calls of any of these keys lies; null where there are no calls. */
  async newestDays(tenantId: string, apiKeyIds: readonly string[], most: number): Promise<Date | null> {
    const { rows } = await this.#database.query<{ bucket: Date | null }>(
      `SELECT min(d.bucket) AS bucket FROM unnest($2::text[]) AS k(id) CROSS JOIN LATERAL (
         SELECT DISTINCT bucket FROM ${usageNow} u WHERE tenant_id = $1 AND subject = k.id AND grain = 'day' AND ${sumOf({})} > 0 ORDER BY bucket DESC LIMIT $3) d`,
      [tenantId, apiKeyIds, most],
    )
    return rows[0]?.bucket ?? null
  }

  /** From the newest on: the rows of the hour that the bound breaks, the hours of the day that it breaks, then days. */
  async *#newestFirst(tenantId: string, filter: CallLogFilter, { from, until }: Window): AsyncGenerator<Bucket> {
    const brokenDay = until && dayOf(until)
    // The hours of an old day are gone: all that it has counts as one.
    const brokenHour = until && (brokenDay! < hoursSince(currentTime()) ? brokenDay : hourOf(until))
    if (until && brokenHour && brokenHour < until)
      yield { from: brokenHour, until, calls: await this.#rows(tenantId, filter, { from: brokenHour, until }) }
    if (brokenDay && brokenHour && brokenDay < brokenHour)
      yield* this.#buckets(tenantId, filter, { by: 'hour', from: latest(brokenDay, from && hourOf(from)), until: brokenHour })
    yield* this.#buckets(tenantId, filter, { by: 'day', from: from && dayOf(from), until: brokenDay })
  }

  /** The hour of a day in which the row behind `offset` newer ones lies. */
  async #finer(tenantId: string, filter: CallLogFilter, at: { bucket: Bucket; passed: number; offset: number }) {
    let { bucket, passed } = at
    const { from, until } = bucket
    if (until.getTime() - from.getTime() === dayMs)
      for await (const hour of this.#buckets(tenantId, filter, { by: 'hour', from, until })) {
        if (passed + hour.calls > at.offset) {
          bucket = hour
          break
        }
        passed += hour.calls
      }
    return { bucket, passed }
  }

  async *#buckets(
    tenantId: string,
    filter: CallLogFilter,
    { by, from, until }: { by: 'hour' | 'day'; from: Date | null; until: Date | null },
  ): AsyncGenerator<Bucket> {
    const length = by === 'hour' ? hourMs : dayMs
    for (let before = until; ; ) {
      const text = `SELECT bucket, sum(${sumOf(filter)})::bigint AS calls FROM ${usageNow} u
         WHERE tenant_id = $1 AND subject = $2 AND grain = '${by}' AND bucket < coalesce($3::timestamptz, 'infinity') AND bucket >= coalesce($4::timestamptz, '-infinity')
         GROUP BY bucket ORDER BY bucket DESC LIMIT ${bucketsAtOnce}`
      const { rows } = await this.#database.query<{ bucket: Date; calls: number }>({
        name: nameOf(text),
        text,
        values: [tenantId, filter.apiKeyId ?? '', before, from],
      })
      for (const { bucket, calls } of rows)
        yield { from: bucket, until: new Date(bucket.getTime() + length), calls: Number(calls) }
      if (rows.length < bucketsAtOnce) return
      before = rows.at(-1)!.bucket
    }
  }

  async #rows(tenantId: string, filter: CallLogFilter, span: { from: Date; until: Date }): Promise<number> {
    const values: unknown[] = [tenantId]
    const { rows } = await this.#database.query<{ calls: number }>(`SELECT ${rowsOf(span, filter, values)} AS calls`, values)
    return Number(rows[0]!.calls)
  }
}

function bucketsOf(
  { by, from, until }: { by: Span['by'] | 'total'; from: Date; until: Date },
  filter: CallLogFilter,
  values: unknown[],
): string {
  return `(SELECT coalesce(sum(${sumOf(filter)}), 0) FROM ${usageNow} u WHERE tenant_id = $1 AND subject = $${values.push(filter.apiKeyId ?? '')}
    AND grain = '${by}' AND bucket >= $${values.push(from)} AND bucket < $${values.push(until)})`
}

// At most an hour's rows, by an index, and only where a date filter breaks an hour.
function rowsOf({ from, until }: { from: Date; until: Date }, filter: CallLogFilter, values: unknown[]): string {
  const conditions = [
    'tenant_id = $1',
    `call_id >= $${values.push(firstIdAt('call', from))}`,
    `call_id < $${values.push(firstIdAt('call', until))}`,
  ]
  if (filter.apiKeyId) conditions.push(`api_key_id = $${values.push(filter.apiKeyId)}`)
  if (filter.operation) conditions.push(`operation = $${values.push(filter.operation)}`)
  if (filter.status) conditions.push(`status = $${values.push(filter.status)}`)
  return `(SELECT count(*) FROM call_logs WHERE ${conditions.join(' AND ')})`
}

const latest = (a: Date | null, b: Date | null): Date | null => (!a ? b : !b ? a : a > b ? a : b)
