import { afterEach, expect, test } from '@jest/globals'
import { now, setClock } from '../../src/platform/clock.js'
import { getIdTime, newId } from '../../src/platform/ids.js'

const year = 365 * 86_400_000
const start = Date.UTC(2026, 10, 22)
afterEach(() => setClock(Date.now()))

const created = () => getIdTime(newId('file')).getTime()

test('creates ascending ids even after the clock is set back', () => {
  setClock(start)
  const ids = Array.from({ length: 1000 }, () => newId('file'))
  setClock(start - 4_000)
  ids.push(...Array.from({ length: 1000 }, () => newId('file')))
  expect([...ids].sort()).toEqual(ids)
  expect(getIdTime(ids.at(-1)!).getTime()).toBeGreaterThanOrEqual(start)
})

test.each([
  ['nine years', 9 * year],
  ['two days', 2 * 86_400_000],
  ['six seconds', 6_000],
])('creates ids with the correct time after a clock that was %s ahead is corrected', (_name, leap) => {
  setClock(start + leap)
  expect(created() - start - leap).toBeLessThan(60_000)
  setClock(start)
  expect(Math.abs(created() - start)).toBeLessThan(Math.min(60_000, leap))
  const ids = Array.from({ length: 1000 }, () => newId('file'))
  expect([...ids].sort()).toEqual(ids)
})

test('a change to the system clock does not affect the time returned by now()', () => {
  setClock(start)
  const { now: machine } = Date
  Date.now = () => machine() + 9 * year
  try {
    expect(now() - start).toBeLessThan(60_000)
  } finally {
    Date.now = machine
  }
})
