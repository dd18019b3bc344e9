import { texts } from '../texts.js'

const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']

/** As the service words it: base 1024, at most two decimals. */
export function formatBytes(count: number): string {
  const step = Math.min(count < 1 ? 0 : Math.floor(Math.log2(count) / 10), units.length - 1)
  return `${(count / 1024 ** step).toLocaleString('en', { maximumFractionDigits: 2 })} ${units[step]}`
}

export const formatNumber = (count: number): string => count.toLocaleString('en')

export const formatPercent = (share: number): string => `${share.toLocaleString('en', { maximumFractionDigits: 1 })} %`

const dateTimeFormat = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })

/** In the viewer's zone. */
export const formatDateTime = (iso: string): string => dateTimeFormat.format(new Date(iso))

/** As it stands in the logs. */
export const formatUtc = (iso: string): string => `${iso.slice(0, 19).replace('T', ' ')} UTC`

const relativeUnits: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]
const relativeTimeFormat = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** "3 hours ago"; beyond a month its date. */
export function formatRelativeTime(iso: string, now = Date.now()): string {
  const seconds = (Date.parse(iso) - now) / 1000
  if (Math.abs(seconds) < 45) return texts.justNow
  if (Math.abs(seconds) > 30 * 86_400) return dateTimeFormat.format(new Date(iso)).split(',').slice(0, 2).join(',')
  const [unit, length] = relativeUnits.find(([, length]) => Math.abs(seconds) >= length) ?? (['minute', 60] as const)
  return relativeTimeFormat.format(Math.round(seconds / length), unit)
}

/** The day on which the quota is used up, at the rate of the points' last days; null where nothing grows. */
export function predictFullDate(points: readonly { timestamp: string; totalBytes: number }[], quotaBytes: number): Date | null {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last || points.length < 2) return null
  const perDay = (last.totalBytes - first.totalBytes) / (points.length - 1)
  if (perDay <= 0) return null
  const days = Math.max(0, quotaBytes - last.totalBytes) / perDay
  return days > 3650 ? null : new Date(Date.now() + days * 86_400_000)
}
