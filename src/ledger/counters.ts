import { startOfDay } from '../platform/clock.js'
import { type BlockReason, blockReasons } from '../platform/errors/errors.js'

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
