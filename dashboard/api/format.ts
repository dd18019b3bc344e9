import { texts } from '../texts.js'

const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']

/** Formats a byte count with base 1024 and at most two decimal places, as the service does. */
export function formatBytes(count: number): string {
  const unitIndex = Math.min(count < 1 ? 0 : Math.floor(Math.log2(count) / 10), units.length - 1)
  return `${(count / 1024 ** unitIndex).toLocaleString('en', { maximumFractionDigits: 2 })} ${units[unitIndex]}`
}

export const formatNumber = (count: number): string => count.toLocaleString('en')

export const formatPercent = (percent: number): string => `${percent.toLocaleString('en', { maximumFractionDigits: 1 })} %`

const dateTimeFormat = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })

/** Formats a time in the user's time zone. */
export const formatDateTime = (iso: string): string => dateTimeFormat.format(new Date(iso))

/** Formats a time in UTC, which the logs also use. */
export const formatUtc = (iso: string): string => `${iso.slice(0, 19).replace('T', ' ')} UTC`

const relativeUnits: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]
const relativeTimeFormat = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** Formats a time relative to now, such as "3 hours ago". Times more than 30 days away are formatted as dates. */
export function formatRelativeTime(iso: string, now = Date.now()): string {
  const seconds = (Date.parse(iso) - now) / 1000
  if (Math.abs(seconds) < 45) return texts.justNow
  if (Math.abs(seconds) > 30 * 86_400) return dateTimeFormat.format(new Date(iso)).split(',').slice(0, 2).join(',')
  const [unit, length] = relativeUnits.find(([, length]) => Math.abs(seconds) >= length) ?? (['minute', 60] as const)
  return relativeTimeFormat.format(Math.round(seconds / length), unit)
}

/**
 * Predicts from the average daily growth when the storage quota will be exhausted. Returns null if the usage does not grow, or if
 * the date is more than ten years away.
 */
export function predictQuotaExhaustionDate(
  points: readonly { timestamp: string; totalBytes: number }[],
  quotaBytes: number,
): Date | null {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last || points.length < 2) return null
  const bytesPerDay = (last.totalBytes - first.totalBytes) / (points.length - 1)
  if (bytesPerDay <= 0) return null
  const remainingDays = Math.max(0, quotaBytes - last.totalBytes) / bytesPerDay
  return remainingDays > 3650 ? null : new Date(Date.now() + remainingDays * 86_400_000)
}
