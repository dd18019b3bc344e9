import { createList } from '../../api/bodies/long-lists.js'
import { dayOf, hourOf, type UsageColumn, usageColumns, usageNow } from '../../ledger/counters.js'
import type { Actor } from '../../platform/actor.js'
import { currentTime } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import { statementNames } from '../../platform/db/statement-names.js'
import { callsOf, type Usage } from './stats.service.js'
import type { ApiCallsPoint, ChartPeriod, StoragePoint, UploadsPoint } from './stats.types.js'

type Period = `${ChartPeriod}`

const hour = 3_600_000
const day = 86_400_000
const nameOf = statementNames('charts')

/** The Monday on which a UTC week begins. */
const weekOf = (moment: Date): Date => new Date(dayOf(moment).getTime() - ((moment.getUTCDay() + 6) % 7) * day)

const defaultDays: Record<Period, number> = { hourly: 7, daily: 7, weekly: 30 }

/** The starts of the buckets that a window of so many days has, in ms, ascending, the current one last (contract §5). */
export function bucketsOf(period: Period, days: number | null | undefined, now = currentTime()): number[] {
  const window = days ?? defaultDays[period]
  const [last, step, first] =
    period === 'hourly'
      ? [hourOf(now), hour, hourOf(now).getTime() - (window * 24 - 1) * hour]
      : period === 'daily'
        ? [dayOf(now), day, dayOf(now).getTime() - (window - 1) * day]
        : [weekOf(now), 7 * day, weekOf(new Date(now.getTime() - (window - 1) * day)).getTime()]
  return Array.from({ length: (last.getTime() - first) / step + 1 }, (_, index) => first + index * step)
}

/** What was counted, bucket by bucket, and what the tenant holds now. */
interface Counted {
  buckets: number[]
  usageAt(bucket: number): Usage
  held: { files: number; bytes: number }
}

/** Creates the points when they are completed, not while the call is still being logged. */
const chartOf = <Point>(period: Period, buckets: number[], make: (bucket: number) => Point) => ({
  period: period as never,
  get dataPoints() {
    return createList(buckets, make)
  },
})

const nothing = Object.freeze(Object.fromEntries(usageColumns.map((column) => [column, 0]))) as Usage

/** Charts: one statement each, over the counters of their window. A year by hour has 8,760 points, which are made in slices. */
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
    const { buckets, usageAt } = await this.#count(actor, period, days, columns)
    const noCalls = callsOf(nothing)
    const pointOf = (bucket: number) => {
      const usage = usageAt(bucket)
      const { total, success, failure, byOperation } = usage === nothing ? noCalls : callsOf(usage)
      return { timestamp: new Date(bucket), total, success, failure, byOperation }
    }
    return chartOf(period, buckets, pointOf)
  }

  async uploads(
    actor: Actor,
    { period, days }: { period: Period; days?: number | null },
  ): Promise<{ period: never; dataPoints: UploadsPoint[] }> {
    const { buckets, usageAt } = await this.#count(actor, period, days, ['files_uploaded', 'bytes_uploaded'])
    const pointOf = (bucket: number) => {
      const usage = usageAt(bucket)
      return { timestamp: new Date(bucket), count: usage.files_uploaded, totalBytes: usage.bytes_uploaded }
    }
    return chartOf(period, buckets, pointOf)
  }

  /** The state at each bucket's end: what is held now, less what came and plus what went since. */
  async storage(
    actor: Actor,
    { period, days }: { period: Period; days?: number | null },
  ): Promise<{ period: never; dataPoints: StoragePoint[] }> {
    const columns: UsageColumn[] = ['files_uploaded', 'bytes_uploaded', 'files_deleted', 'bytes_deleted']
    const { buckets, usageAt, held } = await this.#count(actor, period, days, columns)
    let { files, bytes } = held
    const dataPoints: StoragePoint[] = []
    for (const bucket of buckets.toReversed()) {
      dataPoints.push({ timestamp: new Date(bucket), totalBytes: bytes, filesCount: files })
      const usage = usageAt(bucket)
      files -= usage.files_uploaded - usage.files_deleted
      bytes -= usage.bytes_uploaded - usage.bytes_deleted
    }
    return { period: period as never, dataPoints: dataPoints.reverse() }
  }

  async #count(actor: Actor, period: Period, days: number | null | undefined, columns: UsageColumn[]): Promise<Counted> {
    const buckets = bucketsOf(period, days)
    const grain = period === 'hourly' ? 'hour' : 'day'
    const unit = { hourly: 'hour', daily: 'day', weekly: 'week' }[period]
    // Rows of numbers without their names: a year of them is parsed in one go.
    const text = `SELECT coalesce(held.files, 0)::bigint AS files, coalesce(held.bytes, 0)::bigint AS bytes, (
         SELECT jsonb_agg(p) FROM (
           SELECT jsonb_build_array(extract(epoch FROM date_trunc('${unit}', bucket, 'UTC'))::bigint * 1000, ${columns.map((column) => `sum(${column})::bigint`).join(', ')})
           FROM ${usageNow} u WHERE tenant_id = $1 AND subject = '' AND grain = '${grain}' AND bucket >= $2::timestamptz
           GROUP BY date_trunc('${unit}', bucket, 'UTC')) counted(p)) AS points
       FROM tenants t LEFT JOIN tenant_heads held ON held.tenant_id = t.tenant_id WHERE t.tenant_id = $1`
    const { rows } = await this.#db.reads.query<{ files: number; bytes: number; points: [number, ...number[]][] | null }>({
      name: nameOf(text),
      text,
      values: [actor.tenantId, new Date(buckets[0]!)],
    })
    const none = Object.fromEntries(columns.map((column) => [column, 0])) as Usage
    const found = new Map(rows[0]?.points?.map((point) => [point[0], point]))
    return {
      buckets,
      usageAt: (bucket) => {
        const point = found.get(bucket)
        if (!point) return nothing
        const usage = { ...none }
        columns.forEach((column, place) => {
          usage[column] = point[place + 1]!
        })
        return usage
      },
      held: { files: Number(rows[0]?.files ?? 0), bytes: Number(rows[0]?.bytes ?? 0) },
    }
  }
}
