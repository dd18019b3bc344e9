import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { toPublicError } from '../../src/access/public-error.js'
import { currentUsage } from '../../src/ledger/counters.js'
import type { Entry } from '../../src/ledger/entry.js'
import type { Ledger } from '../../src/ledger/ledger.js'
import { createActor, LedgerFixture } from '../support/ledger-fixture.js'

let fixture: LedgerFixture
beforeAll(async () => {
  fixture = await LedgerFixture.open()
})
afterEach(() => fixture.expectExact())
afterAll(() => fixture.close())

const getCode = (outcome: PromiseSettledResult<void>) =>
  outcome.status === 'fulfilled' ? 'done' : (outcome.reason.reason ?? outcome.reason.code)
const commitAll = (ledger: Ledger, entries: Entry[]) => Promise.allSettled(entries.map((entry) => ledger.commit(entry)))
const callsOf = async (userAgent: string) =>
  (await fixture.queryRows<{ n: number }>('SELECT count(*) AS n FROM call_logs WHERE user_agent = $1', [userAgent]))[0]!.n
const countTransactions = async () =>
  (
    await fixture.queryRows<{ n: number }>('SELECT count(DISTINCT xmin::text) AS n FROM call_logs WHERE user_agent = $1', [
      'grouped',
    ])
  )[0]!.n

test('commits concurrent calls together and logs each call exactly once', async () => {
  const ledger = fixture.createLedger()
  await commitAll(
    ledger,
    Array.from({ length: 300 }, () => ({ call: fixture.createCall('metadata', { userAgent: 'grouped' }) })),
  )
  expect(await callsOf('grouped')).toBe(300)
  // All entries from one event loop turn form one group.
  expect(await countTransactions()).toBe(1)
})

