import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ensurePartitions } from '../../src/ledger/partitions.js'
import { getFirstId } from '../../src/platform/ids.js'
import { getData, getInvalidFields } from '../support/response-assertions.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open()
})
afterAll(() => world.close())

interface LoggedCall {
  call_id: string
  created_at: string
  operation: string
  status: string
}

describe('call log filters', () => {
  let tenant: TestTenant
  let one: Caller
  let two: Caller
  beforeAll(async () => {
    tenant = await world.createTenant()
    await tenant.createContext('notes')
    one = await tenant.createKey(['upload', 'download', 'metadata', 'delete'])
    two = await tenant.createKey(['upload'])
    await one.upload('notes', 'a.txt', 'x')
    await one.upload('notes', 'a.exe', 'x')
    await one.get('/files/file_x')
    await one.delete('/files/file_x')
    await two.upload('notes', 'a.txt', 'x')
    await two.get('/files')
  })
  // Queries as a user because users' requests are not logged as calls.
  const list = async (query: string) => {
    const user = await reader()
    const { data, pagination } = getData(await user.get(`/stats/logs?${query}`))
    expect(pagination.total_items).toBe(data.length)
    return data.map(({ operation, status }: LoggedCall) => `${operation} ${status}`)
  }
  let cached: Promise<Caller> | undefined
  const reader = () => (cached ??= tenant.createUser(['metadata']))

  test('filters the call log by one or more parameters', async () => {
    expect(await list('')).toEqual([
      'metadata failure',
      'upload success',
      'delete failure',
      'download failure',
      'upload failure',
      'upload success',
    ])
    expect(await list(`api_key_id=${two.id}`)).toEqual(['metadata failure', 'upload success'])
    expect(await list('operation=upload')).toEqual(['upload success', 'upload failure', 'upload success'])
    expect(await list('status=success')).toEqual(['upload success', 'upload success'])
    expect(await list(`api_key_id=${one.id}&operation=upload&status=failure`)).toEqual(['upload failure'])
    expect(await list(`api_key_id=${two.id}&operation=delete`)).toEqual([])
  })

  test('returns an empty call log for a malformed id', async () => {
    for (const id of ['x', 'key_00000000000000000000000000', '%00', tenant.tenantId, ''])
      expect(await list(`api_key_id=${id}`)).toEqual([])
  })

  test('returns 400 for invalid call log filters, and reports all of them together', async () => {
    const user = await reader()
    expect(
      getInvalidFields(await user.get('/stats/logs?operation=x&status=y&start_date=z&end_date=2026-13-01&page=a&page_size=0')),
    ).toEqual(['end_date', 'operation', 'page', 'page_size', 'start_date', 'status'])
    for (const date of [
      '',
      '2026',
      '20260101',
      '2026-01-01T25:00:00Z',
      '01.02.2026',
      '2026-02-30',
      '2026-01-01T00:00:00%2B99:00',
      '1767225600',
    ])
      expect(getInvalidFields(await user.get(`/stats/logs?start_date=${date}`))).toEqual(['start_date'])
  })
})

