import { startOfDay } from '../platform/clock.js'
import { type BlockReason, blockReasons } from '../platform/errors/errors.js'
import { operations } from './entry.js'

/** Names of the counter columns for calls. */
export const callColumns = operations.flatMap((operation) => [`${operation}_success`, `${operation}_failure`] as const)
const fileColumns = [
  'files_uploaded',
  'bytes_uploaded',
  'files_deleted',
  'bytes_deleted',
  'downloads',
  'bytes_downloaded',
] as const

/** Names of the counter columns in `usage_counters` and `usage_deltas`. */
export const usageColumns = [...callColumns, ...fileColumns, ...blockReasons]
export type UsageColumn = (typeof callColumns)[number] | (typeof fileColumns)[number] | BlockReason

/** Value of the `bucket` column in rows that contain overall totals. */
export const totalBucket = new Date(0)

/** Number of days after which hourly counters are deleted. Daily counters are retained. */
export const storedHoursDays = 400

/**
 * Returns the start of the first day for which hourly counters are retained. Statistics for a part of an earlier day must count
 * table rows instead.
 */
export const getHourlyRetentionStart = (now: Date): Date => new Date(startOfDay(now).getTime() - storedHoursDays * 86_400_000)

/** SQL that assigns each delta to the hourly, daily and total counters of its tenant, API key and context. */
export const deltaBuckets = `CROSS JOIN LATERAL (VALUES (''), (d.api_key_id), (d.context_id)) AS s(subject)
  CROSS JOIN LATERAL (VALUES ('hour', d.hour), ('day', date_trunc('day', d.hour, 'UTC')), ('total', to_timestamp(0))) AS g(grain, bucket)`

/**
 * SQL subquery that returns the folded counters and the deltas that are not folded yet. A counter may have several rows, so the
 * caller must add them up.
 */
export const currentUsage = `(SELECT tenant_id, subject, grain, bucket, ${usageColumns.join(', ')} FROM usage_counters
  UNION ALL SELECT d.tenant_id, s.subject, g.grain, g.bucket, ${usageColumns.map((column) => `coalesce(d.${column}, 0)`).join(', ')}
  FROM usage_deltas d ${deltaBuckets} WHERE s.subject IS NOT NULL)`
