import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { deleteExpiredLogs, LogStartTimes } from '../../src/features/maintenance/retention.js'
import { getCurrentTime } from '../../src/platform/clock.js'
import { getData } from '../support/response-assertions.js'
import { shiftSystemClock } from '../support/system-clock.js'
import { type TestTenant, World } from '../support/world.js'

const day = 86_400_000
let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('notes')
})
afterEach(() => shiftSystemClock(0))
afterAll(() => world.close())

const uploaded = async () => {
  const { file_id } = (await tenant.admin.upload('notes', 'a.txt', 'hello')).body.data
  return getData(await tenant.admin.get(`/files/${file_id}/metadata`))
}

test.each([
  ['nine years ahead', 9 * 365 * day],
  ['two days ahead', 2 * day],
  ['three hours behind', -day / 8],
])('returns the same results after the system clock jumps (%s)', async (_name, leap) => {
  shiftSystemClock(leap)
  expect((await tenant.admin.get('/files/file_00000000000000000000000000')).status).toBe(404)
  const during = await uploaded()
  shiftSystemClock(0)
  const after = await uploaded()
  for (const { created_at } of [during, after]) expect(Math.abs(Date.parse(created_at) - Date.now())).toBeLessThan(day / 24)
  const { rows } = await world.database.pool.query<{ ahead: number }>(
    `SELECT count(*)::int AS ahead FROM call_logs WHERE created_at > now() + interval '1 hour'`,
  )
  expect(rows).toEqual([{ ahead: 0 }])
})

test('uses the database clock for key expiry and retention', async () => {
  const key = await tenant.createKey(['metadata'], { expires_in_days: 1 })
  await key.get('/files')
  shiftSystemClock(400 * day)
  expect((await key.get('/files')).status).toBe(200)
  const horizons = await LogStartTimes.open(world.database.pool, { calls: 30, audits: 30 })
  expect(await deleteExpiredLogs(world.database.pool, horizons)).toEqual({ partitions: [], rows: 0 })
  expect(Math.abs(getCurrentTime().getTime() + 400 * day - Date.now())).toBeLessThan(day)
})

test('reports a difference of more than five seconds between the service clock and the database clock', async () => {
  const probed = await World.open({}, world)
  try {
    shiftSystemClock(7_200_000)
    const response = await probed.unauthenticated.raw('/health/ready')
    expect(response.status).toBe(200)
    expect(probed.log.lines.some((line) => line.includes('A dependency is down') && line.includes('clock'))).toBe(true)
    expect(response.body.checks.clock).toEqual({
      status: 'degraded',
      reason: expect.stringMatching(
        /^This machine's clock is 7(199|200)\.\d s ahead of the database clock\. Synchronize both clocks with NTP\.$/,
      ),
    })
  } finally {
    shiftSystemClock(0)
    await probed.close()
  }
  expect((await world.unauthenticated.raw('/health/ready')).body.checks.clock).toEqual({ status: 'up' })
})
