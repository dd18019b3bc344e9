import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { dataOf, faultyFields } from '../support/answers.js'
import { awayFromMidnight, awayFromMidnightMs } from '../support/clock.js'
import { eicar } from '../support/eicar.js'
import { seeded } from '../support/samples/archive.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

const hour = 3_600_000
const day = 24 * hour
let world: World
beforeAll(async () => {
  await awayFromMidnight()
  world = await World.open()
}, awayFromMidnightMs)
afterAll(() => world.close())

const noCalls = { upload: 0, download: 0, metadata: 0, delete: 0 }
const stats = async (caller: Caller) => dataOf(await caller.get('/stats'))

test('a tenant without anything has every section, every member, and zeros', async () => {
  const tenant = await world.tenant()
  const user = await tenant.user(['metadata'])
  expect(await stats(user)).toEqual({
    overview: { total_files: 0, total_contexts: 0, total_api_keys: 1, total_downloads: 0 },
    api_calls: {
      today: 0,
      yesterday: 0,
      change_percent: 0,
      by_operation: noCalls,
      by_status: { success: 0, failure: 0 },
    },
    storage: { total_bytes: 0, total_formatted: '0 B', by_context: [] },
    storage_quota: {
      quota_mb: 102_400,
      used_bytes: 0,
      used_formatted: '0 B',
      used_percent: 0,
      remaining_bytes: 102_400 * 1_048_576,
      remaining_formatted: '100 GB',
    },
    files_uploaded: { total: 0, today: 0, yesterday: 0, change_percent: 0 },
    security: {
      files_blocked_total: 0,
      blocked_today: 0,
      blocked_yesterday: 0,
      change_percent: 0,
      by_reason: { blank_file: 0, corrupt_file: 0, virus_detected: 0, invalid_extension: 0, size_exceeded: 0 },
    },
  })
})

test('what was done is counted where the contract says', async () => {
  const tenant = await world.tenant({ quotaMb: 1 })
  const key = await tenant.key(['upload', 'download', 'metadata', 'delete'])
  for (const contextKey of ['a', 'b', 'c', 'd']) await tenant.context(contextKey, { display_name: contextKey.toUpperCase() })
  const file = (await key.upload('a', 'x.txt', 'x'.repeat(1_536))).body.data.file_id
  await key.upload('b', 'x.txt', 'x'.repeat(100))
  await key.upload('b', 'y.txt', 'x'.repeat(100))
  await key.upload('c', 'x.txt', 'x'.repeat(50))
  const gone = (await key.upload('d', 'x.txt', 'x'.repeat(10))).body.data.file_id
  await key.delete(`/files/${gone}`)
  await key.get(`/files/${file}`)
  await key.get(`/files/${file}`)
  await key.get(`/files/${file}/metadata`)
  await key.upload('a', 'x.exe', 'x')
  await key.upload('a', 'x.txt', eicar)
  const user = await tenant.user(['metadata', 'upload'])
  await user.upload('c', 'u.txt', 'x'.repeat(14))
  await user.upload('c', 'u.txt', '')
  expect(await stats(user)).toEqual({
    overview: { total_files: 5, total_contexts: 4, total_api_keys: 2, total_downloads: 2 },
    api_calls: {
      today: 11,
      yesterday: 0,
      change_percent: 100,
      by_operation: { upload: 7, download: 2, metadata: 1, delete: 1 },
      by_status: { success: 9, failure: 2 },
    },
    storage: {
      total_bytes: 1_800,
      total_formatted: '1.76 KB',
      by_context: [
        { context_key: 'a', context_name: 'A', count: 1, total_bytes: 1_536 },
        { context_key: 'b', context_name: 'B', count: 2, total_bytes: 200 },
        { context_key: 'c', context_name: 'C', count: 2, total_bytes: 64 },
      ],
    },
    storage_quota: {
      quota_mb: 1,
      used_bytes: 1_800,
      used_formatted: '1.76 KB',
      used_percent: 0.17,
      remaining_bytes: 1_048_576 - 1_800,
      remaining_formatted: '1022.24 KB',
    },
    files_uploaded: { total: 6, today: 6, yesterday: 0, change_percent: 100 },
    security: {
      files_blocked_total: 3,
      blocked_today: 3,
      blocked_yesterday: 0,
      change_percent: 100,
      by_reason: { blank_file: 1, corrupt_file: 0, virus_detected: 1, invalid_extension: 1, size_exceeded: 0 },
    },
  })
  expect(dataOf(await user.get('/stats/by-context/files'))).toEqual([
    { context_key: 'a', context_name: 'A', file_count: 1, total_bytes: 1_536, total_formatted: '1.5 KB' },
    { context_key: 'b', context_name: 'B', file_count: 2, total_bytes: 200, total_formatted: '200 B' },
    { context_key: 'c', context_name: 'C', file_count: 2, total_bytes: 64, total_formatted: '64 B' },
    { context_key: 'd', context_name: 'D', file_count: 0, total_bytes: 0, total_formatted: '0 B' },
  ])
  const calls = (operations: Partial<typeof noCalls>) => ({ ...noCalls, ...operations })
  expect(dataOf(await user.get('/stats/by-context/api-calls'))).toEqual([
    {
      context_key: 'a',
      context_name: 'A',
      total: 6,
      success: 4,
      failure: 2,
      by_operation: calls({ upload: 3, download: 2, metadata: 1 }),
    },
    { context_key: 'd', context_name: 'D', total: 2, success: 2, failure: 0, by_operation: calls({ upload: 1, delete: 1 }) },
    { context_key: 'b', context_name: 'B', total: 2, success: 2, failure: 0, by_operation: calls({ upload: 2 }) },
    { context_key: 'c', context_name: 'C', total: 1, success: 1, failure: 0, by_operation: calls({ upload: 1 }) },
  ])
})

