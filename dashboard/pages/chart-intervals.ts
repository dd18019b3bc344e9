export const periods = ['hourly', 'daily', 'weekly'] as const
export type Period = (typeof periods)[number]

const hourMs = 3_600_000
const dayMs = 24 * hourMs

const formatUtcDay = (time: number) => new Date(time).toISOString().slice(0, 10)

/** Formats the label of a time interval in UTC, because the service aggregates by UTC day. */
export function toIntervalLabel(period: Period, timestamp: string): { full: string; short: string } {
  const formatDate = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en', { timeZone: 'UTC', hourCycle: 'h23', ...options }).format(new Date(timestamp))
  const day = formatDate({ month: 'short', day: 'numeric' })
  if (period === 'hourly') {
    const hour = formatDate({ hour: '2-digit', minute: '2-digit' })
    return { full: `${day}, ${hour}`, short: hour }
  }
  const date = formatDate({ dateStyle: 'medium' })
  return { full: period === 'weekly' ? `Week of ${date}` : date, short: day }
}

/** Returns the query parameters for one time interval. Both dates of a list filter are inclusive. */
export function toIntervalQuery(period: Period, timestamp: string): string {
  const start = Date.parse(timestamp)
  if (period !== 'hourly') {
    const days = period === 'weekly' ? 7 : 1
    return `from=${formatUtcDay(start)}&to=${formatUtcDay(start + (days - 1) * dayMs)}`
  }
  const end = new Date(start + hourMs - 1).toISOString()
  return `from=${encodeURIComponent(new Date(start).toISOString())}&to=${encodeURIComponent(end)}`
}
