import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import type { Entry } from '../../src/ledger/entry.js'
import { createMoveStatement } from '../../src/ledger/move-lane.js'
import { LedgerFixture } from '../support/ledger-fixture.js'

let fixture: LedgerFixture
beforeAll(async () => {
  fixture = await LedgerFixture.open()
})
afterEach(async () => {
  await fixture.expectExact()
  expect(await fixture.queryRows('SELECT * FROM pending_moves')).toEqual([])
})
afterAll(() => fixture.close())

/** Queues moves in several ledgers while another ledger commits. */
async function commitWhileAnotherLeads(
  entries: Entry[],
): Promise<{ outcomes: Promise<PromiseSettledResult<void>[]>; end: () => Promise<void> }> {
  const leader = new pg.Client({ connectionString: fixture.url })
  await leader.connect()
  await leader.query('BEGIN')
  await leader.query('SELECT ledger_leads($1)', [fixture.tenantId])
  const outcomes = Promise.allSettled(entries.map((entry) => fixture.createLedger().commit(entry)))
  while ((await fixture.queryRows('SELECT 1 FROM pending_moves')).length < entries.length) await new Promise(setImmediate)
  return { outcomes, end: () => leader.query('COMMIT').then(() => leader.end()) }
}
const listTransactions = (contextId: string) =>
  fixture.queryRows('SELECT DISTINCT xmin::text FROM files WHERE context_id = $1', [contextId])

test('commits the pending entries of four ledgers in one transaction', async () => {
  const context = await fixture.createContext('shared', 1)
  const uploads = await Promise.all([1, 2, 4, 2_000_000].map((size) => fixture.createUpload(context, size)))
  const { outcomes, end } = await commitWhileAnotherLeads(uploads)
  await end()
  expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected'])
  expect((await outcomes)[3]).toMatchObject({ reason: { code: 'quota_exceeded' } })
  expect(await fixture.getStoredTotals(context.contextId)).toEqual({ files: 3, bytes: 7 })
  expect(await listTransactions(context.contextId)).toHaveLength(1)
})

test('fails a pending ledger entry that cannot be written, and does not affect other entries', async () => {
  const context = await fixture.createContext('pending')
  const uploads = await Promise.all([1, 2, 4].map((size) => fixture.createUpload(context, size)))
  uploads[1]!.upload!.file.checksum = 'none'
  const { outcomes, end } = await commitWhileAnotherLeads(uploads)
  await end()
  expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(await fixture.getStoredTotals(context.contextId)).toEqual({ files: 2, bytes: 5 })
})

test('deletes a file only once even if two ledgers delete it in the same transaction', async () => {
  const context = await fixture.createContext('twice')
  const upload = await fixture.createUpload(context, 3)
  await fixture.createLedger().commit(upload)
  const { outcomes, end } = await commitWhileAnotherLeads([fixture.createDeletion(upload), fixture.createDeletion(upload)])
  await end()
  const settled = await outcomes
  expect(settled.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(settled.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'not_found' } })
  expect(await fixture.getStoredTotals(context.contextId)).toEqual({ files: 0, bytes: 0 })
})

test("the next transaction commits a killed process's pending entries unless they are too old", async () => {
  const context = await fixture.createContext('orphans')
  const [young, old, next] = await Promise.all([1, 2, 4].map((size) => fixture.createUpload(context, size)))
  for (const entry of [young!, old!]) {
    const { outcomes, end } = await commitWhileAnotherLeads([entry])
    // Simulates a dead process's pending moves.
    await fixture.queryRows(`UPDATE pending_moves SET tenant_id = tenant_id || '/dead'`)
    await end()
    expect((await outcomes)[0]).toMatchObject({ status: 'rejected', reason: { code: 'database_unavailable' } })
    await fixture.queryRows(`UPDATE pending_moves SET tenant_id = $1, created_at = now() - make_interval(secs => $2)`, [
      fixture.tenantId,
      entry === old ? 20 : 1,
    ])
    await fixture.createLedger().commit(entry === old ? next! : await fixture.createUpload(context, 8))
    await fixture.queryRows('DELETE FROM pending_moves')
  }
  expect(await fixture.getStoredTotals(context.contextId)).toEqual({ files: 3, bytes: 13 })
})

test('reads at most two rows to find the path of an upload in a large garbage journal', async () => {
  const context = await fixture.createContext('garbage')
  const entry = await fixture.createUpload(context, 1)
  await fixture.queryRows(
    `INSERT INTO blob_garbage (tenant_id, blob_path, due_at)
     SELECT $1, $1 || '/waits/' || n, now() + interval '1 hour' FROM generate_series(1, 3000) n`,
    [fixture.tenantId],
  )
  const client = new pg.Client({ connectionString: fixture.url })
  await client.connect()
  await client.query('BEGIN')
  await client.query(createMoveStatement(fixture.tenantId, [entry]))
  const { rows } = await client.query(
    "SELECT seq_tup_read + idx_tup_fetch AS read FROM pg_stat_xact_user_tables WHERE relname = 'blob_garbage'",
  )
  await client.query('ROLLBACK')
  await client.end()
  await fixture.queryRows("DELETE FROM blob_garbage WHERE blob_path LIKE '%/waits/%'")
  expect(Number(rows[0].read)).toBeLessThanOrEqual(2)
})

test('does not delay other entries if an announced entry never arrives', async () => {
  const context = await fixture.createContext('expected')
  const ledger = fixture.createLedger()
  const failed = ledger.announceEntryAfter('move', Promise.reject(new Error('no room')))
  await expect(failed).rejects.toThrow('no room')
  void ledger.announceEntryAfter('move', new Promise(() => {}))
  for (const size of [1, 2]) await ledger.commit(await fixture.createUpload(context, size))
  expect(await fixture.getStoredTotals(context.contextId)).toEqual({ files: 2, bytes: 3 })
})

test('imports an object only if no stored or deleted file uses its path', async () => {
  const context = await fixture.createContext('adopted')
  const ledger = fixture.createLedger()
  const adopt = async (path: string) => {
    const { upload } = await fixture.createUpload(context, 1)
    return ledger.commit({ upload: { ...upload!, file: { ...upload!.file, blobPath: path, isAdopted: true } } })
  }
  const path = (name: string) => `${fixture.tenantId}/import/${name}`
  await fixture.queryRows("INSERT INTO blob_garbage (tenant_id, blob_path, due_at) VALUES ($1, $2, now() + interval '1 hour')", [
    fixture.tenantId,
    path('deleted'),
  ])
  await adopt(path('new'))
  for (const name of ['new', 'deleted']) await expect(adopt(path(name))).rejects.toMatchObject({ reason: 'sweep' })
  expect(await fixture.queryRows('SELECT blob_path FROM files WHERE context_id = $1', [context.contextId])).toEqual([
    { blob_path: path('new') },
  ])
  // The garbage journal keeps the deleted file's path but not the new file's path.
  expect(await fixture.queryRows('SELECT blob_path FROM blob_garbage WHERE starts_with(blob_path, $1)', [path('')])).toEqual([
    { blob_path: path('deleted') },
  ])
})
