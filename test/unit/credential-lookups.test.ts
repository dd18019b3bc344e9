import { expect, jest, test } from '@jest/globals'
import { LookupLane } from '../../src/access/lookup-lane.js'

/** A lane over a database that knows the even numbers, and answers when it is told to. */
function laneOf() {
  const statements: number[][] = []
  const answers: ((error?: Error) => void)[] = []
  const lane = new LookupLane<number, string>(async (asked) => {
    statements.push([...asked])
    await new Promise<void>((resolve, reject) => answers.push((error) => (error ? reject(error) : resolve())))
    return asked.map((number) => (number % 2 === 0 ? `found ${number}` : null))
  })
  const answer = async (error?: Error) => {
    answers.shift()!(error)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { lane, statements, answer }
}

test('a flood of look-ups is one statement at a time, and each gets its own answer', async () => {
  const { lane, statements, answer } = laneOf()
  const asked = Array.from({ length: 1_000 }, (_, number) => lane.find(number))
  for (const sizes of [[1], [1, 500], [1, 500, 499]]) {
    expect(statements.map(({ length }) => length)).toEqual(sizes)
    await answer()
  }
  expect(await Promise.all(asked)).toEqual(asked.map((_, number) => (number % 2 === 0 ? `found ${number}` : null)))
})

test('what is asked when nothing waits is asked at once, and a fault is that of its own statement', async () => {
  const { lane, statements, answer } = laneOf()
  const first = lane.find(1)
  const second = lane.find(2)
  await answer(new Error('the database is away'))
  await expect(first).rejects.toThrow('the database is away')
  await answer()
  expect(await second).toBe('found 2')
  const third = lane.find(4)
  expect(statements).toEqual([[1], [2], [4]])
  await answer()
  expect(await third).toBe('found 4')
})

test('more than the lane may hold are refused at once', async () => {
  const { lane, answer } = laneOf()
  const asked = Array.from({ length: 5_001 }, () => lane.find(2))
  await expect(lane.find(2)).rejects.toMatchObject({ code: 'overloaded', retryAfter: 1 })
  for (let statement = 0; statement < 11; statement++) await answer()
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['found 2']))
})

test('guesses one after the other are gathered; a good one ends that', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] })
  try {
    const { lane, statements, answer } = laneOf()
    for (let guess = 1; guess < 40; guess += 2) {
      const found = lane.find(guess)
      jest.advanceTimersByTime(50)
      await new Promise((resolve) => setImmediate(resolve))
      await answer()
      expect(await found).toBeNull()
    }
    statements.length = 0
    const asked = [lane.find(41), lane.find(2), lane.find(43)]
    await jest.advanceTimersByTimeAsync(49)
    expect(statements).toEqual([])
    await jest.advanceTimersByTimeAsync(1)
    expect(statements).toEqual([[41, 2, 43]])
    await answer()
    expect(await Promise.all(asked)).toEqual([null, 'found 2', null])
    void lane.find(45)
    expect(statements).toHaveLength(2)
    await answer()
  } finally {
    jest.useRealTimers()
  }
})
