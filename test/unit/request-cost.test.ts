import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { ConcurrentCosts, maxCost, RequestCost } from '../../src/access/request-cost.js'

describe('request cost per tenant', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  /** Records requests in the order in which they are admitted or rejected. */
  const track = (costs: ConcurrentCosts) => {
    const settled: string[] = []
    const enter = (name: string, cost: number, tenantId = 'ten_1') =>
      costs.acquire(tenantId, cost).then(
        (release) => {
          settled.push(name)
          return release
        },
        (error: { code: string; message: string; details: object }) => {
          settled.push(`${name} ${error.code}`)
          throw error
        },
      )
    return { settled, enter }
  }

  test('limits the concurrent cost per tenant and queues further requests in order', async () => {
    const { settled, enter } = track(new ConcurrentCosts())
    const [first, second] = [await enter('first', maxCost - 1_000), enter('second', 2_000)]
    const third = enter('third', 500)
    await enter('other', maxCost, 'ten_2')
    expect(settled).toEqual(['first', 'other'])
    first()
    // A second release has no effect.
    first()
    await Promise.all([second, third])
    expect(settled).toEqual(['first', 'other', 'second', 'third'])
  })

  test('rejects a request that has been queued for five seconds', async () => {
    const { settled, enter } = track(new ConcurrentCosts())
    await enter('first', maxCost - 1_000)
    const second = expect(enter('second', 2_000)).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfter: 1,
      message: expect.stringMatching(/cost of 2000.*limit is 50000/),
      details: { cost: 2_000, limit: maxCost },
    })
    const third = enter('third', 500)
    await jest.advanceTimersByTimeAsync(4_000)
    expect(settled).toEqual(['first'])
    await jest.advanceTimersByTimeAsync(1_000)
    await Promise.all([second, third])
    expect(settled).toEqual(['first', 'second rate_limited', 'third'])
  })

  test('removes a queued request if its client disconnects', async () => {
    const costs = new ConcurrentCosts()
    await costs.acquire('ten_1', maxCost - 1_000)
    const client = new AbortController()
    const remaining = expect(costs.acquire('ten_1', 2_000, client.signal)).rejects.toMatchObject({ code: 'rate_limited' })
    const next = costs.acquire('ten_1', 1_000)
    client.abort()
    await Promise.all([remaining, next])
  })

  test('queues at most 100 requests per tenant', async () => {
    const { settled, enter } = track(new ConcurrentCosts())
    await enter('first', maxCost)
    const waiting = Array.from({ length: 100 }, (_, at) => enter(String(at), 1_001).catch(() => {}))
    await expect(enter('last', 1_001)).rejects.toMatchObject({ code: 'rate_limited' })
    expect(settled).toEqual(['first', 'last rate_limited'])
    await jest.advanceTimersByTimeAsync(5_000)
    await Promise.all(waiting)
  })
})

describe('root fields of a GraphQL request', () => {
  const started = async (value: number) => {
    const cost = new RequestCost()
    cost.value = value
    const log: string[] = []
    const finish: (() => void)[] = []
    const fields = ['a', 'b'].map((field) =>
      cost.executeSequentially(async () => {
        log.push(field)
        await new Promise<void>((resolve) => finish.push(resolve))
        if (field === 'a') throw new Error(field)
      }),
    )
    const [first, second] = [expect(fields[0]).rejects.toThrow('a'), fields[1]]
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    for (let turns = 0; turns < 5; turns++) await turn()
    const before = [...log]
    finish[0]!()
    await first
    for (let turns = 0; turns < 5; turns++) await turn()
    finish[1]!()
    await second
    return { before, log }
  }

  test('executes the root fields of an expensive GraphQL request one after another', async () => {
    expect(await started(1_001)).toEqual({ before: ['a'], log: ['a', 'b'] })
  })

  test('executes the root fields of a cheap GraphQL request concurrently', async () => {
    expect((await started(1_000)).before).toEqual(['a', 'b'])
  })
})