describe('call log date filters', () => {
  let tenant: TestTenant
  let key: Caller
  let user: Caller
  const timestamps = [
    '2026-03-01T00:00:00.000Z',
    '2026-03-01T12:30:15.250Z',
    '2026-03-01T12:30:15.251Z',
    '2026-03-01T23:59:59.999Z',
    '2026-03-02T00:00:00.000Z',
    '2026-03-02T05:00:00.000Z',
  ]
  beforeAll(async () => {
    tenant = await world.createTenant()
    key = await tenant.createKey(['metadata'])
    user = await tenant.createUser(['metadata'])
    await writeCalls(tenant, key, timestamps)
  })
  const times = async (query: string) => {
    const { data, pagination } = getData(await user.get(`/stats/logs?${query}`))
    expect(pagination.total_items).toBe(data.length)
    return data.map(({ created_at }: LoggedCall) => created_at).reverse()
  }

  test('treats both bounds of a call log date filter as inclusive, with millisecond precision', async () => {
    expect(await times('start_date=2026-03-01T12:30:15.250Z&end_date=2026-03-01T12:30:15.250Z')).toEqual([timestamps[1]])
    expect(await times('start_date=2026-03-01T12:30:15.251Z')).toEqual(timestamps.slice(2))
    expect(await times('end_date=2026-03-01T12:30:15.250Z')).toEqual(timestamps.slice(0, 2))
    expect(await times('start_date=2026-03-01T23:59:59.999Z&end_date=2026-03-02T00:00:00.000Z')).toEqual(timestamps.slice(3, 5))
  })

  test('includes the whole day if the upper bound of a date filter has no time', async () => {
    expect(await times('end_date=2026-03-01')).toEqual(timestamps.slice(0, 4))
    expect(await times('start_date=2026-03-02')).toEqual(timestamps.slice(4))
    expect(await times('start_date=2026-03-01&end_date=2026-03-01')).toEqual(timestamps.slice(0, 4))
    expect(await times('start_date=2026-03-02&end_date=2026-03-01')).toEqual([])
  })

  test('treats a log filter time without an offset as UTC', async () => {
    expect(await times('start_date=2026-03-02T02:00:00%2B02:00&end_date=2026-03-02T07:00:00%2B02:00')).toEqual(
      timestamps.slice(4),
    )
    expect(await times('start_date=2026-03-02T00:00:00.001')).toEqual(timestamps.slice(5))
    expect(await times('start_date=2026-03-02T05:00')).toEqual(timestamps.slice(5))
  })

  test('combines call log date filters with other filters', async () => {
    expect(await times(`end_date=2026-03-01&api_key_id=${key.id}&operation=metadata&status=success`)).toEqual(
      timestamps.slice(0, 4),
    )
    expect(await times('end_date=2026-03-01&status=failure')).toEqual([])
  })

  test('returns the pages of a date range in the call log without duplicates or gaps', async () => {
    const observed: string[] = []
    for (let page = 1; page <= 4; page++) {
      const { data, pagination } = getData(await user.get(`/stats/logs?page=${page}&page_size=2`))
      expect(pagination).toMatchObject({
        page,
        page_size: 2,
        total_items: 6,
        total_pages: 3,
        has_next: page < 3,
        has_previous: page > 1,
      })
      observed.push(...data.map(({ created_at }: LoggedCall) => created_at))
    }
    expect(observed.reverse()).toEqual(timestamps)
    expect(getData(await user.get('/stats/logs?page=2147483647&page_size=100')).data).toEqual([])
    const within = getData(await user.get('/stats/logs?page=2&page_size=3&end_date=2026-03-01')).data
    expect(within.map(({ created_at }: LoggedCall) => created_at)).toEqual([timestamps[0]])
  })
})

/** Inserts calls with past timestamps through the ledger statements. */
async function writeCalls(tenant: TestTenant, key: Caller, times: string[]) {
  const { pool } = world.database
  await ensurePartitions(
    pool,
    times.map((time) => new Date(`${time.slice(0, 7)}-01`)),
  )
  for (const time of times) {
    await pool.query(
      `INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, ip_address, user_agent, created_at)
       VALUES ($1, $2, $3, 'key', 'metadata', 'success', '127.0.0.1', '', $4)`,
      [getFirstId('call', new Date(time)), tenant.tenantId, key.id, time],
    )
    for (const subject of ['', key.id])
      for (const grain of ['hour', 'day', 'total'])
        await pool.query(
          `INSERT INTO usage_counters (tenant_id, subject, grain, bucket, metadata_success)
           VALUES ($1, $2, $3::text, CASE $3::text WHEN 'total' THEN to_timestamp(0) ELSE date_trunc($3::text, $4::timestamptz, 'UTC') END, 1)
           ON CONFLICT (tenant_id, subject, grain, bucket) DO UPDATE SET metadata_success = usage_counters.metadata_success + 1`,
          [tenant.tenantId, subject, grain, time],
        )
  }
}