test('today against yesterday, and what is older only in the totals', async () => {
  const tenant = await world.tenant()
  const user = await tenant.user(['metadata'])
  await count(tenant, -1, { upload_success: 3, metadata_failure: 5, files_uploaded: 4, blank_file: 1, virus_detected: 2 })
  await count(tenant, -2, { upload_success: 50, files_uploaded: 60, corrupt_file: 70 })
  await count(tenant, 0, { metadata_success: 9, files_uploaded: 1, size_exceeded: 2 })
  const { api_calls, files_uploaded, security } = await stats(user)
  expect(api_calls).toMatchObject({
    today: 9,
    yesterday: 8,
    change_percent: 12.5,
    by_operation: { ...noCalls, metadata: 9 },
    by_status: { success: 9, failure: 0 },
  })
  expect(files_uploaded).toEqual({ total: 65, today: 1, yesterday: 4, change_percent: -75 })
  expect(security).toEqual({
    files_blocked_total: 75,
    blocked_today: 2,
    blocked_yesterday: 3,
    change_percent: -33.3,
    by_reason: { blank_file: 1, corrupt_file: 70, virus_detected: 2, invalid_extension: 0, size_exceeded: 2 },
  })
})

test('sums beyond 2^32 and 2^31 are exact', async () => {
  const tenant = await world.tenant()
  const user = await tenant.user(['metadata'])
  const huge = 9_007_199_254_740_991 - 1
  await count(tenant, 0, { upload_success: 5_000_000_000, files_uploaded: 5_000_000_000, bytes_uploaded: huge })
  const { api_calls, files_uploaded } = await stats(user)
  expect([api_calls.today, files_uploaded.total]).toEqual([5_000_000_000, 5_000_000_000])
  const points = dataOf(await user.get('/stats/charts/uploads')).data_points
  expect(points.at(-1)).toMatchObject({ count: 5_000_000_000, total_bytes: huge })
})

