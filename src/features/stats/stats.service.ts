import { currentUsage, type UsageColumn, usageColumns } from '../../ledger/counters.js'
import type { Actor } from '../../platform/actor.js'
import { getCurrentTime, startOfDay } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import { type BlockReasonField, blockReasons, toReasonField } from '../../platform/errors/block-reasons.js'
import { megabyte } from '../../platform/units.js'
import { calculateChangePercent, formatBytes } from './format-bytes.js'
import type { CallsByOperation, ContextApiCalls, ContextFiles, ContextStorage, Stats } from './stats.types.js'

/** Usage counters for one time interval. */
export type Usage = Record<UsageColumn, number>

export const noUsage = Object.fromEntries(usageColumns.map((column) => [column, 0])) as Usage
const dayMs = 86_400_000

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

  /** Returns API call counts for all contexts of the tenant, in descending order of calls. */
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

  /** Returns file counts and sizes for all contexts of the tenant, in descending order of size. */
  async getFilesByContext(actor: Actor): Promise<ContextFiles[]> {
    const { rows } = await this.db.reads.query<Omit<ContextFiles, 'totalFormatted'>>(
      `SELECT c.context_key AS "contextKey", c.display_name AS "contextName", coalesce(t.files, 0)::bigint AS "fileCount", coalesce(t.bytes, 0)::bigint AS "totalBytes"
       FROM file_contexts c LEFT JOIN file_totals t ON t.tenant_id = $1 AND t.context_id = c.context_id
       WHERE c.tenant_id = $1 AND ($2::text[] IS NULL OR c.context_id = ANY($2)) ORDER BY 4 DESC, 3 DESC, c.context_id DESC`,
      [actor.tenantId, actor.contexts],
    )
    return rows.map((row) => ({ ...row, totalFormatted: formatBytes(row.totalBytes) }))
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
export function countCalls(usage: Usage): { total: number; success: number; failure: number; byOperation: CallsByOperation } {
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
