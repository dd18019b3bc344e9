import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { Turns } from '../../src/ledger/group-commit.js'

beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate'] }))
afterEach(() => void jest.useRealTimers())

function work() {
  const at = {} as { done: Promise<void>; end: () => void; fail: (error: Error) => void }
  at.done = new Promise((end, fail) => Object.assign(at, { end, fail }))
  return at
}

const turnsOfTheLoop = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
}

function gathering() {
  const at = { waiting: 0, groups: [] as number[] }
  const turns = new Turns({
    most: 2,
    wanted: () => at.waiting > 0,
    turn: async () => {
      at.groups.push(at.waiting)
      at.waiting = 0
    },
  })
  const come = async () => {
    at.waiting++
    turns.wake()
    await turnsOfTheLoop(3)
  }
  /** Expected work that arrives when its promise resolves. */
  const expect = () => {
    const { done, end, fail } = work()
    const came = turns.before(done).then(come)
    return { came, end, fail }
  }
  return { at, turns, come, expect }
}

test('a group starts immediately if no other work is expected', async () => {
  const { at, come } = gathering()
  await come()
  await come()
  expect(at.groups).toEqual([1, 1])
})

test('a group waits for expected work until it arrives or is cancelled', async () => {
  const { at, come, expect: expected } = gathering()
  const [one, other] = [expected(), expected()]
  await come()
  one.end()
  await one.came
  expect(at.groups).toEqual([])
  other.fail(new Error('no answer'))
  await expect(other.came).rejects.toThrow('no answer')
  await turnsOfTheLoop(1)
  expect(at.groups).toEqual([2])
})

test('a single entry starts a group immediately', async () => {
  const { at, expect: expected } = gathering()
  const { came, end } = expected()
  end()
  await came
  expect(at.groups).toEqual([1])
})

test('a group waits at most two milliseconds for expected work, and the next does not wait for it', async () => {
  const { at, turns, come, expect: expected } = gathering()
  expected()
  await come()
  jest.advanceTimersByTime(1)
  expect(at.groups).toEqual([])
  jest.advanceTimersByTime(1)
  expect(at.groups).toEqual([1])
  expect(turns.idle).toBe(false)
  await turnsOfTheLoop(1)
  expect(turns.idle).toBe(true)
  await come()
  expect(at.groups).toEqual([1, 1])
})

test('a group does not wait for work that starts after it is requested', async () => {
  const { at, come, expect: expected } = gathering()
  const first = expected()
  await come()
  const later = expected()
  first.end()
  await first.came
  expect(at.groups).toEqual([2])
  later.end()
  await later.came
  expect(at.groups).toEqual([2, 1])
})
