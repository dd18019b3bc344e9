import { type BlockReason, blockReasons } from '../platform/errors/errors.js'
import type { Entry } from './entry.js'

const callColumns = [
  'upload_success',
  'upload_failure',
  'download_success',
  'download_failure',
  'metadata_success',
  'metadata_failure',
  'delete_success',
  'delete_failure',
] as const
const fileColumns = [
  'files_uploaded',
  'bytes_uploaded',
  'files_deleted',
  'bytes_deleted',
  'downloads',
  'bytes_downloaded',
] as const

/** The columns that count, in `usage_counters` and in `usage_deltas`. */
export const usageColumns = [...callColumns, ...fileColumns, ...blockReasons]
export type UsageColumn = (typeof callColumns)[number] | (typeof fileColumns)[number] | BlockReason

/** Bucket of the running totals. */
export const totalBucket = new Date(0)

export const startOfHour = (moment: Date): Date => new Date(Math.floor(moment.getTime() / 3_600_000) * 3_600_000)
export const startOfDay = (moment: Date): Date => new Date(Math.floor(moment.getTime() / 86_400_000) * 86_400_000)

/** Older hours are deleted. Their days stay. */
export const storedHoursDays = 400

/** Start of the stored hours. For earlier partial days, rows are counted. */
export const startOfStoredHours = (now: Date): Date => new Date(startOfDay(now).getTime() - storedHoursDays * 86_400_000)

/** Each delta counts for the tenant, its API key and its context, in the hourly, daily and total counters. */
export const deltaBuckets = `CROSS JOIN LATERAL (VALUES (''), (d.api_key_id), (d.context_id)) AS s(subject)
  CROSS JOIN LATERAL (VALUES ('hour', d.hour), ('day', date_trunc('day', d.hour, 'UTC')), ('total', to_timestamp(0))) AS g(grain, bucket)`

/**
 * The current counters, folded and not yet folded, in the snapshot of the statement that reads them. A bucket may have several rows, which
 * readers add up.
 */
export const currentUsage = `(SELECT tenant_id, subject, grain, bucket, ${usageColumns.join(', ')} FROM usage_counters
  UNION ALL SELECT d.tenant_id, s.subject, g.grain, g.bucket, ${usageColumns.map((column) => `coalesce(d.${column}, 0)`).join(', ')}
  FROM usage_deltas d ${deltaBuckets} WHERE s.subject IS NOT NULL)`

export type UsageDelta = { tenant_id: string; api_key_id: string | null; context_id: string | null; hour: string } & Partial<
  Record<UsageColumn, number>
>

/** Counts that an entry adds. `at`: time of its call. Returns two rows if its file belongs to another hour. */
export function toUsageDeltas({ call, blocked, upload, deletion, download }: Entry, at: Date): UsageDelta[] {
  const rows: UsageDelta[] = []
  const count = (
    subject: { tenantId: string; apiKeyId: string | null; contextId: string | null },
    moment: Date,
    counts: Partial<Record<UsageColumn, number>>,
  ) => {
    const hour = startOfHour(moment).toISOString()
    const same = rows.find(
      (row) => row.hour === hour && row.api_key_id === subject.apiKeyId && row.context_id === subject.contextId,
    )
    if (same) Object.assign(same, counts)
    else rows.push({ tenant_id: subject.tenantId, api_key_id: subject.apiKeyId, context_id: subject.contextId, hour, ...counts })
  }
  if (call) count(call, at, { [`${call.operation}_${call.status}`]: 1 })
  if (blocked) count(blocked, at, { [blocked.reason]: 1 })
  // The time in the file's row is decisive, so that a recount of the rows yields the same hours.
  if (upload)
    count({ ...upload.file, apiKeyId: toApiKeyId(upload.actor.id) }, upload.file.createdAt, {
      files_uploaded: 1,
      bytes_uploaded: upload.file.sizeBytes,
    })
  if (deletion)
    count(
      { tenantId: deletion.actor.tenantId, apiKeyId: toApiKeyId(deletion.actor.id), contextId: deletion.file.contextId },
      at,
      {
        files_deleted: 1,
        bytes_deleted: deletion.file.sizeBytes,
      },
    )
  if (download)
    count({ ...download, apiKeyId: call?.apiKeyId ?? null }, at, { downloads: 1, bytes_downloaded: download.sizeBytes })
  return rows
}

/** Only API keys have counters: actions of users are not calls. */
const toApiKeyId = (id: string): string | null => (id.startsWith('key_') ? id : null)

/** One row for each tenant, key, context and hour in a group. */
export function sumDeltas(deltas: UsageDelta[]): UsageDelta[] {
  const sums = new Map<string, UsageDelta>()
  for (const delta of deltas) {
    const place = `${delta.tenant_id}|${delta.api_key_id}|${delta.context_id}|${delta.hour}`
    const sum = sums.get(place)
    if (!sum) sums.set(place, { ...delta })
    else for (const column of usageColumns) if (delta[column] !== undefined) sum[column] = (sum[column] ?? 0) + delta[column]
  }
  return [...sums.values()]
}
