import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { seeded } from '../../packages/formats/test/support/samples/archive.js'
import { avoidMidnight, avoidMidnightMs } from '../support/clock.js'
import { eicar } from '../support/eicar.js'
import { getData } from '../support/response-assertions.js'
import { insertUsage } from '../support/usage-counters.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
beforeAll(async () => {
  await avoidMidnight()
  world = await World.open()
}, avoidMidnightMs)
afterAll(() => world.close())

const noCalls = { upload: 0, download: 0, metadata: 0, delete: 0 }
const getStats = async (caller: Caller) => getData(await caller.get('/stats'))
const count = (tenant: TestTenant, days: number, columns: Record<string, number>) => insertUsage(world, tenant, days, columns)

test('returns zero for every documented statistic of a new tenant', async () => {
  const tenant = await world.createTenant()
  const user = await tenant.createUser(['metadata'])
  expect(await getStats(user)).toEqual({
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

test('counts each action in the statistics as documented', async () => {
  const tenant = await world.createTenant({ quotaMb: 1 })
  const key = await tenant.createKey(['upload', 'download', 'metadata', 'delete'])
  for (const contextKey of ['a', 'b', 'c', 'd'])
    await tenant.createContext(contextKey, { display_name: contextKey.toUpperCase() })
  const file = (await key.upload('a', 'x.txt', 'x'.repeat(1_536))).body.data.file_id
  await key.upload('b', 'x.txt', 'x'.repeat(100))
  await key.upload('b', 'y.txt', 'x'.repeat(100))
  await key.upload('c', 'x.txt', 'x'.repeat(50))
  const deletedFile = (await key.upload('d', 'x.txt', 'x'.repeat(10))).body.data.file_id
  await key.delete(`/files/${deletedFile}`)
  await key.get(`/files/${file}`)
  await key.get(`/files/${file}`)
  await key.get(`/files/${file}/metadata`)
  await key.upload('a', 'x.exe', 'x')
  await key.upload('a', 'x.txt', eicar)
  const user = await tenant.createUser(['metadata', 'upload'])
  await user.upload('c', 'u.txt', 'x'.repeat(14))
  await user.upload('c', 'u.txt', '')
  expect(await getStats(user)).toEqual({
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
  expect(getData(await user.get('/stats/by-context/files'))).toEqual([
    { context_key: 'a', context_name: 'A', file_count: 1, total_bytes: 1_536, total_formatted: '1.5 KB' },
    { context_key: 'b', context_name: 'B', file_count: 2, total_bytes: 200, total_formatted: '200 B' },
    { context_key: 'c', context_name: 'C', file_count: 2, total_bytes: 64, total_formatted: '64 B' },
    { context_key: 'd', context_name: 'D', file_count: 0, total_bytes: 0, total_formatted: '0 B' },
  ])
  const calls = (operations: Partial<typeof noCalls>) => ({ ...noCalls, ...operations })
  expect(getData(await user.get('/stats/by-context/api-calls'))).toEqual([
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

test("compares today's statistics with yesterday's", async () => {
  const tenant = await world.createTenant()
  const user = await tenant.createUser(['metadata'])
  await count(tenant, -1, { upload_success: 3, metadata_failure: 5, files_uploaded: 4, blank_file: 1, virus_detected: 2 })
  await count(tenant, -2, { upload_success: 50, files_uploaded: 60, corrupt_file: 70 })
  await count(tenant, 0, { metadata_success: 9, files_uploaded: 1, size_exceeded: 2 })
  const { api_calls, files_uploaded, security } = await getStats(user)
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

test('returns exact totals above 2^31 and above 2^32', async () => {
  const tenant = await world.createTenant()
  const user = await tenant.createUser(['metadata'])
  const huge = 9_007_199_254_740_991 - 1
  await count(tenant, 0, { upload_success: 5_000_000_000, files_uploaded: 5_000_000_000, bytes_uploaded: huge })
  const { api_calls, files_uploaded } = await getStats(user)
  expect([api_calls.today, files_uploaded.total]).toEqual([5_000_000_000, 5_000_000_000])
  const points = getData(await user.get('/stats/charts/uploads')).data_points
  expect(points.at(-1)).toMatchObject({ count: 5_000_000_000, total_bytes: huge })
})

test('returns statistics that equal a recount after random calls', async () => {
  const tenant = await world.createTenant({ quotaMb: 1 })
  for (const contextKey of ['one', 'two']) await tenant.createContext(contextKey, { storage_quota_mb: 1 })
  const keys = [
    await tenant.createKey(['upload', 'download', 'metadata', 'delete'], { name: 'k0' }),
    await tenant.createKey(['upload', 'delete'], { name: 'k1' }),
    await tenant.createUser(['upload', 'download', 'metadata', 'delete']),
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
  expect(await world.app.services.storageHealth.verify({ tenantId: tenant.tenantId, readBlobs: true })).toEqual({
    countersDrift: 0,
    filesWithoutBlob: 0,
    blobsWithoutFile: 0,
    corrupted: 0,
    journalDrift: 0,
  })
  const reader = keys[2]!
  const { api_calls, storage, overview, files_uploaded, security } = await getStats(reader)
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
    const page = getData(await reader.get(`/stats/logs?${query}&page_size=100`))
    const second = getData(await reader.get(`/stats/logs?${query}&page_size=100&page=2`))
    expect(page.data.length + second.data.length).toBe(page.pagination.total_items)
  }
})
