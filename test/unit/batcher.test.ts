import { expect, jest, test } from '@jest/globals'
import { Batcher } from '../../src/platform/batcher.js'

/** Creates a batcher that doubles numbers. Each batch ends when the test calls `finish`. */
function createBatcher(
  options: {
    getGroup?: (item: number) => string
    getPauseMs?: () => number
    maxBatch?: number
    maxWaiting?: number
    maxConcurrent?: number
  } = {},
) {
  const batches: number[][] = []
  const running: ((error?: Error) => void)[] = []
  const batcher = new Batcher<number, number>({
    ...options,
    run: async (items) => {
      batches.push([...items])
      await new Promise<void>((resolve, reject) => running.push((error) => (error ? reject(error) : resolve())))
      return items.map((item) => item * 2)
    },
  })
  const finish = async (error?: Error) => {
    running.shift()!(error)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { batcher, batches, finish }
}

test('a batcher runs the first item immediately, and combines the items that arrive while this item is running', async () => {
  const { batcher, batches, finish } = createBatcher()
  const results = [1, 2, 3].map((item) => batcher.add(item))
  expect(batches).toEqual([[1]])
  await finish()
  expect(batches).toEqual([[1], [2, 3]])
  await finish()
  expect(await Promise.all(results)).toEqual([2, 4, 6])
})

test('a batcher limits the size of a batch', async () => {
  const { batcher, batches, finish } = createBatcher({ maxBatch: 2 })
  for (const item of [1, 2, 3, 4]) void batcher.add(item)
  for (let batch = 0; batch < 3; batch++) await finish()
  expect(batches).toEqual([[1], [2, 3], [4]])
})

test('a batcher starts a second batch of a group while the first batch hangs', async () => {
  const { batcher, batches, finish } = createBatcher({ maxConcurrent: 2 })
  const results = [1, 2, 3, 4].map((item) => batcher.add(item))
  expect(batches).toEqual([[1], [2]])
  await finish()
  expect(batches).toEqual([[1], [2], [3, 4]])
  await finish()
  await finish()
  expect(await Promise.all(results)).toEqual([2, 4, 6, 8])
})

test('a failed batch rejects its items, but does not stop the next batch', async () => {
  const { batcher, finish } = createBatcher()
  const [first, second] = [batcher.add(1), batcher.add(2)]
  await finish(new Error('no connection'))
  await expect(first).rejects.toThrow('no connection')
  await finish()
  expect(await second).toBe(4)
})

test('a batcher rejects an item as overloaded if too many items are waiting', async () => {
  const { batcher, finish } = createBatcher({ maxWaiting: 1 })
  const accepted = [batcher.add(1), batcher.add(2)]
  await expect(batcher.add(3)).rejects.toMatchObject({ code: 'overloaded', retryAfter: 1 })
  await finish()
  await finish()
  expect(await Promise.all(accepted)).toEqual([2, 4])
})

test('a batcher runs batches of different groups concurrently', async () => {
  const { batcher, batches, finish } = createBatcher({ getGroup: (item) => (item % 2 ? 'odd' : 'even') })
  const results = [1, 2, 3].map((item) => batcher.add(item))
  expect(batches).toEqual([[1], [2]])
  await finish()
  expect(batches).toEqual([[1], [2], [3]])
  await finish()
  await finish()
  expect(await Promise.all(results)).toEqual([2, 4, 6])
})

test('a batcher pauses between batches if a pause is configured', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] })
  try {
    const { batcher, batches, finish } = createBatcher({ getPauseMs: () => 50 })
    void batcher.add(1)
    await finish()
    for (const item of [2, 3]) void batcher.add(item)
    await jest.advanceTimersByTimeAsync(49)
    expect(batches).toEqual([[1]])
    await jest.advanceTimersByTimeAsync(1)
    expect(batches).toEqual([[1], [2, 3]])
    await finish()
  } finally {
    jest.useRealTimers()
  }
})
