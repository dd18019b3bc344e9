import type { Actor } from '../auth/actor.js'
import type { Database } from '../db/client.js'
import { dayOf, hourOf, type UsageColumn, usageColumns } from '../ledger/counters.js'
import { callsOf, type Usage } from './stats.service.js'
import type { ApiCallsPoint, ChartPeriod, StoragePoint, UploadsPoint } from './stats.type.js'

type Period = `${ChartPeriod}`

const hour = 3_600_000
const day = 86_400_000

/** The Monday on which a UTC week begins. */
const weekOf = (moment: Date): Date => new Date(dayOf(moment).getTime() - ((moment.getUTCDay() + 6) % 7) * day)

const defaultDays: Record<Period, number> = { hourly: 7, daily: 7, weekly: 30 }

/** The starts of the buckets that a window of so many days has, ascending, the current one last (contract §5). */
export function bucketsOf(period: Period, days: number | null | undefined, now = new Date()): Date[] {
  const window = days ?? defaultDays[period]
  const [last, step, first] =
    period === 'hourly'
      ? [hourOf(now), hour, hourOf(now).getTime() - (window * 24 - 1) * hour]
      : period === 'daily'
        ? [dayOf(now), day, dayOf(now).getTime() - (window - 1) * day]
        : [weekOf(now), 7 * day, weekOf(new Date(now.getTime() - (window - 1) * day)).getTime()]
  return Array.from({ length: (last.getTime() - first) / step + 1 }, (_, index) => new Date(first + index * step))
}

/** Charts: one statement each, over the counters of their window. */
export class Charts {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  async apiCalls(
    actor: Actor,
    { period, days }: { period: Period; days?: number | null },
  ): Promise<{ period: never; dataPoints: ApiCallsPoint[] }> {
    const columns = usageColumns.filter((column) => /_(success|failure)$/.test(column))
    const points = await this.#points(actor, period, days, columns)
    return { period: period as never, dataPoints: points.map(({ timestamp, usage }) => ({ timestamp, ...callsOf(usage) })) }
  }

  async uploads(
    actor: Actor,
    { period, days }: { period: Period; days?: number | null },
  ): Promise<{ period: never; dataPoints: UploadsPoint[] }> {
    const points = await this.#points(actor, period, days, ['files_uploaded', 'bytes_uploaded'])
    return {
      period: period as never,
      dataPoints: points.map(({ timestamp, usage }) => ({
        timestamp,
        count: usage.files_uploaded,
        totalBytes: usage.bytes_uploaded,
      })),
    }
  }

  /** The state at each bucket's end: what is held now, less what came and plus what went since. */
  async storage(
    actor: Actor,
    { period, days }: { period: Period; days?: number | null },
  ): Promise<{ period: never; dataPoints: StoragePoint[] }> {
    const columns: UsageColumn[] = ['files_uploaded', 'bytes_uploaded', 'files_deleted', 'bytes_deleted']
    const points = await this.#points(actor, period, days, columns)
    let files = points.held.files
    let bytes = points.held.bytes
    const dataPoints: StoragePoint[] = []
    for (const { timestamp, usage } of [...points].reverse()) {
      dataPoints.push({ timestamp, totalBytes: bytes, filesCount: files })
      files -= usage.files_uploaded - usage.files_deleted
      bytes -= usage.bytes_uploaded - usage.bytes_deleted
    }
    return { period: period as never, dataPoints: dataPoints.reverse() }
  }

  async #points(actor: Actor, period: Period, days: number | null | undefined, columns: UsageColumn[]) {
    const buckets = bucketsOf(period, days)
    const grain = period === 'hourly' ? 'hour' : 'day'
    const unit = { hourly: 'hour', daily: 'day', weekly: 'week' }[period]
    const { rows } = await this.#db.pool.query<{ files: number; bytes: number; points: ({ at: number } & Usage)[] | null }>(
      `SELECT coalesce(held.files, 0)::bigint AS files, coalesce(held.bytes, 0)::bigint AS bytes, (
         SELECT jsonb_agg(p) FROM (
           SELECT extract(epoch FROM date_trunc('${unit}', bucket, 'UTC'))::bigint * 1000 AS at, ${columns.map((column) => `sum(${column})::bigint AS ${column}`).join(', ')}
           FROM usage_counters WHERE tenant_id = $1 AND subject = '' AND grain = '${grain}' AND bucket >= $2 GROUP BY 1) p) AS points
       FROM tenants t LEFT JOIN file_totals held ON held.tenant_id = t.tenant_id AND held.context_id = '' AND held.uploaded_by = '' WHERE t.tenant_id = $1`,
      [actor.tenantId, buckets[0]],
    )
    const found = new Map(rows[0]?.points?.map((point) => [point.at, point]))
    const empty = Object.fromEntries(usageColumns.map((column) => [column, 0])) as Usage
    const points = buckets.map((timestamp) => ({ timestamp, usage: { ...empty, ...found.get(timestamp.getTime()) } as Usage }))
    return Object.assign(points, { held: { files: Number(rows[0]?.files ?? 0), bytes: Number(rows[0]?.bytes ?? 0) } })
  }
}
