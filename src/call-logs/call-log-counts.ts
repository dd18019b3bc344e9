import type { Pool } from 'pg'
import { firstIdAt } from '../ids.js'
import { dayOf, hourOf, totalBucket } from '../ledger/counters.js'
import type { Operation } from '../ledger/entry.js'
import type { CallLogFilter, Window } from './call-log-window.js'

const operations: Operation[] = ['upload', 'download', 'metadata', 'delete']
const statuses = ['success', 'failure'] as const

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

/** Counts calls from the counters: days in the middle, hours at the edges, rows only for the broken hours of a date filter. */
export class CallLogCounts {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  async total(tenantId: string, filter: CallLogFilter, window: Window): Promise<number> {
    const subject = filter.apiKeyId ?? ''
    if (!window.from && !window.until) return this.#buckets(tenantId, subject, filter, 'total', totalBucket, new Date(1))
    const from = window.from ?? new Date(0)
    const until = window.until ?? new Date(Date.now() + 86_400_000)
    if (from >= until) return 0
    const firstHour = new Date(Math.ceil(from.getTime() / 3_600_000) * 3_600_000)
    const lastHour = hourOf(until)
    if (firstHour >= lastHour) return this.#rows(tenantId, filter, from, until)
    const firstDay = new Date(Math.ceil(firstHour.getTime() / 86_400_000) * 86_400_000)
    const lastDay = dayOf(lastHour)
    const whole =
      firstDay < lastDay
        ? [
            this.#buckets(tenantId, subject, filter, 'hour', firstHour, firstDay),
            this.#buckets(tenantId, subject, filter, 'day', firstDay, lastDay),
            this.#buckets(tenantId, subject, filter, 'hour', lastDay, lastHour),
          ]
        : [this.#buckets(tenantId, subject, filter, 'hour', firstHour, lastHour)]
    const parts = await Promise.all([
      ...whole,
      this.#rows(tenantId, filter, from, firstHour),
      this.#rows(tenantId, filter, lastHour, until),
    ])
    return parts.reduce((sum, part) => sum + part, 0)
  }

  /**
   * Where the row that `offset` newer ones precede must be: the newest bucket of that grain for which they do not suffice,
   * and how many of them lie in later ones. Null where there are not so many rows. Reads buckets from the newest on, in batches.
   */
  async locate(
    tenantId: string,
    filter: CallLogFilter,
    grain: 'day' | 'hour',
    window: Window,
    offset: number,
  ): Promise<{ bucket: Date; skipped: number } | null> {
    let before = window.until
    let skipped = 0
    for (;;) {
      const { rows } = await this.#pool.query<{ bucket: Date; calls: number }>(
        `SELECT bucket, ${sumOf(filter)} AS calls FROM usage_counters
         WHERE tenant_id = $1 AND subject = $2 AND grain = $3::usage_grain AND ($4::timestamptz IS NULL OR bucket < $4) AND ($5::timestamptz IS NULL OR bucket >= $5)
         ORDER BY bucket DESC LIMIT 400`,
        [tenantId, filter.apiKeyId ?? '', grain, before, window.from],
      )
      for (const row of rows) {
        if (skipped + Number(row.calls) > offset) return { bucket: row.bucket, skipped }
        skipped += Number(row.calls)
        before = row.bucket
      }
      if (rows.length < 400) return null
    }
  }

  async #buckets(
    tenantId: string,
    subject: string,
    filter: CallLogFilter,
    grain: string,
    from: Date,
    until: Date,
  ): Promise<number> {
    if (from >= until) return 0
    const { rows } = await this.#pool.query<{ calls: number }>(
      `SELECT coalesce(sum(${sumOf(filter)}), 0)::bigint AS calls FROM usage_counters WHERE tenant_id = $1 AND subject = $2 AND grain = $3::usage_grain AND bucket >= $4 AND bucket < $5`,
      [tenantId, subject, grain, from, until],
    )
    return Number(rows[0]!.calls)
  }

  // At most an hour's rows, by an index, and only where a date filter breaks an hour.
  async #rows(tenantId: string, filter: CallLogFilter, from: Date, until: Date): Promise<number> {
    if (from >= until) return 0
    const { rows } = await this.#pool.query<{ calls: number }>(
      `SELECT count(*) AS calls FROM call_logs WHERE tenant_id = $1 AND call_id >= $2 AND call_id < $3
        AND ($4::text IS NULL OR api_key_id = $4) AND ($5::text IS NULL OR operation = $5::operation) AND ($6::text IS NULL OR status = $6::call_status)`,
      [tenantId, ...boundsOf(from, until), filter.apiKeyId ?? null, filter.operation ?? null, filter.status ?? null],
    )
    return Number(rows[0]!.calls)
  }
}

const boundsOf = (from: Date, until: Date): [string, string] => [firstIdAt('call', from), firstIdAt('call', until)]
