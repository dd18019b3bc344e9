import { createList } from '../../api/bodies/json-responses.js'
import { currentUsage, type UsageColumn, usageColumns } from '../../ledger/counters.js'
import type { Actor } from '../../platform/actor.js'
import { getCurrentTime, startOfDay, startOfHour } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import { createStatementNamer } from '../../platform/db/queries.js'
import { countCalls, noUsage, type Usage } from './stats.service.js'
import type { ApiCallsPoint, Chart, ChartPeriod, StoragePoint, UploadsPoint } from './stats.types.js'

interface Args {
  period: ChartPeriod
  days?: number | null
}

const hourMs = 3_600_000
const dayMs = 86_400_000
const nameOf = createStatementNamer('charts')

/** Returns the Monday of the week that contains a date, in UTC. */
const startOfWeek = (time: Date): Date => new Date(startOfDay(time).getTime() - ((time.getUTCDay() + 6) % 7) * dayMs)

const defaultDays: Record<ChartPeriod, number> = { hourly: 7, daily: 7, weekly: 30 }
const units: Record<ChartPeriod, string> = { hourly: 'hour', daily: 'day', weekly: 'week' }

/** Returns the start time of each time interval in milliseconds, in ascending order. The last interval is the current one. */
export function getBucketStarts(period: ChartPeriod, days: number | null | undefined, now = getCurrentTime()): number[] {
  const length = days ?? defaultDays[period]
  const [last, step, first] =
    period === 'hourly'
      ? [startOfHour(now), hourMs, startOfHour(now).getTime() - (length * 24 - 1) * hourMs]
      : period === 'daily'
        ? [startOfDay(now), dayMs, startOfDay(now).getTime() - (length - 1) * dayMs]
        : [startOfWeek(now), 7 * dayMs, startOfWeek(new Date(now.getTime() - (length - 1) * dayMs)).getTime()]
  return Array.from({ length: (last.getTime() - first) / step + 1 }, (_, index) => first + index * step)
}

/** Creates data points only when GraphQL serializes them, so that a long list does not block the event loop. */
const toChart = <Point>({ period }: Args, buckets: number[], toPoint: (bucket: number) => Point): Chart<Point> => ({
  period,
  get dataPoints() {
    return createList(buckets, toPoint)
  },
})

/** Reads each chart from counters with one SQL statement. An hourly chart of a year has 8,760 points. */
export class Charts {
  constructor(private readonly db: Database) {}

  async getApiCalls(actor: Actor, args: Args): Promise<Chart<ApiCallsPoint>> {
    const columns = usageColumns.filter((column) => /_(success|failure)$/.test(column))
    const { buckets, getUsage } = await this.#sumCounters(actor, args, columns)
    return toChart(args, buckets, (bucket) => ({ timestamp: new Date(bucket), ...countCalls(getUsage(bucket)) }))
  }

  async getUploads(actor: Actor, args: Args): Promise<Chart<UploadsPoint>> {
    const { buckets, getUsage } = await this.#sumCounters(actor, args, ['files_uploaded', 'bytes_uploaded'])
    return toChart(args, buckets, (bucket) => {
      const usage = getUsage(bucket)
      return { timestamp: new Date(bucket), count: usage.files_uploaded, totalBytes: usage.bytes_uploaded }
    })
  }

  /** Computes the storage at the end of each time interval, working backwards from the current storage. */
  async getStorage(actor: Actor, args: Args): Promise<Chart<StoragePoint>> {
    const columns: UsageColumn[] = ['files_uploaded', 'bytes_uploaded', 'files_deleted', 'bytes_deleted']
    const { buckets, getUsage, current } = await this.#sumCounters(actor, args, columns)
    let { files, bytes } = current
    const dataPoints: StoragePoint[] = []
    for (const bucket of buckets.toReversed()) {
      dataPoints.push({ timestamp: new Date(bucket), totalBytes: bytes, filesCount: files })
      const usage = getUsage(bucket)
      files -= usage.files_uploaded - usage.files_deleted
      bytes -= usage.bytes_uploaded - usage.bytes_deleted
    }
    return { period: args.period, dataPoints: dataPoints.reverse() }
  }

  /** Adds up these columns for each time interval. Other columns are 0 or missing. */
  async #sumCounters(actor: Actor, { period, days }: Args, columns: UsageColumn[]) {
    const buckets = getBucketStarts(period, days)
    const start = `date_trunc('${units[period]}', bucket, 'UTC')`
    const sums = columns.map((column) => `sum(${column})::bigint AS ${column}`).join(', ')
    const text = `SELECT coalesce(h.files, 0)::bigint AS files, coalesce(h.bytes, 0)::bigint AS bytes, (
         SELECT jsonb_object_agg(extract(epoch FROM u.start)::bigint * 1000, to_jsonb(u)) FROM (
           SELECT ${start} AS start, ${sums} FROM ${currentUsage} u
           WHERE tenant_id = $1 AND subject = '' AND grain = '${period === 'hourly' ? 'hour' : 'day'}' AND bucket >= $2::timestamptz GROUP BY ${start}) u) AS usage
       FROM tenants t LEFT JOIN tenant_heads h ON h.tenant_id = $1 WHERE t.tenant_id = $1`
    const { rows } = await this.db.reads.query<{ files: number; bytes: number; usage: Record<string, Usage> | null }>({
      name: nameOf(text),
      text,
      values: [actor.tenantId, new Date(buckets[0]!)],
    })
    const row = rows[0]
    return {
      buckets,
      getUsage: (bucket: number): Usage => row?.usage?.[bucket] ?? noUsage,
      current: { files: Number(row?.files ?? 0), bytes: Number(row?.bytes ?? 0) },
    }
  }
}
