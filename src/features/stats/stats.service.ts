import { mapToList } from '../../api/bodies/json-responses.js'
import { callColumns, currentUsage, type UsageColumn, usageColumns } from '../../ledger/counters.js'
import type { Actor } from '../../platform/actor.js'
import { getCurrentTime, startOfDay, startOfHour } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import { createStatementNamer } from '../../platform/db/queries.js'
import { type BlockReasonField, blockReasons, toReasonField } from '../../platform/errors/block-reasons.js'
import { megabyte } from '../../platform/units.js'
import type {
  ApiCallsPoint,
  CallsByOperation,
  Chart,
  ChartPeriod,
  ContextApiCalls,
  ContextFiles,
  ContextStorage,
  Stats,
  StoragePoint,
  UploadsPoint,
} from './stats.types.js'

export type Usage = Record<UsageColumn, number>

const noUsage = Object.fromEntries(usageColumns.map((column) => [column, 0])) as Usage
const hourMs = 3_600_000
const dayMs = 86_400_000
const nameOf = createStatementNamer('charts')

/** Returns SQL that adds up tenant $1's counters for matching time intervals, as one JSON object. */
const buildUsageSql = (where: string) =>
  `SELECT to_jsonb(u) FROM (SELECT ${usageColumns.map((column) => `coalesce(sum(${column}), 0)::bigint AS ${column}`).join(', ')} FROM ${currentUsage} u WHERE u.tenant_id = $1 AND ${where}) u`

/** Computes statistics only from counters, so that the cost does not depend on the size of the logs. */
export class StatsService {
  constructor(private readonly db: Database) {}

  async getOverview(actor: Actor): Promise<Stats> {
    const today = startOfDay(getCurrentTime())
    // A single statement reads all numbers, so that they come from the same snapshot.
    const { rows } = await this.db.reads.query<OverviewRow>({
      name: 'stats-overview',
      text: overviewStatement,
      values: [actor.tenantId, today, new Date(today.getTime() - dayMs)],
    })
    return toStats(rows[0]!)
  }

  async getApiCallsByContext(actor: Actor): Promise<ContextApiCalls[]> {
    const { rows } = await this.db.reads.query<{ contextKey: string; contextName: string; usage: Partial<Usage> | null }>(
      `SELECT c.context_key AS "contextKey", c.display_name AS "contextName", (${buildUsageSql("u.subject = c.context_id AND u.grain = 'total'")}) AS usage
       FROM file_contexts c WHERE c.tenant_id = $1 AND ($2::text[] IS NULL OR c.context_id = ANY($2)) ORDER BY c.context_id DESC`,
      [actor.tenantId, actor.contexts],
    )
    return rows
      .map(({ contextKey, contextName, usage }) => ({ contextKey, contextName, ...countCalls({ ...noUsage, ...usage }) }))
      .sort((a, b) => b.total - a.total)
  }

  async getFilesByContext(actor: Actor): Promise<ContextFiles[]> {
    const { rows } = await this.db.reads.query<Omit<ContextFiles, 'totalFormatted'>>(
      `SELECT c.context_key AS "contextKey", c.display_name AS "contextName", coalesce(t.files, 0)::bigint AS "fileCount", coalesce(t.bytes, 0)::bigint AS "totalBytes"
       FROM file_contexts c LEFT JOIN file_totals t ON t.tenant_id = $1 AND t.context_id = c.context_id
       WHERE c.tenant_id = $1 AND ($2::text[] IS NULL OR c.context_id = ANY($2)) ORDER BY 4 DESC, 3 DESC, c.context_id DESC`,
      [actor.tenantId, actor.contexts],
    )
    return rows.map((row) => ({ ...row, totalFormatted: formatBytes(row.totalBytes) }))
  }

  async getApiCallsChart(actor: Actor, args: ChartSettings): Promise<Chart<ApiCallsPoint>> {
    const { buckets, getUsage } = await this.#sumCounters(actor, args, callColumns)
    return toChart(args, buckets, (bucket) => ({ timestamp: new Date(bucket), ...countCalls(getUsage(bucket)) }))
  }

