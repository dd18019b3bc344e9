import 'reflect-metadata'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { CallLogService } from '../../src/features/call-logs/call-log.service.js'
import { countCounterErrors, repairCounters } from '../../src/features/maintenance/counter-drift.js'
import { deleteOldHourlyCounters } from '../../src/features/maintenance/retention.js'
import { StatsService } from '../../src/features/stats/stats.service.js'
import { Fold } from '../../src/ledger/fold.js'
import { runInOneWindow } from '../support/clock.js'
import { LedgerFixture, seedCalls } from '../support/ledger-fixture.js'

let fixture: LedgerFixture
beforeAll(async () => {
  fixture = await LedgerFixture.open()
  const ledger = fixture.createLedger()
  const context = await fixture.createContext('notes')
  const uploads = await Promise.all([1, 20, 300].map((size) => fixture.createUpload(context, size)))
  for (const entry of uploads) await ledger.commit(entry)
  await ledger.commit(fixture.createDeletion(uploads[0]!))
  await ledger.commit({ call: fixture.createCall('metadata') })
  await new Fold(fixture.database.writes).foldNow({ everyTenant: true })
  // The download is not yet counted when its counters are read.
  await ledger.commit(fixture.createDownload(uploads[1]!))
})
afterAll(() => fixture.close())

const all = { callsSince: null, auditsSince: null }
async function withClient<T>(
  work: (client: Awaited<ReturnType<LedgerFixture['database']['connectDedicated']>>) => Promise<T>,
): Promise<T> {
  const client = await fixture.database.connectDedicated('test')
  return work(client).finally(() => client.end())
}
const findDrift = () => withClient((client) => countCounterErrors(client, { tenantId: null, ...all }))
const repair = () => withClient((client) => repairCounters(client, all))

test('leaves correct counters unchanged during a counter repair', async () => {
  expect(await repair()).toEqual([])
})

test.each([
  ['the total of a context', 'UPDATE file_totals SET files = files + 1, bytes = 7', /^held by ctx_.*: 2 files, 320 bytes$/],
  ['the count of an uncounted context', 'DELETE FROM file_totals', /^held by ctx_.*: 2 files, 320 bytes$/],
  ['the total of a tenant', 'UPDATE tenant_heads SET bytes = bytes - 1', /^held by the tenant: 2 files, 320 bytes$/],
  ['the files per uploader and type', 'UPDATE file_groups SET files = files + 5', /^files of key_.* in ctx_.*, text\/plain: 2$/],
  ['a missing group of files', 'DELETE FROM file_groups', /^files of key_.* in ctx_.*, text\/plain: 2$/],
  [
    'the calls of an hour',
    `UPDATE usage_counters SET metadata_success = 9 WHERE grain = 'hour' AND subject = ''`,
    /^hour of .*, the tenant$/,
  ],
  [
    'the calls of a missing hour',
    `DELETE FROM usage_counters WHERE grain = 'hour' AND subject LIKE 'key_%'`,
    /^hour of .*, key_/,
  ],
  [
    'the calls of a day',
    `UPDATE usage_counters SET bytes_uploaded = bytes_uploaded + 3 WHERE grain = 'day'`,
    /^day of .*, the tenant$/,
  ],
  ['the total of calls', `UPDATE usage_counters SET upload_failure = 4 WHERE grain = 'total'`, /^total, the tenant$/],
  [
    'the history of counts',
    `UPDATE usage_counters SET files_uploaded = files_uploaded + 2`,
    /^files that came and went: -2 files, 0 bytes$/,
  ],
  [
    'the audit entries of a day',
    `UPDATE audit_counters SET entries = 40 WHERE action = 'deleted' AND grain = 'day'`,
    /^audit entries, day of .*, file deleted: 1$/,
  ],
  ['a total of audit entries', `DELETE FROM audit_counters WHERE grain = 'total'`, /^audit entries, total, file created: 3$/],
])('recounts %s and reports the repair', async (_what, damaged, output) => {
  await fixture.queryRows(damaged)
  expect(await findDrift()).toBeGreaterThan(0)
  const repairs = await repair()
  expect(repairs.map(({ tenantId }) => tenantId)).toContain(fixture.tenantId)
  expect(repairs.map(({ what }) => what)).toContainEqual(expect.stringMatching(output))
  expect(await findDrift()).toBe(0)
  await fixture.expectExact()
})

