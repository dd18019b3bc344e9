import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { DateTimeScalar } from '../../src/api/graphql/scalars.js'
import { getBucketStarts } from '../../src/features/stats/stats.service.js'

const days = (period: 'hourly' | 'daily' | 'weekly', window: number | null, now: string) =>
  getBucketStarts(period, window, new Date(now)).map((time) => new Date(time).toISOString())

test('ends a daily chart with the current UTC day', () => {
  expect(days('daily', 3, '2026-03-01T23:59:59.999Z')).toEqual([
    '2026-02-27T00:00:00.000Z',
    '2026-02-28T00:00:00.000Z',
    '2026-03-01T00:00:00.000Z',
  ])
  expect(days('daily', null, '2026-03-01T00:00:00.000Z')).toHaveLength(7)
  expect(days('daily', 1, '2026-03-01T00:00:00.000Z')).toEqual(['2026-03-01T00:00:00.000Z'])
})

test('ends an hourly chart with the current hour', () => {
  const hours = days('hourly', 1, '2026-03-01T05:30:00.000Z')
  expect([hours[0], hours.at(-1), hours.length]).toEqual(['2026-02-28T06:00:00.000Z', '2026-03-01T05:00:00.000Z', 24])
  expect(days('hourly', null, '2026-03-01T05:30:00.000Z')).toHaveLength(168)
})

test('starts weekly chart points on Monday, even across two years', () => {
  expect(days('weekly', 1, '2026-03-01T12:00:00.000Z')).toEqual(['2026-02-23T00:00:00.000Z'])
  expect(days('weekly', 1, '2026-03-02T00:00:00.000Z')).toEqual(['2026-03-02T00:00:00.000Z'])
  expect(days('weekly', 8, '2026-03-02T00:00:00.000Z')).toEqual(['2026-02-23T00:00:00.000Z', '2026-03-02T00:00:00.000Z'])
  expect(days('weekly', 10, '2026-01-02T00:00:00.000Z')).toEqual(['2025-12-22T00:00:00.000Z', '2025-12-29T00:00:00.000Z'])
  expect(days('weekly', null, '2026-03-04T00:00:00.000Z')).toHaveLength(5)
})

test('includes every day in a one-year chart', () => {
  const year = days('daily', 365, '2026-12-31T12:00:00.000Z')
  expect([year.length, year[0], new Set(year).size]).toEqual([365, '2026-01-01T00:00:00.000Z', 365])
})

test('formats times in the DateTime scalar exactly as Date.toISOString does', () =>
  fc.assert(
    fc.property(fc.integer({ min: -2_399_999_900, max: 2_399_999_900 }), fc.integer({ min: 0, max: 48 }), (hour, later) => {
      for (const each of [hour, hour + later, hour + 0.5]) {
        const time = new Date(each * 3_600_000)
        expect(DateTimeScalar.serialize(time)).toBe(time.toISOString())
      }
    }),
    { seed: 20_261_123 },
  ))
