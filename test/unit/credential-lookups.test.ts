import { expect, jest, test } from '@jest/globals'
import { createCredentialBatcher } from '../../src/access/identity-cache.js'

/** Creates lookups in a database that contains the even numbers. Each statement ends when the test calls `answer`. */
function createLookups() {
  const statements: number[][] = []
  const responses: ((error?: Error) => void)[] = []
  const lookups = createCredentialBatcher<number, string>(async (requested) => {
    statements.push([...requested])
    await new Promise<void>((resolve, reject) => responses.push((error) => (error ? reject(error) : resolve())))
    return requested.map((number) => (number % 2 === 0 ? `found ${number}` : null))
  })
  const endTurn = () => new Promise((resolve) => setImmediate(resolve))
  const completeLookup = async (error?: Error) => {
    responses.shift()!(error)
    await endTurn()
  }
  return { lookups, statements, endTurn, completeLookup }
}

test('runs one credential lookup statement at a time under heavy load', async () => {
  const { lookups, statements, endTurn, completeLookup } = createLookups()
  const requested = Array.from({ length: 1_001 }, (_, number) => lookups.add(number))
  await endTurn()
  for (const sizes of [[500], [500, 500], [500, 500, 1]]) {
    expect(statements.map(({ length }) => length)).toEqual(sizes)
    await completeLookup()
  }
  expect(await Promise.all(requested)).toEqual(requested.map((_, number) => (number % 2 === 0 ? `found ${number}` : null)))
})

test('runs a credential lookup without a pause if no other lookup is running', async () => {
  const { lookups, statements, endTurn, completeLookup } = createLookups()
  const first = lookups.add(1)
  await endTurn()
  const second = lookups.add(2)
  await completeLookup(new Error('the database is unavailable'))
  await expect(first).rejects.toThrow('the database is unavailable')
  await completeLookup()
  expect(await second).toBe('found 2')
  const third = lookups.add(4)
  await endTurn()
  expect(statements).toEqual([[1], [2], [4]])
  await completeLookup()
  expect(await third).toBe('found 4')
})

test('rejects a credential lookup with the error `overloaded` if 5,000 lookups are waiting', async () => {
  const { lookups, endTurn, completeLookup } = createLookups()
  const requested = [lookups.add(2)]
  await endTurn()
  requested.push(...Array.from({ length: 5_000 }, () => lookups.add(2)))
  await expect(lookups.add(2)).rejects.toMatchObject({ code: 'overloaded', retryAfter: 1 })
  for (let statement = 0; statement < 11; statement++) await completeLookup()
  expect(new Set(await Promise.all(requested))).toEqual(new Set(['found 2']))
})

test('batches credential lookups in intervals of 50 ms after wrong guesses', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] })
  try {
    const { lookups, statements, endTurn, completeLookup } = createLookups()
    for (let guess = 1; guess < 40; guess += 2) {
      const found = lookups.add(guess)
      jest.advanceTimersByTime(50)
      await endTurn()
      await completeLookup()
      expect(await found).toBeNull()
    }
    statements.length = 0
    const requested = [lookups.add(41), lookups.add(2), lookups.add(43)]
    await jest.advanceTimersByTimeAsync(49)
    expect(statements).toEqual([])
    await jest.advanceTimersByTimeAsync(1)
    expect(statements).toEqual([[41, 2, 43]])
    await completeLookup()
    expect(await Promise.all(requested)).toEqual([null, 'found 2', null])
    void lookups.add(45)
    await endTurn()
    expect(statements).toHaveLength(2)
    await completeLookup()
  } finally {
    jest.useRealTimers()
  }
})