test('deletes hourly statistics after 400 days, but keeps daily statistics and totals', () =>
  runInOneWindow(3600, async () => {
    const old = await LedgerFixture.open()
    const at = (days: number, hour: number) =>
      new Date(Math.floor(Date.now() / 86_400_000 - days) * 86_400_000 + hour * 3_600_000)
    const call = { apiKeyId: old.key.id, operation: 'metadata', status: 'success' } as const
    const calls = [500, 450, 420, 399, 3].flatMap((days) => [3, 3.5, 9].map((hour) => ({ ...call, at: at(days, hour) })))
    await seedCalls(old.url, old.tenantId, calls)
    const log = new CallLogService({ db: old.database, horizon: () => null })
    const lists = async () => {
      const found = []
      for (const [startDate, endDate] of [
        [at(450, 3), at(3, 4)],
        [at(500, 3.25), at(450, 3.25)],
        [at(420, 1), at(420, 5)],
        [null, at(420, 3.25)],
      ])
        for (const page of [1, 2, 3])
          found.push(
            await log.list(old.key, {
              ...(startDate && { startDate: startDate.toISOString() }),
              endDate: endDate!.toISOString(),
              page,
              pageSize: 2,
            }),
          )
      return found
    }
    const stats = new StatsService(old.database)
    const drawn = async () => {
      const [hourly, daily] = [
        await stats.getApiCallsChart(old.key, { period: 'hourly', days: 365 }),
        await stats.getApiCallsChart(old.key, { period: 'daily', days: 365 }),
      ]
      return Promise.all([...(await hourly.dataPoints), ...(await daily.dataPoints)])
    }
    const before = { lists: await lists(), charts: await drawn() }
    expect(before.lists[0]!.pagination.totalItems).toBe(11)
    expect(await deleteOldHourlyCounters(old.database.pool)).toBe(3 * 2 * 2)
    expect(await deleteOldHourlyCounters(old.database.pool)).toBe(0)
    expect({ lists: await lists(), charts: await drawn() }).toEqual(before)
    const remaining = await old.queryRows<{ grain: string; calls: number }>(
      `SELECT grain, sum(metadata_success)::bigint AS calls FROM usage_counters WHERE subject = '' GROUP BY grain ORDER BY grain`,
    )
    expect(remaining).toEqual([
      { grain: 'day', calls: 15 },
      { grain: 'hour', calls: 6 },
      { grain: 'total', calls: 15 },
    ])
    const client = await old.database.connectDedicated('test')
    expect(await countCounterErrors(client, { tenantId: null, ...all })).toBe(0)
    await client.end()
    await old.close()
  }))

test('does not report missing hourly audit counters as drift, but a repair recounts them', async () => {
  const hours = () =>
    fixture.queryRows(`SELECT bucket, audit_type, action, entries FROM audit_counters WHERE grain = 'hour' ORDER BY 1, 2, 3`)
  const counted = await hours()
  expect(counted.length).toBeGreaterThan(0)
  await fixture.queryRows(`DELETE FROM audit_counters WHERE grain = 'hour'`)
  expect(await findDrift()).toBe(0)
  await fixture.queryRows(`UPDATE audit_counters SET entries = 40 WHERE grain = 'total'`)
  expect((await repair()).map(({ what }) => what)).toContainEqual(
    expect.stringMatching(/^audit entries, hour of .*, file created: 3$/),
  )
  expect(await hours()).toEqual(counted)
})
