import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { avoidMidnight, avoidMidnightMs, runInOneWindow } from '../support/clock.js'
import { getData, getInvalidFields } from '../support/response-assertions.js'
import { insertUsage } from '../support/usage-counters.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

const hour = 3_600_000
const day = 24 * hour
let world: World
beforeAll(async () => {
  await avoidMidnight()
  world = await World.open()
}, avoidMidnightMs)
afterAll(() => world.close())

const noCalls = { upload: 0, download: 0, metadata: 0, delete: 0 }
const count = (tenant: TestTenant, days: number, columns: Record<string, number>) => insertUsage(world, tenant, days, columns)

describe('statistics charts', () => {
  let tenant: TestTenant
  let user: Caller
  beforeAll(async () => {
    tenant = await world.createTenant()
    user = await tenant.createUser(['metadata'])
    await count(tenant, 0, { upload_success: 1, files_uploaded: 1, bytes_uploaded: 10 })
    await count(tenant, -1, { download_success: 2, delete_failure: 1, files_uploaded: 2, bytes_uploaded: 20 })
    await count(tenant, -8, { metadata_success: 4, files_uploaded: 4, bytes_uploaded: 40, files_deleted: 1, bytes_deleted: 5 })
    await world.database.pool.query('UPDATE tenant_heads SET files = 6, bytes = 65 WHERE tenant_id = $1', [tenant.tenantId])
  })
  interface Point {
    timestamp: string
    total: number
    count: number
    total_bytes: number
    files_count: number
  }
  const chart = async (name: string, query = '') => {
    const data = getData(await user.get(`/stats/charts/${name}${query}`))
    expect(Object.keys(data).sort()).toEqual(['data_points', 'period'])
    return data as { period: string; data_points: Point[] }
  }
  const startOf = (step: number, back = 0) => new Date(Math.floor(Date.now() / step) * step - back * step).toISOString()
  const monday = (time: number) => {
    const midnight = Math.floor(time / day) * day
    return midnight - ((new Date(midnight).getUTCDay() + 6) % 7) * day
  }

  test.each(['api-calls', 'storage', 'uploads'])(
    'covers seven days in the chart of %s by default, ending with the current day',
    async (name) => {
      const { period, data_points } = await chart(name)
      expect(period).toBe('daily')
      expect(data_points.map(({ timestamp }) => timestamp)).toEqual([6, 5, 4, 3, 2, 1, 0].map((back) => startOf(day, back)))
      expect((await chart(name, '?days=1')).data_points).toEqual([data_points.at(-1)])
      expect((await chart(name, '?days=365&period=daily')).data_points).toHaveLength(365)
    },
  )

  test.each(['api-calls', 'uploads'])('returns hourly points in the chart of %s', async (name) => {
    await runInOneWindow(hour / 1000, async () => {
      const { period, data_points } = await chart(name, '?period=hourly')
      expect(period).toBe('hourly')
      expect(data_points).toHaveLength(7 * 24)
      data_points.forEach(({ timestamp }, index) => {
        expect(timestamp).toBe(startOf(hour, data_points.length - 1 - index))
      })
    })
    expect((await chart(name, '?period=hourly&days=2')).data_points).toHaveLength(48)
  })

  test.each(['api-calls', 'storage', 'uploads'])(
    'covers thirty days in the weekly chart of %s, with weeks that start on Monday',
    async (name) => {
      const { period, data_points } = await chart(name, '?period=weekly')
      expect(period).toBe('weekly')
      const first = monday(Date.now() - 29 * day)
      const last = monday(Date.now())
      const expected = Array.from({ length: (last - first) / (7 * day) + 1 }, (_, index) =>
        new Date(first + index * 7 * day).toISOString(),
      )
      expect(data_points.map(({ timestamp }) => timestamp)).toEqual(expected)
      for (const { timestamp } of data_points) expect(new Date(timestamp).getUTCDay()).toBe(1)
    },
  )

  test('counts calls by outcome and operation in the calls chart, including zeros', async () => {
    const { data_points } = await chart('api-calls', '?days=9')
    const nothing = { total: 0, success: 0, failure: 0, by_operation: noCalls }
    expect(data_points.map((point) => ({ ...point, timestamp: undefined }))).toEqual([
      { total: 4, success: 4, failure: 0, by_operation: { ...noCalls, metadata: 4 } },
      ...Array.from({ length: 6 }, () => nothing),
      { total: 3, success: 2, failure: 1, by_operation: { ...noCalls, download: 2, delete: 1 } },
      { total: 1, success: 1, failure: 0, by_operation: { ...noCalls, upload: 1 } },
    ])
  })

  test('returns the numbers of uploads and uploaded bytes in the uploads chart', async () => {
    const { data_points } = await chart('uploads', '?days=9')
    expect(data_points.map(({ count: files, total_bytes }) => [files, total_bytes])).toEqual([
      [4, 40],
      ...Array.from({ length: 6 }, () => [0, 0]),
      [2, 20],
      [1, 10],
    ])
    expect(Object.keys(data_points[0]!).sort()).toEqual(['count', 'timestamp', 'total_bytes'])
  })

  test('returns the number of stored files and bytes at the end of each interval in the storage chart', async () => {
    const { data_points } = await chart('storage', '?days=10')
    expect(data_points.map(({ files_count, total_bytes }) => [files_count, total_bytes])).toEqual([
      [0, 0],
      ...Array.from({ length: 7 }, () => [3, 35]),
      [5, 55],
      [6, 65],
    ])
    expect(Object.keys(data_points[0]!).sort()).toEqual(['files_count', 'timestamp', 'total_bytes'])
  })

  test('returns the same sums in weekly and hourly charts as in the daily chart', async () => {
    const sum = (points: Point[]) => points.reduce((all, { total }) => all + total, 0)
    const weeks = (await chart('api-calls', '?period=weekly')).data_points
    expect(sum(weeks)).toBe(8)
    const hours = (await chart('api-calls', '?period=hourly&days=10')).data_points
    expect(sum(hours)).toBe(8)
  })

  const invalidCases: [string, string, string[]][] = [
    ['api-calls', 'days=0', ['days']],
    ['api-calls', 'days=366', ['days']],
    ['api-calls', 'days=', ['days']],
    ['api-calls', 'days=1.5', ['days']],
    ['api-calls', 'days=-7', ['days']],
    ['api-calls', 'period=monthly', ['period']],
    ['api-calls', 'period=', ['period']],
    ['uploads', 'period=Daily&days=x', ['days', 'period']],
    ['storage', 'period=hourly', ['period']],
    ['storage', 'days=1&days=2', ['days']],
  ]
  test.each(invalidCases)('returns 400 for the chart request %s?%s', async (name, query, fields) => {
    expect(getInvalidFields(await user.get(`/stats/charts/${name}?${query}`))).toEqual(fields)
  })
})
