import { readdirSync, statSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { formatBytes, predictFullDate } from '../../dashboard/api/format.js'

const built = new URL('../../dist/dashboard/public/', import.meta.url)

test('the scripts and styles of the dashboard have at most 120 KB gzip in total', () => {
  const sizes = readdirSync(built)
    .filter((name) => /\.(js|css)\.gz$/.test(name))
    .map((name) => statSync(new URL(name, built)).size)
  expect(sizes.length).toBeGreaterThan(2)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(120 * 1024)
})

test('every built file has a brotli and a gzip version', () => {
  const names = readdirSync(built)
  for (const name of names.filter((each) => !/\.(br|gz)$/.test(each)))
    expect(names).toEqual(expect.arrayContaining([`${name}.br`, `${name}.gz`]))
})

test.each([
  [0, '0 B'],
  [1023, '1,023 B'],
  [1024, '1 KB'],
  [1_572_864, '1.5 MB'],
  [5 * 1024 ** 4, '5 TB'],
])('formats %d bytes as %s', (count, text) => expect(formatBytes(count)).toBe(text))

const points = (...totals: number[]) =>
  totals.map((totalBytes, day) => ({ timestamp: new Date(Date.UTC(2026, 0, 1 + day)).toISOString(), totalBytes }))

test('predicts the day of a full quota from the rate of recent days', () => {
  const days = (predictFullDate(points(0, 100, 200), 1000)!.getTime() - Date.now()) / 86_400_000
  expect(days).toBeCloseTo(8, 2)
})

test.each([
  ['usage does not grow', points(200, 200), 1000],
  ['usage shrinks', points(300, 200), 1000],
  ['only one day is known', points(300), 1000],
  ['the day is more than ten years away', points(0, 1), 1_000_000],
])('predicts no day if %s', (_what, input, quota) => expect(predictFullDate(input, quota)).toBeNull())
