import { Rule } from './rules.js'

const day = 86_400_000

/** A stretch of time: `from` inclusive, `until` exclusive; null: open. */
export interface Window {
  from: Date | null
  until: Date | null
}

/** Text that is a moment, or a day. */
export const Moment = (): PropertyDecorator =>
  Rule(
    (value) =>
      typeof value === 'string' &&
      /^\d{4}-\d{2}-\d{2}($|T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?$)/.test(value) &&
      !Number.isNaN(Date.parse(value)) &&
      // JavaScript reads the 30th of February as the 2nd of March.
      new Date(value.slice(0, 10)).toISOString().startsWith(value.slice(0, 10)),
    'must be ISO 8601, such as 2026-01-31 or 2026-01-31T12:00:00Z',
  )

/**
 * The stretch between two bounds, both inclusive, to the millisecond; a date without a time as the upper bound includes that
 * whole day (contract §5). A time without a zone is UTC.
 */
export const windowOf = ({ startDate, endDate }: { startDate?: string | null; endDate?: string | null }): Window => ({
  from: startDate ? utc(startDate) : null,
  until: endDate ? new Date(utc(endDate).getTime() + (/^\d{4}-\d{2}-\d{2}$/.test(endDate) ? day : 1)) : null,
})

const utc = (text: string): Date =>
  new Date(/^\d{4}-\d{2}-\d{2}$/.test(text) || /(Z|[+-]\d{2}:\d{2})$/.test(text) ? text : `${text}Z`)
