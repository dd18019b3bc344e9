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
  const endTurn = () => new Promise((resolve) => setImmediate(resolve))
  const finish = async (error?: Error) => {
    running.shift()!(error)
    await endTurn()
  }
  return { batcher, batches, endTurn, finish }
}

test('collects the items of one event loop iteration in a batch', async () => {
  const { batcher, batches, endTurn, finish } = createBatcher()
  const results = [1, 2].map((item) => batcher.add(item))
  expect(batches).toEqual([])
  await endTurn()
  expect(batches).toEqual([[1, 2]])
  results.push(...[3, 4].map((item) => batcher.add(item)))
  await endTurn()
  expect(batches).toEqual([[1, 2]])
  await finish()
  expect(batches).toEqual([
    [1, 2],
    [3, 4],
  ])
  await finish()
  expect(await Promise.all(results)).toEqual([2, 4, 6, 8])
})

test('limits the size of a batch', async () => {
  const { batcher, batches, endTurn, finish } = createBatcher({ maxBatch: 2 })
  for (const item of [1, 2, 3]) void batcher.add(item)
  await endTurn()
  for (let batch = 0; batch < 2; batch++) await finish()
  expect(batches).toEqual([[1, 2], [3]])
})

test('starts a second batch of a group while the first batch hangs', async () => {
  const { batcher, batches, endTurn, finish } = createBatcher({ maxConcurrent: 2 })
  const results: Promise<number>[] = []
  for (const item of [1, 2, 3]) {
    results.push(batcher.add(item))
    await endTurn()
  }
  results.push(batcher.add(4))
  expect(batches).toEqual([[1], [2]])
  await finish()
  expect(batches).toEqual([[1], [2], [3, 4]])
  await finish()
  await finish()
  expect(await Promise.all(results)).toEqual([2, 4, 6, 8])
})

test('starts a second batch for the items that do not fit into the first batch', async () => {
  const { batcher, batches, endTurn, finish } = createBatcher({ maxBatch: 2, maxConcurrent: 2 })
  const results = [1, 2, 3].map((item) => batcher.add(item))
  await endTurn()
  await endTurn()
  expect(batches).toEqual([[1, 2], [3]])
  await finish()
  await finish()
  expect(await Promise.all(results)).toEqual([2, 4, 6])
})

test('rejects the items of a failed batch without stopping the next batch', async () => {
  const { batcher, endTurn, finish } = createBatcher({ maxBatch: 1 })
  const [first, second] = [batcher.add(1), batcher.add(2)]
  await endTurn()
  await finish(new Error('no connection'))
  await expect(first).rejects.toThrow('no connection')
  await finish()
  expect(await second).toBe(4)
})

test('rejects a batch item with the error `overloaded` if too many items are waiting', async () => {
  const { batcher, endTurn, finish } = createBatcher({ maxWaiting: 1 })
  const accepted = [batcher.add(1)]
  await endTurn()
  accepted.push(batcher.add(2))
  await expect(batcher.add(3)).rejects.toMatchObject({ code: 'overloaded', retryAfter: 1 })
  await finish()
  await finish()
  expect(await Promise.all(accepted)).toEqual([2, 4])
})

test('runs batches of different groups concurrently', async () => {
  const { batcher, batches, endTurn, finish } = createBatcher({ getGroup: (item) => (item % 2 ? 'odd' : 'even') })
  const results = [1, 2, 3].map((item) => batcher.add(item))
  await endTurn()
  expect(batches).toEqual([[1, 3], [2]])
  await finish()
  await finish()
  expect(await Promise.all(results)).toEqual([2, 4, 6])
})

test('pauses between batches if a pause is configured', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] })
  try {
    const { batcher, batches, endTurn, finish } = createBatcher({ getPauseMs: () => 50 })
    void batcher.add(1)
    await endTurn()
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
