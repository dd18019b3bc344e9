import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { Coming } from '../../src/ledger/coming.js'
import { Turns } from '../../src/ledger/turns.js'

beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate'] }))
afterEach(() => void jest.useRealTimers())

function lookUp() {
  const at = {} as { promise: Promise<string>; resolve: (found: string) => void; reject: (error: Error) => void }
  at.promise = new Promise((resolve, reject) => Object.assign(at, { resolve, reject }))
  return at
}

function gathering() {
  const at = { waiting: 0, coming: 0, groups: [] as number[] }
  const turns = new Turns({
    most: 2,
    wanted: () => at.waiting > 0,
    more: () => at.coming > 0,
    turn: async () => {
      at.groups.push(at.waiting)
      at.waiting = 0
    },
  })
  const come = async () => {
    at.waiting++
    turns.wake()
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
  }
  return { at, turns, come }
}

test('a group begins at once where nothing else is about to come', async () => {
  const { at, come } = gathering()
  await come()
  await come()
  expect(at.groups).toEqual([1, 1])
})

test('a group waits for what is about to come, until it has come', async () => {
  const { at, turns, come } = gathering()
  at.coming = 2
  await come()
  await come()
  at.coming = 1
  turns.arrived()
  expect(at.groups).toEqual([])
  await come()
  at.coming = 0
  turns.arrived()
  expect(at.groups).toEqual([3])
})

test('a group waits for what does not come for two milliseconds and no longer', async () => {
  const { at, turns, come } = gathering()
  at.coming = 1
  await come()
  jest.advanceTimersByTime(1)
  expect(at.groups).toEqual([])
  jest.advanceTimersByTime(1)
  expect(at.groups).toEqual([1])
  turns.arrived()
  expect(turns.idle).toBe(false)
  await new Promise(setImmediate)
  expect(turns.idle).toBe(true)
})

test('what is about to come is waited for where it had begun when the group was first wanted, and not where it begins later', async () => {
  let arrivals = 0
  const coming = new Coming(() => arrivals++)
  const lookUps = [0, 1].map(lookUp)
  const found = coming.before(lookUps[0]!.promise)
  expect(coming.more).toBe(true)
  const later = coming.before(lookUps[1]!.promise)
  lookUps[0]!.resolve('a file')
  expect(await found).toBe('a file')
  expect(coming.more).toBe(true)
  await new Promise(setImmediate)
  expect([coming.more, arrivals]).toEqual([false, 1])
  coming.begin()
  expect(coming.more).toBe(true)
  lookUps[1]!.reject(new Error('no answer'))
  await expect(later).rejects.toThrow('no answer')
  await new Promise(setImmediate)
  expect([coming.more, arrivals]).toEqual([false, 2])
})
