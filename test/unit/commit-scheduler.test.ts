import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { CommitScheduler } from '../../src/ledger/group-commit.js'

beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate'] }))
afterEach(() => void jest.useRealTimers())

function work() {
  const at = {} as { done: Promise<void>; end: () => void; fail: (error: Error) => void }
  at.done = new Promise((end, fail) => Object.assign(at, { end, fail }))
  return at
}

const loopIterations = async (count: number) => {
  for (let done = 0; done < count; done++) await new Promise(setImmediate)
}

function openScheduler() {
  const at = { waiting: 0, groups: [] as number[] }
  const scheduler = new CommitScheduler({
    maxConcurrent: 2,
    hasEntries: () => at.waiting > 0,
    commitNext: async () => {
      at.groups.push(at.waiting)
      at.waiting = 0
    },
  })
  const arrive = async () => {
    at.waiting++
    scheduler.wake()
    await loopIterations(3)
  }
  /** Announces work whose entry follows when the work ends. */
  const announce = () => {
    const { done, end, fail } = work()
    const came = scheduler.announceEntryAfter(done).then(arrive)
    return { came, end, fail }
  }
  return { at, scheduler, arrive, announce }
}

test('starts a commit group immediately if no other entries are expected', async () => {
  const { at, arrive } = openScheduler()
  await arrive()
  await arrive()
  expect(at.groups).toEqual([1, 1])
})

test('delays a commit group until expected entries arrive or fail', async () => {
  const { at, arrive, announce } = openScheduler()
  const [one, other] = [announce(), announce()]
  await arrive()
  one.end()
  await one.came
  expect(at.groups).toEqual([])
  other.fail(new Error('no entry'))
  await expect(other.came).rejects.toThrow('no entry')
  await loopIterations(1)
  expect(at.groups).toEqual([2])
})

test('starts a commit group immediately if it contains all expected entries', async () => {
  const { at, announce } = openScheduler()
  const { came, end } = announce()
  end()
  await came
  expect(at.groups).toEqual([1])
})

test('waits two milliseconds for expected entries without delaying the next group', async () => {
  const { at, scheduler, arrive, announce } = openScheduler()
  announce()
  await arrive()
  jest.advanceTimersByTime(1)
  expect(at.groups).toEqual([])
  jest.advanceTimersByTime(1)
  expect(at.groups).toEqual([1])
  expect(scheduler.isIdle).toBe(false)
  await loopIterations(1)
  expect(scheduler.isIdle).toBe(true)
  await arrive()
  expect(at.groups).toEqual([1, 1])
})

test('does not delay a commit group for entries that are announced after its first entry', async () => {
  const { at, arrive, announce } = openScheduler()
  const first = announce()
  await arrive()
  const later = announce()
  first.end()
  await first.came
  expect(at.groups).toEqual([2])
  later.end()
  await later.came
  expect(at.groups).toEqual([2, 1])
})
