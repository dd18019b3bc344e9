import type { Window } from '../../api/graphql/rules.js'
import { dayOf, hourOf, hoursSince } from '../../ledger/counters.js'
import { currentTime } from '../../platform/clock.js'

const hour = 3_600_000
const day = 24 * hour

/** A stretch of a window, and what counts it: the counters of hours or of days, or the rows themselves where it breaks an hour. */
export interface Span {
  by: 'hour' | 'day' | 'rows'
  from: Date
  until: Date
}

const hourAfter = (moment: Date): Date => new Date(Math.ceil(moment.getTime() / hour) * hour)
const dayAfter = (moment: Date): Date => new Date(Math.ceil(moment.getTime() / day) * day)

/**
 * Cuts a window at whole hours and days: at most two broken hours of rows, two broken days of hours, and days between. Where the hours
 * are gone, the rows of a broken day are counted.
 */
export function spansOf({ from, until }: Window, now = currentTime()): Span[] {
  const start = from ?? new Date(0)
  // Nothing is in the future, but the database's clock may have been set back.
  const end = until ?? dayAfter(new Date(now.getTime() + day))
  const firstHour = hourAfter(start)
  const lastHour = hourOf(end)
  if (firstHour > lastHour) return kept([{ by: 'rows', from: start, until: end }])
  const firstDay = dayAfter(firstHour)
  const lastDay = dayOf(lastHour)
  const whole: Span[] =
    firstDay <= lastDay
      ? [
          { by: 'hour', from: firstHour, until: firstDay },
          { by: 'day', from: firstDay, until: lastDay },
          { by: 'hour', from: lastDay, until: lastHour },
        ]
      : [{ by: 'hour', from: firstHour, until: lastHour }]
  const spans: Span[] = [{ by: 'rows', from: start, until: firstHour }, ...whole, { by: 'rows', from: lastHour, until: end }]
  const since = hoursSince(now)
  return kept(spans.map((span) => (span.by === 'hour' && span.from < since ? { ...span, by: 'rows' } : span)))
}

const kept = (spans: Span[]): Span[] => spans.filter(({ from, until }) => from < until)
