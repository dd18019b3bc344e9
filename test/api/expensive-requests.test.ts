import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { runInOneWindow } from '../support/clock.js'
import { toStatusAndCode } from '../support/response-assertions.js'
import { type Caller, World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open()
})
afterAll(() => world.close())

const yearByHour = '/stats/charts/api-calls?period=hourly&days=365'
const files = 'files(pageSize: 100) { data { fileId validation { checks { check outcome message evidence durationMs } } } }'
// Cost of 100 files with five checks of five fields each.
const filesCost = 1 + 100 * (1 + 1 + (1 + 1 + 5 * 5))
const createDocument = (fields: number) => `{ ${Array.from({ length: fields }, (_, at) => `f${at}: ${files}`).join(' ')} }`
const getRemaining = ({ headers }: { headers: Headers }) => Number(/r=(\d+)/.exec(headers.get('ratelimit')!)![1])

describe('request cost and the rate limit', () => {
  let limited: World
  beforeAll(async () => {
    limited = await World.open({ RATE_LIMIT_PER_MINUTE: '170' }, world)
  })
  afterAll(() => limited.close())
  const parseKeyCursor = async (scopes = ['metadata']) =>
    limited.createCaller((await (await world.createTenant()).createKey(scopes)).credential)

  test('counts an expensive GraphQL document as several calls', () =>
    runInOneWindow(60, async () => {
      const key = await parseKeyCursor()
      expect(getRemaining(await key.get('/files?page_size=100'))).toBe(169)
      // The request counts as ten calls plus one per 500 cost units above 3,000.
      const extra = Math.ceil((10 * filesCost - 3_000) / 500)
      const accepted = await key.graphql(createDocument(10))
      expect(accepted.body.errors).toBeUndefined()
      expect(getRemaining(await key.get('/files'))).toBe(168 - 10 - extra)
      await key.graphql(createDocument(10))
      const rejected = await key.graphql(createDocument(10))
      expect(Object.values(rejected.body.data)).toEqual(Array(10).fill(null))
      expect(rejected.body.errors).toHaveLength(10)
      expect(rejected.body.errors[0]).toMatchObject({
        message: expect.stringMatching(
          new RegExp(`cost of ${10 * filesCost}, which counts as ${extra} calls.* of 170 calls per minute`),
        ),
        extensions: { code: 'RATE_LIMITED', details: { cost: 10 * filesCost, calls: extra, limit: 170 } },
      })
      expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await key.get('/files')).status).toBe(200)
    }))

  test('counts a request for an hourly chart of one year as several calls', () =>
    runInOneWindow(60, async () => {
      const key = await parseKeyCursor()
      for (let chart = 0; chart < 2; chart++) expect((await key.get(yearByHour)).status).toBe(200)
      const rejected = await key.get(yearByHour)
      expect(toStatusAndCode(rejected)).toEqual([429, 'rate_limited'])
      expect(rejected.body.message).toMatch(/cost of 43801, which counts as 82 calls.* of 170 calls per minute/)
      expect(rejected.body.error.details).toMatchObject({ cost: 43_801, calls: 82, limit: 170 })
      expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await key.get('/files')).status).toBe(200)
    }))

  test('never counts a single request as more than half of the rate limit', () =>
    runInOneWindow(60, async () => {
      const low = await World.open({ RATE_LIMIT_PER_MINUTE: '20' }, world)
      try {
        const key = low.createCaller((await (await world.createTenant()).createKey(['metadata'])).credential)
        const accepted = await key.get(yearByHour)
        expect([accepted.status, getRemaining(accepted)]).toEqual([200, 9])
        expect(toStatusAndCode(await key.get(yearByHour))).toEqual([429, 'rate_limited'])
      } finally {
        await low.close()
      }
    }))
})

describe("one tenant's expensive requests", () => {
  /** Replaces chart queries with pending ones that the test completes. */
  function holdCharts() {
    const { stats } = world.app.services
    const { getApiCallsChart: apiCalls } = stats
    const held: (() => void)[] = []
    let arrived = () => {}
    stats.getApiCallsChart = async () => {
      await new Promise<void>((release) => {
        held.push(release)
        arrived()
      })
      return { period: 'hourly' as never, dataPoints: [] }
    }
    return {
      held,
      next: (count: number) =>
        new Promise<void>((resolve) => {
          arrived = () => {
            if (held.length >= count) resolve()
          }
          arrived()
        }),
      restore: () => {
        stats.getApiCallsChart = apiCalls
      },
    }
  }
  const chartBy: Record<string, (caller: Caller) => Promise<{ status: number; body: { errors?: unknown } }>> = {
    REST: (caller) => caller.get(yearByHour),
    GraphQL: (caller) => caller.graphql('{ apiCallsChart(period: hourly, days: 365) { dataPoints { total } } }'),
  }

  test.each(Object.keys(chartBy))(
    "queues a tenant's expensive requests over %s without delaying other requests",
    async (door) => {
      const [tenant, other] = [await world.createTenant(), await world.createTenant()]
      const charts = holdCharts()
      try {
        const first = chartBy[door]!(tenant.admin)
        await charts.next(1)
        const second = chartBy[door]!(tenant.admin)
        const third = chartBy[door]!(other.admin)
        await charts.next(2)
        expect((await tenant.admin.get('/files')).status).toBe(200)
        expect(charts.held).toHaveLength(2)
        charts.held[0]!()
        await charts.next(3)
        for (const release of charts.held) release()
        for (const { status, body } of await Promise.all([first, second, third])) {
          expect(status).toBe(200)
          expect(body.errors).toBeUndefined()
        }
      } finally {
        charts.restore()
      }
    },
  )
})