  async getUploadsChart(actor: Actor, args: ChartSettings): Promise<Chart<UploadsPoint>> {
    const { buckets, getUsage } = await this.#sumCounters(actor, args, ['files_uploaded', 'bytes_uploaded'])
    return toChart(args, buckets, (bucket) => {
      const usage = getUsage(bucket)
      return { timestamp: new Date(bucket), count: usage.files_uploaded, totalBytes: usage.bytes_uploaded }
    })
  }

  /** Computes the storage usage at the end of each time interval, working backwards from the current usage. */
  async getStorageChart(actor: Actor, args: ChartSettings): Promise<Chart<StoragePoint>> {
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

  /** Adds up only `columns` for each time interval. All other columns are 0 or missing. */
  async #sumCounters(actor: Actor, { period, days }: ChartSettings, columns: readonly UsageColumn[]) {
    const buckets = getBucketStarts(period, days)
    const start = `date_trunc('${intervals[period].unit}', bucket, 'UTC')`
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

interface OverviewRow {
  quota_mb: number
  contexts: number
  api_keys: number
  files: number
  bytes: number
  today: Partial<Usage> | null
  yesterday: Partial<Usage> | null
  total: Partial<Usage> | null
  largest: ContextStorage[]
}

const overviewStatement = `
SELECT t.storage_quota_mb AS quota_mb,
  (SELECT count(*) FROM file_contexts WHERE tenant_id = $1) AS contexts,
  (SELECT count(*) FROM api_keys WHERE tenant_id = $1) AS api_keys,
  coalesce(held.files, 0)::bigint AS files, coalesce(held.bytes, 0)::bigint AS bytes,
  (${buildUsageSql("u.subject = '' AND u.grain = 'day' AND u.bucket = $2::timestamptz")}) AS today,
  (${buildUsageSql("u.subject = '' AND u.grain = 'day' AND u.bucket = $3::timestamptz")}) AS yesterday,
  (${buildUsageSql("u.subject = '' AND u.grain = 'total'")}) AS total,
  (SELECT coalesce(jsonb_agg(l), '[]') FROM (
     SELECT c.context_key AS "contextKey", c.display_name AS "contextName", h.files AS count, h.bytes AS "totalBytes"
     FROM file_totals h JOIN file_contexts c ON c.tenant_id = h.tenant_id AND c.context_id = h.context_id
     WHERE h.tenant_id = $1 AND h.files > 0 ORDER BY h.bytes DESC, h.files DESC, c.context_id DESC LIMIT 3) l) AS largest
FROM tenants t LEFT JOIN tenant_heads held ON held.tenant_id = $1 WHERE t.tenant_id = $1`

function toStats(row: OverviewRow): Stats {
  const today = { ...noUsage, ...row.today }
  const yesterday = { ...noUsage, ...row.yesterday }
  const total = { ...noUsage, ...row.total }
  const calls = countCalls(today)
  const callsYesterday = countCalls(yesterday).total
  const bytes = Number(row.bytes)
  const remaining = Math.max(0, row.quota_mb * megabyte - bytes)
  return {
    overview: {
      totalFiles: Number(row.files),
      totalContexts: Number(row.contexts),
      totalApiKeys: Number(row.api_keys),
      totalDownloads: total.downloads,
    },
    apiCalls: {
      today: calls.total,
      yesterday: callsYesterday,
      changePercent: calculateChangePercent(calls.total, callsYesterday),
      byOperation: calls.byOperation,
      byStatus: { success: calls.success, failure: calls.failure },
    },
    storage: { totalBytes: bytes, totalFormatted: formatBytes(bytes), byContext: row.largest },
    storageQuota: {
      quotaMb: row.quota_mb,
      usedBytes: bytes,
      usedFormatted: formatBytes(bytes),
      usedPercent: Math.round((bytes / (row.quota_mb * megabyte)) * 10_000) / 100,
      remainingBytes: remaining,
      remainingFormatted: formatBytes(remaining),
    },
    filesUploaded: {
      total: total.files_uploaded,
      today: today.files_uploaded,
      yesterday: yesterday.files_uploaded,
      changePercent: calculateChangePercent(today.files_uploaded, yesterday.files_uploaded),
    },
    security: {
      filesBlockedTotal: countBlockedUploads(total),
      blockedToday: countBlockedUploads(today),
      blockedYesterday: countBlockedUploads(yesterday),
      changePercent: calculateChangePercent(countBlockedUploads(today), countBlockedUploads(yesterday)),
      byReason: Object.fromEntries(blockReasons.map((reason) => [toReasonField(reason), total[reason]])) as Record<
        BlockReasonField,
        number
      >,
    },
  }
}

const countBlockedUploads = (usage: Usage): number => blockReasons.reduce((sum, reason) => sum + usage[reason], 0)

/** Adds up the API calls in a time interval, by result and operation. */
function countCalls(usage: Usage): { total: number; success: number; failure: number; byOperation: CallsByOperation } {
  const success = usage.upload_success + usage.download_success + usage.metadata_success + usage.delete_success
  const failure = usage.upload_failure + usage.download_failure + usage.metadata_failure + usage.delete_failure
  return {
    total: success + failure,
    success,
    failure,
    byOperation: {
      upload: usage.upload_success + usage.upload_failure,
      download: usage.download_success + usage.download_failure,
      metadata: usage.metadata_success + usage.metadata_failure,
      delete: usage.delete_success + usage.delete_failure,
    },
  }
}

const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']

/** Formats bytes with base 1024 and at most two decimals, such as `0 B` or `1.5 MB`. */
export function formatBytes(bytes: number): string {
  const round = (value: number) => Math.round(value * 100) / 100
  let value = bytes
  let unit = 0
  // Compare the rounded value, so that 1,048,575 bytes are 1 MB instead of 1024 KB.
  while (round(value) >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${round(value)} ${units[unit]}`
}

/** Returns the change in percent, rounded to one decimal. If yesterday's value is 0, returns 0 or 100. */
export function calculateChangePercent(today: number, yesterday: number): number {
  if (yesterday === 0) return today === 0 ? 0 : 100
  return Math.round(((today - yesterday) / yesterday) * 1000) / 10
}

interface ChartSettings {
  period: ChartPeriod
  days?: number | null
}

/** Returns the Monday of the week that contains a date, in UTC. */
const startOfWeek = (time: Date): Date => new Date(startOfDay(time).getTime() - ((time.getUTCDay() + 6) % 7) * dayMs)

const intervals = {
  hourly: { unit: 'hour', startOf: startOfHour, stepMs: hourMs, defaultDays: 7 },
  daily: { unit: 'day', startOf: startOfDay, stepMs: dayMs, defaultDays: 7 },
  weekly: { unit: 'week', startOf: startOfWeek, stepMs: 7 * dayMs, defaultDays: 30 },
}

/** Returns the start time of each time interval in milliseconds, in ascending order. The last interval is the current one. */
export function getBucketStarts(period: ChartPeriod, days: number | null | undefined, now = getCurrentTime()): number[] {
  const { startOf, stepMs, defaultDays } = intervals[period]
  const lengthMs = (days ?? defaultDays) * dayMs - Math.min(stepMs, dayMs)
  const first = startOf(new Date(now.getTime() - lengthMs)).getTime()
  return Array.from({ length: (startOf(now).getTime() - first) / stepMs + 1 }, (_, index) => first + index * stepMs)
}

/** Creates data points only when GraphQL serializes them, so that a long list does not block the event loop. */
const toChart = <Point>({ period }: ChartSettings, buckets: number[], toPoint: (bucket: number) => Point): Chart<Point> => ({
  period,
  get dataPoints() {
    return mapToList(buckets, toPoint)
  },
})
