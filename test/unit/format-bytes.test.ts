import { expect, test } from '@jest/globals'
import { calculateChangePercent, formatBytes } from '../../src/features/stats/stats.service.js'

const kilo = 1024
test.each([
  [0, '0 B'],
  [1, '1 B'],
  [1_023, '1023 B'],
  [1_024, '1 KB'],
  [1_536, '1.5 KB'],
  [1_025, '1 KB'],
  [1_034, '1.01 KB'],
  [kilo ** 2 - 1, '1 MB'],
  [1.5 * kilo ** 2, '1.5 MB'],
  [kilo ** 3, '1 GB'],
  [kilo ** 4, '1 TB'],
  [kilo ** 5, '1 PB'],
  [2_000 * kilo ** 5, '2000 PB'],
])('formats %d bytes as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text)
})

test.each([
  [0, 0, 0],
  [5, 0, 100],
  [0, 5, -100],
  [5, 5, 0],
  [4, 3, 33.3],
  [2, 3, -33.3],
  [1, 3, -66.7],
  [10_001, 10_000, 0],
  [1_000_000, 1, 99_999_900],
])('calculates the change from yesterday to today: %d today and %d yesterday yield %d%%', (today, yesterday, percent) => {
  expect(calculateChangePercent(today, yesterday)).toBe(percent)
})
