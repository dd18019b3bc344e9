import { EventEmitter } from 'node:events'
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import type { Pool } from 'pg'
import type { EventType } from '../../src/ledger/event-types.js'
import { type JournalPage, JournalService } from '../../src/ledger/journal.service.js'
import type { LedgerEvents } from '../../src/ledger/ledger.js'
import { LedgerFixture } from '../support/ledger-fixture.js'

const events = 20_000
const rare = 500
const limit = 50

let fixture: LedgerFixture
let journal: JournalService
beforeAll(async () => {
  fixture = await LedgerFixture.open()
  await fixture.queryRows(
    `INSERT INTO journal SELECT $1, n, 'evt_' || n, CASE WHEN n % ${rare} = 0 THEN 'context.updated' ELSE 'file.accepted' END, 'file_' || n,
       'c' || n % 3, now(), '{"sequence":' || n || '}', sha256(n::text::bytea) FROM generate_series(1, ${events}) n`,
    [fixture.tenantId],
  )
  await fixture.queryRows('UPDATE tenant_heads SET journal_length = $2 WHERE tenant_id = $1', [fixture.tenantId, events])
  await fixture.queryRows('ANALYZE journal')
  journal = new JournalService(fixture.database, new EventEmitter())
})
afterAll(async () => {
  journal.close()
  await fixture.close()
})

interface Plan {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

const countRowsRead = (plan: Plan): number =>
  (plan['Relation Name'] === 'journal'
    ? (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
    : 0) + (plan.Plans ?? []).reduce((sum, each) => sum + countRowsRead(each), 0)

/** Counts the journal rows that a page statement reads. */
async function read(after: number, types: EventType[] | null): Promise<number> {
  const options: { text: string; values: unknown[] }[] = []
  const query = (statement: { name: string; text: string; values: unknown[] }) => {
    options.push(statement)
    return fixture.database.pool.query(statement)
  }
  await new JournalService({ ...fixture.database, pool: { query } as unknown as Pool }, new EventEmitter()).readPage({
    tenantId: fixture.tenantId,
    after,
    types,
    limit,
  })
  const { text, values } = options[0]!
  const { rows } = await fixture.database.pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
  return countRowsRead(rows[0]['QUERY PLAN'][0].Plan)
}

const places = [0, events / 2, events - 100]

describe('rows read for a page of events', () => {
  test.each(places)('reads only the returned rows for a page of all event types after sequence number %d', async (after) => {
    expect(await read(after, null)).toBeLessThanOrEqual(limit)
  })

  test.each(places)('limits the rows read for a page of one or two event types after sequence number %d', async (after) => {
    // The statement reads at most one page per type plus the page itself.
    expect(await read(after, ['context.updated', 'file.accepted'])).toBeLessThanOrEqual(3 * limit)
    expect(await read(after, ['context.updated'])).toBeLessThanOrEqual(2 * limit)
  })
})

const page = (options: { after: number; types?: EventType[]; contexts?: string[] }) =>
  journal.readPage({ tenantId: fixture.tenantId, limit, ...options })

test('returns the last sequence number that was read, so that no event is read twice', async () => {
  const all = await page({ after: 0 })
  expect([all.events.map(({ sequence }) => sequence), all.through, all.lastSequence]).toEqual([
    Array.from({ length: limit }, (_, n) => n + 1),
    limit,
    events,
  ])
  const few = await page({ after: events - rare - 10, types: ['context.updated'] })
  expect([few.events.map(({ sequence }) => sequence), few.through]).toEqual([[events - rare, events], events])
  expect(await page({ after: events })).toEqual({ events: [], through: events, lastSequence: events })
})

test('omits events of other contexts from a page of events', async () => {
  const { events: some, through } = await page({ after: 0, contexts: ['c1'] })
  expect(new Set(some.map(({ contextKey }) => contextKey))).toEqual(new Set(['c1']))
  expect(through).toBe(limit)
})

test('returns each past and new event exactly once to a reader that follows the journal', async () => {
  const abort = new AbortController()
  const following = await LedgerFixture.open()
  const emitter = new EventEmitter<LedgerEvents>()
  const service = new JournalService(following.database, emitter)
  const context = await following.createContext('notes')
  const ledger = following.createLedger({ events: emitter })
  await ledger.commit(await following.createUpload(context, 1))
  const read: number[] = []
  const over = (async () => {
    for await (const { events: some } of service.follow({
      tenantId: following.tenantId,
      after: 0,
      signal: abort.signal,
      limit: 3,
    })) {
      read.push(...some.map(({ sequence }) => sequence))
      if (read.length >= 21) abort.abort()
    }
  })()
  // This process writes half of the events with a notification, and another process writes the rest without one.
  for (let n = 0; n < 20; n++) await (n % 2 ? ledger : following.createLedger()).commit(await following.createUpload(context, 1))
  await over
  expect(read).toEqual(Array.from({ length: 21 }, (_, n) => n + 1))
  service.close()
  await following.close()
})

test('returns an event to a reader that follows the journal even if another reader receives it first', async () => {
  const following = await LedgerFixture.open()
  const service = new JournalService(following.database, new EventEmitter<LedgerEvents>())
  const context = await following.createContext('notes')
  // Another process writes the events, so that only the journal length shows them.
  const ledger = following.createLedger()
  const queries = jest.spyOn(following.database.pool, 'query')
  const abort = new AbortController()
  const follow = (after: number) => service.follow({ tenantId: following.tenantId, after, signal: abort.signal })
  await ledger.commit(await following.createUpload(context, 1))
  const first = follow(0)
  await first.next()
  const pending = first.next()
  // The first reader reads to the end of the journal and waits.
  while (queries.mock.calls.length < 2) await new Promise((resolve) => setImmediate(resolve))
  await Promise.all(queries.mock.results.map(({ value }) => value))
  await ledger.commit(await following.createUpload(context, 1))
  const second = follow(1)
  await second.next()
  void second.next()
  const { value } = (await pending) as IteratorYieldResult<JournalPage>
  expect(value.events.map(({ sequence }) => sequence)).toEqual([2])
  abort.abort()
  service.close()
  await following.close()
})
