import { firstIdAt } from '../ids.js'
import type { CallLogsArgs } from './call-log.type.js'

export type CallLogFilter = Partial<Pick<CallLogsArgs, 'apiKeyId' | 'operation' | 'status' | 'startDate' | 'endDate'>>

/** A stretch of time: `from` inclusive, `until` exclusive; null: open. */
export interface Window {
  from: Date | null
  until: Date | null
}

const day = 86_400_000

/**
 * The stretch that a filter and the retention leave. Both bounds of the filter are inclusive, to the millisecond;
 * a date without a time as the upper bound includes that whole day (contract §5). A time without a zone is UTC.
 */
export function windowOf(
  { startDate, endDate }: { startDate?: string | null; endDate?: string | null },
  horizon: Date | null,
): Window {
  const start = startDate ? utc(startDate) : null
  const end = endDate ? new Date(utc(endDate).getTime() + (/^\d{4}-\d{2}-\d{2}$/.test(endDate) ? day : 1)) : null
  const from = start && horizon ? (start > horizon ? start : horizon) : (start ?? horizon)
  return { from, until: end }
}

/** The same stretch as bounds of ids, which begin with their time. */
export const idBounds = ({ from, until }: Window): { from: string | null; until: string | null } => ({
  from: from && firstIdAt('call', from),
  until: until && firstIdAt('call', until),
})

const utc = (text: string): Date =>
  new Date(/^\d{4}-\d{2}-\d{2}$/.test(text) || /(Z|[+-]\d{2}:\d{2})$/.test(text) ? text : `${text}Z`)
