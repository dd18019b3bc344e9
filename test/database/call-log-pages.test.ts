import 'reflect-metadata'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { CallLogFilter } from '../../src/features/call-logs/call-log.service.js'
import { CallLogService } from '../../src/features/call-logs/call-log.service.js'
import type { CallLog } from '../../src/features/call-logs/call-log.types.js'
import { newId } from '../../src/platform/ids.js'
import { LedgerFixture, type SeededCall, seedCalls } from '../support/ledger-fixture.js'

const hour = 3_600_000
const day = 24 * hour
const now = new Date()
const keys = [newId('key'), newId('key'), newId('key')]

let fixture: LedgerFixture
let log: CallLogService
/** Rows that the pages must contain, newest first. */
let all: { callId: string; apiKeyId: string; operation: string; status: string; at: number }[]

// A fixed seed makes runs reproducible.
let seed = 20_261_121
const random = () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
  return seed / 2_147_483_648
}
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!

beforeAll(async () => {
  fixture = await LedgerFixture.open()
  const calls: SeededCall[] = []
  const midnight = Math.floor(now.getTime() / day) * day
  for (let index = 0; index < 1500; index++) {
    // Calls are spread over a year, dense on two days, and frequent at hour and day boundaries.
    const at =
      index % 3 === 0
        ? midnight - random() * 400 * day
        : index % 3 === 1
          ? midnight - 40 * day + Math.floor(random() * 48) * hour + pick([-1, 0, 1, random() * hour])
          : midnight - random() * 2 * day
    calls.push({
      at: new Date(Math.floor(at)),
      // Calls with the third key and deletions are rare.
      apiKeyId: random() < 0.01 ? keys[2]! : pick(keys.slice(0, 2)),
      operation: random() < 0.02 ? 'delete' : pick(['upload', 'download', 'metadata']),
      status: random() < 0.1 ? 'failure' : 'success',
    })
  }
  await seedCalls(fixture.url, fixture.tenantId, calls)
  all = await fixture.queryRows(
    `SELECT call_id AS "callId", api_key_id AS "apiKeyId", operation, status, extract(epoch FROM created_at) * 1000 AS at FROM call_logs ORDER BY call_id DESC`,
  )
  for (const row of all) row.at = Math.round(Number(row.at))
  log = new CallLogService({ db: fixture.database, horizon: () => null })
})
afterAll(() => fixture.close())

function filterRows(filter: CallLogFilter, horizon = 0) {
  const from = filter.startDate ? Date.parse(filter.startDate) : 0
  const until = filter.endDate
    ? Date.parse(filter.endDate) + (filter.endDate.length === 10 ? day - 1 : 0)
    : Number.POSITIVE_INFINITY
  return all.filter(
    (row) =>
      row.at >= Math.max(from, horizon) &&
      row.at <= until &&
      (!filter.apiKeyId || row.apiKeyId === filter.apiKeyId) &&
      (!filter.operation || row.operation === filter.operation) &&
      (!filter.status || row.status === filter.status),
  )
}

const times = (): (string | undefined)[] => {
  const at = pick(all).at
  const edge = Math.floor(at / hour) * hour
  return [at, at + 1, at - 1, edge, edge - 1, edge + 1, Math.floor(at / day) * day, Math.floor(at / day) * day - 1].map((time) =>
    new Date(time).toISOString(),
  )
}

function createRandomFilter(): CallLogFilter {
  const [start, end] = [random() < 0.5 ? pick(times()) : undefined, random() < 0.5 ? pick(times()) : undefined]
  return {
    ...(random() < 0.4 && { apiKeyId: pick(keys) }),
    ...(random() < 0.4 && { operation: pick(['upload', 'download', 'metadata', 'delete']) as never }),
    ...(random() < 0.4 && { status: pick(['success', 'failure']) as never }),
    ...(start && { startDate: random() < 0.2 ? start.slice(0, 10) : start }),
    ...(end && { endDate: random() < 0.3 ? end.slice(0, 10) : end }),
  }
}