describe('charts', () => {
  let tenant: TestTenant
  let user: Caller
  beforeAll(async () => {
    tenant = await world.tenant()
    user = await tenant.user(['metadata'])
    await count(tenant, 0, { upload_success: 1, files_uploaded: 1, bytes_uploaded: 10 })
    await count(tenant, -1, { download_success: 2, delete_failure: 1, files_uploaded: 2, bytes_uploaded: 20 })
    await count(tenant, -8, { metadata_success: 4, files_uploaded: 4, bytes_uploaded: 40, files_deleted: 1, bytes_deleted: 5 })
    await world.database.pool.query(
      "UPDATE file_totals SET files = 6, bytes = 65 WHERE tenant_id = $1 AND context_id = '' AND uploaded_by = ''",
      [tenant.tenantId],
    )
  })
  interface Point {
    timestamp: string
    total: number
    count: number
    total_bytes: number
    files_count: number
  }
  const chart = async (name: string, query = '') => {
    const data = dataOf(await user.get(`/stats/charts/${name}${query}`))
    expect(Object.keys(data).sort()).toEqual(['data_points', 'period'])
    return data as { period: string; data_points: Point[] }
  }
  const startOf = (step: number, back = 0) => new Date(Math.floor(Date.now() / step) * step - back * step).toISOString()
  const monday = (moment: number) => {
    const midnight = Math.floor(moment / day) * day
    return midnight - ((new Date(midnight).getUTCDay() + 6) % 7) * day
  }

  test.each(['api-calls', 'storage', 'uploads'])('%s: seven days unless told otherwise, the current one last', async (name) => {
    const { period, data_points } = await chart(name)
    expect(period).toBe('daily')
    expect(data_points.map(({ timestamp }) => timestamp)).toEqual([6, 5, 4, 3, 2, 1, 0].map((back) => startOf(day, back)))
    expect((await chart(name, '?days=1')).data_points).toEqual([data_points.at(-1)])
    expect((await chart(name, '?days=365&period=daily')).data_points).toHaveLength(365)
  })

  test.each(['api-calls', 'uploads'])('%s by hours', async (name) => {
    const { period, data_points } = await chart(name, '?period=hourly')
    expect(period).toBe('hourly')
    expect(data_points).toHaveLength(7 * 24)
    data_points.forEach(({ timestamp }, index) => {
      expect(timestamp).toBe(startOf(hour, data_points.length - 1 - index))
    })
    expect((await chart(name, '?period=hourly&days=2')).data_points).toHaveLength(48)
  })

  test.each(['api-calls', 'storage', 'uploads'])('%s by weeks, which start on Monday: thirty days of them', async (name) => {
    const { period, data_points } = await chart(name, '?period=weekly')
    expect(period).toBe('weekly')
    const first = monday(Date.now() - 29 * day)
    const last = monday(Date.now())
    const expected = Array.from({ length: (last - first) / (7 * day) + 1 }, (_, index) =>
      new Date(first + index * 7 * day).toISOString(),
    )
    expect(data_points.map(({ timestamp }) => timestamp)).toEqual(expected)
    for (const { timestamp } of data_points) expect(new Date(timestamp).getUTCDay()).toBe(1)
  })

  test('calls by outcome and operation, zero where nothing happened', async () => {
    const { data_points } = await chart('api-calls', '?days=9')
    const nothing = { total: 0, success: 0, failure: 0, by_operation: noCalls }
    expect(data_points.map((point) => ({ ...point, timestamp: undefined }))).toEqual([
      { total: 4, success: 4, failure: 0, by_operation: { ...noCalls, metadata: 4 } },
      ...Array.from({ length: 6 }, () => nothing),
      { total: 3, success: 2, failure: 1, by_operation: { ...noCalls, download: 2, delete: 1 } },
      { total: 1, success: 1, failure: 0, by_operation: { ...noCalls, upload: 1 } },
    ])
  })

  test('uploads and their bytes', async () => {
    const { data_points } = await chart('uploads', '?days=9')
    expect(data_points.map(({ count: files, total_bytes }) => [files, total_bytes])).toEqual([
      [4, 40],
      ...Array.from({ length: 6 }, () => [0, 0]),
      [2, 20],
      [1, 10],
    ])
    expect(Object.keys(data_points[0]!).sort()).toEqual(['count', 'timestamp', 'total_bytes'])
  })

  test('storage is the state at the bucket’s end', async () => {
    const { data_points } = await chart('storage', '?days=10')
    expect(data_points.map(({ files_count, total_bytes }) => [files_count, total_bytes])).toEqual([
      [0, 0],
      ...Array.from({ length: 7 }, () => [3, 35]),
      [5, 55],
      [6, 65],
    ])
    expect(Object.keys(data_points[0]!).sort()).toEqual(['files_count', 'timestamp', 'total_bytes'])
  })

  test('the weeks and the hours add up to the days', async () => {
    const sum = (points: Point[]) => points.reduce((all, { total }) => all + total, 0)
    const weeks = (await chart('api-calls', '?period=weekly')).data_points
    expect(sum(weeks)).toBe(8)
    const hours = (await chart('api-calls', '?period=hourly&days=10')).data_points
    expect(sum(hours)).toBe(8)
  })

  const faulty: [string, string, string[]][] = [
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
  test.each(faulty)('%s?%s is 400', async (name, query, fields) => {
    expect(faultyFields(await user.get(`/stats/charts/${name}?${query}`))).toEqual(fields)
  })
})

test('after a random mix every count equals its recount', async () => {
  const tenant = await world.tenant({ quotaMb: 1 })
  for (const contextKey of ['one', 'two']) await tenant.context(contextKey, { storage_quota_mb: 1 })
  const keys = [
    await tenant.key(['upload', 'download', 'metadata', 'delete'], { name: 'k0' }),
    await tenant.key(['upload', 'delete'], { name: 'k1' }),
    await tenant.user(['upload', 'download', 'metadata', 'delete']),
  ]
  const below = seeded(20_261_120)
  const pick = <T>(items: readonly T[]): T => items[below(items.length)]!
  const held: string[] = []
  const act = async () => {
    const caller = pick(keys)
    const contextKey = pick(['one', 'two', 'three'])
    switch (below(8)) {
      case 0:
        return caller.upload(contextKey, 'x.exe', 'x')
      case 1:
        return caller.upload(contextKey, 'x.txt', pick(['', eicar]))
      case 2:
        return caller.get(`/files/${pick([...held, 'file_x'])}`)
      case 3:
        return caller.delete(`/files/${pick([...held, 'file_x'])}`)
      case 4:
        return caller.get(pick(['/files', '/files?page=x', '/stats', '/files?context=one']))
      case 5:
        return caller.upload(contextKey, 'x.txt', 'x'.repeat(200_000))
      default: {
        const { status, body } = await caller.upload(contextKey, 'x.txt', 'x'.repeat(1 + below(1_000)))
        if (status === 201) held.push(body.data.file_id)
        return undefined
      }
    }
  }
  for (let round = 0; round < 15; round++) await Promise.all(Array.from({ length: 10 }, act))
  expect(await world.app.services.storageHealth.verify({ tenantId: tenant.tenantId, deep: true })).toEqual({
    countersDrift: 0,
    filesWithoutBlob: 0,
    blobsWithoutFile: 0,
    corrupted: 0,
  })
  const reader = keys[2]!
  const { api_calls, storage, overview, files_uploaded, security } = await stats(reader)
  const { rows } = await world.database.pool.query(
    `SELECT (SELECT count(*)::int FROM call_logs WHERE tenant_id = $1) AS calls,
       (SELECT count(*)::int FROM call_logs WHERE tenant_id = $1 AND status = 'failure') AS failures,
       (SELECT count(*)::int FROM files WHERE tenant_id = $1) AS files, (SELECT coalesce(sum(size_bytes), 0)::int FROM files WHERE tenant_id = $1) AS bytes,
       (SELECT count(*)::int FROM audit_logs WHERE tenant_id = $1 AND audit_type = 'file' AND action = 'created') AS uploaded,
       (SELECT count(*)::int FROM audit_logs WHERE tenant_id = $1 AND audit_type = 'file' AND action = 'deleted') AS deleted`,
    [tenant.tenantId],
  )
  const counted = rows[0]
  expect(api_calls.today + api_calls.yesterday).toBe(counted.calls)
  if (api_calls.yesterday === 0) expect(api_calls.by_status.failure).toBe(counted.failures)
  expect([overview.total_files, storage.total_bytes, files_uploaded.total]).toEqual([
    counted.files,
    counted.bytes,
    counted.uploaded,
  ])
  expect(counted.uploaded - counted.deleted).toBe(counted.files)
  const sum = (parts: object) => Object.values(parts).reduce((all: number, part) => all + Number(part), 0)
  expect([sum(api_calls.by_operation), sum(api_calls.by_status)]).toEqual([api_calls.today, api_calls.today])
  expect(sum(security.by_reason)).toBe(security.files_blocked_total)
  for (const query of ['', 'operation=upload', 'status=failure', `api_key_id=${keys[1]!.id}`]) {
    const page = dataOf(await reader.get(`/stats/logs?${query}&page_size=100`))
    const second = dataOf(await reader.get(`/stats/logs?${query}&page_size=100&page=2`))
    expect(page.data.length + second.data.length).toBe(page.pagination.total_items)
  }
})

/** Counters of another day, as the ledger would have left them. */
async function count(tenant: TestTenant, days: number, columns: Record<string, number>) {
  const at = new Date(Math.floor(Date.now() / hour) * hour + days * day).toISOString()
  const names = Object.keys(columns)
  for (const [grain, bucket] of [
    ['hour', at],
    ['day', `${at.slice(0, 10)}T00:00:00Z`],
    ['total', '1970-01-01T00:00:00Z'],
  ])
    await world.database.pool.query(
      `INSERT INTO usage_counters AS u (tenant_id, subject, grain, bucket, ${names.join(', ')}) VALUES ($1, '', $2::usage_grain, $3, ${Object.values(columns).join(', ')})
       ON CONFLICT (tenant_id, subject, grain, bucket) DO UPDATE SET ${names.map((name) => `${name} = u.${name} + excluded.${name}`).join(', ')}`,
      [tenant.tenantId, grain, bucket],
    )
}