test('retries the entries of a failed group one by one', async () => {
  const ledger = fixture.createLedger()
  const circular: Record<string, unknown> = {}
  circular.itself = circular
  const outcomes = await commitAll(ledger, [
    { call: fixture.createCall('metadata', { userAgent: 'poison' }) },
    { call: fixture.createCall('metadata', { userAgent: 'poison', operation: 'nonsense' as never }) },
    { call: fixture.createCall('metadata', { userAgent: 'poison', validation: circular }) },
    { call: fixture.createCall('metadata', { userAgent: 'poison' }) },
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
  expect(await callsOf('poison')).toBe(2)
})

test('commits the other uploads in a group that contains an invalid upload', async () => {
  const context = await fixture.createContext('poisoned')
  const [valid, culprit, also] = await Promise.all([1, 2, 4].map((size) => fixture.createUpload(context, size)))
  culprit!.upload!.file.checksum = 'none'
  const outcomes = await commitAll(fixture.createLedger(), [valid!, culprit!, also!])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(await fixture.getStoredTotals(context.contextId)).toEqual({ files: 2, bytes: 5 })
})

test('rejects ledger entries immediately when the queue is full', async () => {
  const ledger = fixture.createLedger({ maxWaiting: 10 })
  const outcomes = await commitAll(
    ledger,
    Array.from({ length: 25 }, () => ({ call: fixture.createCall('metadata', { userAgent: 'crowd' }) })),
  )
  const codes = outcomes.map(getCode)
  expect(codes.slice(0, 10)).toEqual(Array(10).fill('done'))
  expect(codes.slice(10)).toEqual(Array(15).fill('overloaded'))
  expect(await callsOf('crowd')).toBe(10)
})

test('creates a monthly partition if it does not exist', async () => {
  const [{ name }] = (await fixture.queryRows<{ name: string }>(
    `SELECT tableoid::regclass::text AS name FROM call_logs ORDER BY call_id DESC LIMIT 1`,
  )) as [{ name: string }]
  const stored = await fixture.queryRows<{ n: number }>(`SELECT count(*) AS n FROM ${name}`)
  await fixture.database.pool.query(`CREATE TABLE aside AS SELECT * FROM ${name}`)
  for (const { partition } of await fixture.queryRows<{ partition: string }>(
    `SELECT inhrelid::regclass::text AS partition FROM pg_inherits WHERE inhparent = 'call_logs'::regclass`,
  ))
    await fixture.database.pool.query(`DROP TABLE ${partition}`)
  // A pool with one connection proves that the retry needs no second connection.
  const outcomes = await commitAll(fixture.createLedger({ poolSize: 1 }), [
    { call: fixture.createCall('metadata', { userAgent: 'late' }) },
    { call: fixture.createCall('metadata', { userAgent: 'late' }) },
  ])
  expect(outcomes.map(getCode)).toEqual(['done', 'done'])
  expect(await callsOf('late')).toBe(2)
  await fixture.database.pool.query('INSERT INTO call_logs SELECT * FROM aside')
  await fixture.database.pool.query('DROP TABLE aside')
  expect((await fixture.queryRows<{ n: number }>(`SELECT count(*) AS n FROM ${name}`))[0]!.n).toBe(stored[0]!.n + 2)
})

test('leaves no partial data if a connection is lost during a group commit', async () => {
  const context = await fixture.createContext('cut')
  const ledger = fixture.createLedger()
  const holder = await fixture.database.pool.connect()
  await holder.query('BEGIN')
  await holder.query('SELECT 1 FROM file_totals FOR UPDATE')
  let uploads: Entry[] = []
  let outcomes: PromiseSettledResult<void>[] = []
  // A slow machine may need several attempts because a statement waits at most a second for a lock.
  for (let cut = 0; cut === 0; ) {
    uploads = await Promise.all([1, 2, 3].map((size) => fixture.createUpload(context, size)))
    let isOver = false
    const group = commitAll(ledger, uploads).finally(() => {
      isOver = true
    })
    while (cut === 0 && !isOver)
      cut = (
        await fixture.queryRows(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
      ).length
    outcomes = await group
  }
  await holder.query('ROLLBACK')
  holder.release()
  for (const outcome of outcomes) {
    const publicError = toPublicError((outcome as PromiseRejectedResult).reason)
    expect(publicError).toMatchObject({
      code: 'database_unavailable',
      message: expect.stringContaining('the outcome is unknown'),
    })
  }
  expect(await fixture.getStoredTotals(context.contextId)).toEqual({ files: 0, bytes: 0 })
  // The garbage journal still contains the paths of the uploads.
  const paths = uploads.map(({ upload }) => upload!.file.blobPath)
  expect(await fixture.queryRows('SELECT 1 FROM blob_garbage WHERE blob_path = ANY($1)', [paths])).toHaveLength(3)
  expect(await commitAll(ledger, [await fixture.createUpload(context, 1)])).toEqual([{ status: 'fulfilled', value: undefined }])
})

test('fills the quota exactly with concurrent uploads on four ledgers', async () => {
  const context = await fixture.createContext('small', 1)
  const ledgers = [1, 2, 3, 4].map(() => fixture.createLedger())
  // 16 files of 65,536 bytes fill one megabyte exactly.
  const uploads = await fixture.createUploads(context, Array(50).fill(65_536))
  const outcomes = await Promise.allSettled(uploads.map((entry, index) => ledgers[index % 4]!.commit(entry)))
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(16)
  expect(new Set(outcomes.map(getCode))).toEqual(new Set(['done', 'quota_exceeded']))
  expect(await fixture.getStoredTotals(context.contextId)).toEqual({ files: 16, bytes: 1_048_576 })

  // Freed bytes can be reused, even within one group.
  const stored = uploads.filter((_, index) => outcomes[index]!.status === 'fulfilled')
  const again = await fixture.createUpload(context, 65_536)
  const tooMuch = await fixture.createUpload(context, 1)
  expect((await commitAll(ledgers[0]!, [again, tooMuch, fixture.createDeletion(stored[0]!)])).map(getCode)).toEqual([
    'done',
    'quota_exceeded',
    'done',
  ])
  expect((await fixture.getStoredTotals(context.contextId)).bytes).toBe(1_048_576)
})

test('accepts smaller files after rejecting a larger file that exceeds the quota', async () => {
  const context = await fixture.createContext('odd', 1)
  const sizes = [600_000, 600_000, 400_000, 48_576, 1, 0]
  const uploads = await Promise.all(sizes.map((size) => fixture.createUpload(context, size)))
  expect((await commitAll(fixture.createLedger(), uploads)).map(getCode)).toEqual([
    'done',
    'quota_exceeded',
    'done',
    'done',
    'quota_exceeded',
    'done',
  ])
})

test('processes concurrent changes to the same files on four ledgers without a deadlock', async () => {
  const context = await fixture.createContext('busy')
  const ledgers = [1, 2, 3, 4].map(() => fixture.createLedger())
  const uploads = await fixture.createUploads(context, Array(40).fill(7))
  await commitAll(ledgers[0]!, uploads)
  const { rows } = await fixture.database.pool.query('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()')
  const entries: Entry[] = []
  for (const upload of uploads) {
    for (let times = 0; times < 6; times++) entries.push(fixture.createDownload(upload))
    entries.push(fixture.createDeletion(upload), fixture.createDeletion(upload), await fixture.createUpload(context, 3))
  }
  // Entries in different orders would cause deadlocks if locks were not acquired in a fixed order.
  const outcomes = await Promise.allSettled(entries.map((entry, index) => ledgers[(index * 7) % 4]!.commit(entry)))
  expect([...new Set(outcomes.map(getCode))].sort()).toEqual(['done', 'not_found'])
  expect(await fixture.getStoredTotals(context.contextId)).toEqual({ files: 40, bytes: 120 })
  await fixture.database.pool.query('SELECT pg_stat_clear_snapshot()')
  const after = await fixture.database.pool.query('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()')
  expect(after.rows[0].deadlocks).toBe(rows[0].deadlocks)
})

test("counts a user's download once without logging a call", async () => {
  const context = await fixture.createContext('read')
  const upload = await fixture.createUpload(context, 11)
  const ledger = fixture.createLedger()
  await ledger.commit(upload)
  const count = async () =>
    (
      await fixture.queryRows<{ subject: string; downloads: number }>(
        `SELECT subject, sum(downloads)::bigint AS downloads FROM ${currentUsage} u WHERE grain = 'total' AND tenant_id = $1 AND subject IN ('', $2) GROUP BY subject ORDER BY subject`,
        [fixture.tenantId, context.contextId],
      )
    ).map(({ downloads }) => downloads)
  const [before] = await count()
  await ledger.commit(fixture.createDownload(upload, createActor(fixture.tenantId, 'usr_1', 'user')))
  expect(await count()).toEqual([before! + 1, 1])
})

test('counts a file in the hour in which it was created', async () => {
  const context = await fixture.createContext('midnight')
  const upload = await fixture.createUpload(context, 5)
  upload.upload!.file.createdAt = new Date(Date.now() - 3 * 3_600_000)
  await fixture.createLedger().commit(upload)
  expect(
    await fixture.queryRows(
      `SELECT u.files_uploaded FROM ${currentUsage} u JOIN files f ON f.context_id = u.subject AND date_trunc('hour', f.created_at, 'UTC') = u.bucket WHERE u.subject = $1 AND u.grain = 'hour'`,
      [context.contextId],
    ),
  ).toEqual([{ files_uploaded: 1 }])
})

test('rejects an upload and stores no partial data if its key was disabled', async () => {
  const context = await fixture.createContext('gone')
  const key = await fixture.addKey()
  const [disabled, swept] = [await fixture.createUpload(context, 1, key), await fixture.createUpload(context, 1)]
  await fixture.database.pool.query(`UPDATE api_keys SET status = 'disabled' WHERE api_key_id = $1`, [key.id])
  await fixture.database.pool.query('DELETE FROM blob_garbage WHERE blob_path = $1', [swept.upload!.file.blobPath])
  expect((await commitAll(fixture.createLedger(), [disabled, swept])).map(getCode)).toEqual(['unauthenticated', 'sweep'])
  expect(await fixture.getStoredTotals(context.contextId)).toEqual({ files: 0, bytes: 0 })
  expect(
    await fixture.queryRows('SELECT status, error_code FROM call_logs WHERE context_key = $1 ORDER BY call_id', ['gone']),
  ).toEqual([{ status: 'failure', error_code: 'unauthenticated' }])
  expect(
    (
      await fixture.queryRows("SELECT 1 FROM blob_garbage WHERE blob_path = $1 AND due_at < now() + interval '1 minute'", [
        disabled.upload!.file.blobPath,
      ])
    ).length,
  ).toBe(1)
})