const listIds = (rows: CallLog[]) => rows.map(({ callId }) => callId)

test('returns the same call log pages as a row-by-row scan for any filter', async () => {
  for (let times = 0; times < 250; times++) {
    const filter = createRandomFilter()
    const pageSize = pick([1, 3, 20, 100])
    const expected = filterRows(filter)
    const page = 1 + Math.floor(random() * (expected.length / pageSize + 1))
    const found = await log.list(fixture.key, { ...filter, page, pageSize })
    expect({ filter, page, pageSize, total: found.pagination.totalItems, ids: listIds(found.data) }).toEqual({
      filter,
      page,
      pageSize,
      total: expected.length,
      ids: expected.slice((page - 1) * pageSize, page * pageSize).map(({ callId }) => callId),
    })
  }
})

test('returns every matching call log entry exactly once through a GraphQL connection', async () => {
  for (let times = 0; times < 12; times++) {
    const filter = createRandomFilter()
    const first = pick([37, 100])
    const ids: string[] = []
    let after: string | undefined
    for (;;) {
      const found = await log.getConnection(fixture.key, { ...filter, first, ...(after && { after }) })
      ids.push(...listIds(found.edges.map(({ node }) => node)))
      if (!found.pageInfo.hasNextPage) break
      after = found.pageInfo.endCursor!
    }
    expect({ filter, ids }).toEqual({ filter, ids: filterRows(filter).map(({ callId }) => callId) })
  }
})

test('exports every matching call log entry in order', async () => {
  for (let times = 0; times < 12; times++) {
    const filter = createRandomFilter()
    const ids: string[] = []
    for await (const batch of log.readInBatches(fixture.database.pool, fixture.key, filter, 41)) ids.push(...listIds(batch))
    expect({ filter, ids }).toEqual({ filter, ids: filterRows(filter).map(({ callId }) => callId) })
  }
})

test('excludes call log entries deleted by retention from pages, totals and exports', async () => {
  for (const retentionDays of [1, 39, 100]) {
    const horizon = Math.floor((Date.now() - retentionDays * day) / hour) * hour
    const short = new CallLogService({ db: fixture.database, horizon: () => new Date(horizon) })
    for (let times = 0; times < 20; times++) {
      const filter = createRandomFilter()
      const expected = filterRows(filter, horizon).map(({ callId }) => callId)
      const found = await short.list(fixture.key, { ...filter, page: 1, pageSize: 100 })
      expect({ filter, total: found.pagination.totalItems, ids: listIds(found.data) }).toEqual({
        filter,
        total: expected.length,
        ids: expected.slice(0, 100),
      })
      const walked = await short.getConnection(fixture.key, { ...filter, first: 100 })
      expect(walked.edges.map(({ node }) => node.callId)).toEqual(expected.slice(0, 100))
      const exported: string[] = []
      for await (const batch of short.readInBatches(fixture.database.pool, fixture.key, filter, 500))
        exported.push(...listIds(batch))
      expect(exported).toEqual(expected)
    }
  }
})

test('returns the newest calls of each of several keys', async () => {
  const found = await log.getRecentByKeys(fixture.tenantId, [...keys, newId('key')], 5)
  expect([...found].map(([key, calls]) => [key, listIds(calls)])).toEqual(
    [...found.keys()].map((key) => [
      key,
      filterRows({ apiKeyId: key })
        .slice(0, 5)
        .map(({ callId }) => callId),
    ]),
  )
})

test('does not return calls from another tenant', async () => {
  const foreign = { ...fixture.key, tenantId: newId('ten') }
  expect((await log.list(foreign, { page: 1, pageSize: 20 })).pagination.totalItems).toBe(0)
  expect((await log.getConnection(foreign, { first: 20 })).edges).toEqual([])
})
