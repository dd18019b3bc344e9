import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { ClientBase } from 'pg'
import { createMoveStatement } from '../../src/ledger/move-lane.js'
import { newId } from '../../src/platform/ids.js'
import { LedgerFixture } from '../support/ledger-fixture.js'

let fixture: LedgerFixture
beforeAll(async () => {
  fixture = await LedgerFixture.open()
})
afterAll(() => fixture.close())

/** Stores new reports as a rescan does. */
async function storeReports(client: ClientBase, contextId: string, reports: Record<string, object>): Promise<void> {
  await client.query(
    `INSERT INTO rescan_queue (tenant_id, file_id, context_id, leased_until, lease_token) SELECT $1, id, $2, now(), 'token' FROM unnest($3::text[]) AS i(id)`,
    [fixture.tenantId, contextId, Object.keys(reports)],
  )
  const validated = { validated_at: new Date(), bytes: 1, failed: false }
  const results = Object.entries(reports).map(([file_id, report]) => ({ file_id, report, ...validated }))
  await client.query('SELECT rescan_keep($1, $2, $3, $4, true)', [fixture.tenantId, contextId, 'token', JSON.stringify(results)])
}

test('stores the report of a new file without scanning the files table', async () => {
  const { contextId } = await fixture.createContext('notes')
  const client = await fixture.database.connectDedicated('assay test')
  const add = async (count: number) => {
    const ids = Array.from({ length: count }, () => newId('file'))
    await client.query(
      `INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, uploaded_by, created_at, updated_at)
       SELECT id, $1, $2, 'a.txt', 'text/plain', 1, repeat('0', 64), id, 'key_1', now(), now() FROM unnest($3::text[]) AS i(id)`,
      [fixture.tenantId, contextId, ids],
    )
    await storeReports(client, contextId, Object.fromEntries(ids.map((id) => [id, { checks: [] }])))
  }
  for (let group = 0; group < 8; group++) await add(32)
  await client.query('BEGIN')
  await add(1)
  const { rows } = await client.query(`SELECT seq_scan::int AS scans FROM pg_stat_xact_user_tables WHERE relname = 'files'`)
  await client.query('ROLLBACK')
  await client.end()
  expect(rows).toEqual([{ scans: 0 }])
})

test('reflects the latest validation report of a file in its traits column', async () => {
  const upload = await fixture.createUpload(await fixture.createContext('traits'), 1)
  const { file } = upload.upload!
  file.validation = { rulesVersion: 1, checks: [{ check: 'virus_detected', outcome: 'incomplete' }] }
  const client = await fixture.database.connectDedicated('assay test')
  const traits = async () => (await client.query('SELECT traits FROM files WHERE file_id = $1', [file.fileId])).rows[0]?.traits
  await client.query('BEGIN')
  await client.query(createMoveStatement(fixture.tenantId, [upload]))
  const { rows } = await client.query(`SELECT n_tup_upd::int AS updates FROM pg_stat_xact_user_tables WHERE relname = 'files'`)
  expect(rows).toEqual([{ updates: 0 }])
  await client.query('COMMIT')
  expect(await traits()).toBe(64)
  const clean = {
    rulesVersion: 1,
    checks: ['blank_file', 'corrupt_file', 'virus_detected'].map((check) => ({ check, outcome: 'passed' })),
  }
  await storeReports(client, file.contextId, { [file.fileId]: clean })
  expect(await traits()).toBe(0)
  await client.end()
})
