import { afterAll, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { seeded } from '../../packages/formats/test/support/samples/mutations.js'
import type { Entry } from '../../src/ledger/entry.js'
import { toMovesJson } from '../../src/ledger/rows.js'
import { LedgerFixture } from '../support/ledger-fixture.js'

let fixture: LedgerFixture
let client: pg.Client
beforeAll(async () => {
  fixture = await LedgerFixture.open({ quotaMb: 3 })
  client = new pg.Client({ connectionString: fixture.url })
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await fixture.close()
})

const megabyte = 1 << 20

/** Executes the groups and rolls them back. Returns the rejections and rows without times and random values. */
async function commitAndRollBack(groups: Entry[][]): Promise<{ refusals: object[]; journal: unknown }> {
  await client.query('SAVEPOINT before')
  const rejections: object[] = []
  let first = 0
  for (const entries of groups) {
    const { rows } = await client.query('SELECT ledger_move($1, $2::jsonb) AS refusals', [fixture.tenantId, toMovesJson(entries)])
    for (const rejection of rows[0].refusals) rejections.push({ ...rejection, n: first + rejection.n })
    first += entries.length
  }
  const after = await client.query(`SELECT
    (SELECT jsonb_agg(to_jsonb(f) ORDER BY file_id) FROM files f) AS files,
    (SELECT jsonb_agg(to_jsonb(t) ORDER BY context_id) FROM file_totals t) AS totals,
    (SELECT jsonb_agg(to_jsonb(g) ORDER BY context_id, uploaded_by, content_type) FROM file_groups g) AS groups,
    (SELECT jsonb_agg(jsonb_build_array(files, bytes, journal_length, quota_level)) FROM tenant_heads) AS head,
    (SELECT jsonb_agg(jsonb_build_array(context_id, quota_level) ORDER BY context_id) FROM file_contexts) AS levels,
    (SELECT jsonb_agg(jsonb_build_array(type, subject, context_key) ORDER BY type, subject, sequence) FROM journal) AS journal,
    (SELECT jsonb_agg(blob_path ORDER BY blob_path) FROM blob_garbage) AS garbage,
    (SELECT jsonb_agg(to_jsonb(u) ORDER BY api_key_id, context_id) FROM (SELECT api_key_id, context_id, sum(upload_success) AS uploads, sum(files_uploaded) AS files, sum(bytes_uploaded) AS bytes
      FROM usage_deltas GROUP BY 1, 2) u) AS usage,
    (SELECT jsonb_agg(to_jsonb(a) ORDER BY grain, audit_type, action) FROM (SELECT grain, audit_type, action, sum(entries) AS entries
      FROM audit_counters GROUP BY 1, 2, 3) a) AS audited,
    (SELECT jsonb_agg(to_jsonb(c) - '{call_id,created_at}'::text[] ORDER BY file_id) FROM call_logs c) AS calls`)
  await client.query('ROLLBACK TO SAVEPOINT before')
  return { refusals: rejections, ...after.rows[0] }
}

test('returns the same result for uploads in a group as for single uploads', async () => {
  const below = seeded(20261123)
  const oneOf = <T>(...values: T[]): T => values[below(values.length)]!
  const contexts = await Promise.all(['one', 'two'].map((name) => fixture.createContext(name, 1)))
  const keys = [fixture.key, await fixture.addKey()]
  const observed = { accepted: 0, rejected: 0, noticed: 0 }
  for (let round = 0; round < 150; round++) {
    const mixed = oneOf(false, false, true)
    const entries: Entry[] = []
    for (let n = 1 + below(7); n > 0; n--) {
      const entry = await fixture.createUpload(
        mixed ? oneOf(...contexts) : contexts[0]!,
        oneOf(0, 1, 1000, megabyte >> 3),
        mixed ? oneOf(...keys) : fixture.key,
      )
      if (below(40) === 0) entry.upload!.file.rulesVersion = 2
      if (below(40) === 0) entry.upload!.file.blobPath += '/swept'
      if (below(40) === 0) entry.upload!.file.contextId = 'ctx_none'
      entries.push(entry)
    }
    await client.query('BEGIN')
    const level = (quota: string) => `ledger_threshold($1, ${quota} * 1048576::bigint)`
    await client.query(`UPDATE tenant_heads SET bytes = $1, quota_level = ${level('3')}`, [below(4) * megabyte])
    await client.query('UPDATE tenants SET status = $1', [below(20) === 0 ? 'suspended' : 'active'])
    await client.query('UPDATE api_keys SET status = $1 WHERE api_key_id = $2', [
      below(20) === 0 ? 'disabled' : 'active',
      fixture.key.id,
    ])
    for (const { contextId } of contexts) {
      const held = oneOf(0, 0, below(megabyte), Math.floor(megabyte * 0.79), megabyte)
      await client.query('UPDATE file_totals SET bytes = $1 WHERE context_id = $2', [held, contextId])
      await client.query(
        `UPDATE file_contexts SET status = $2, quota_level = ${level('storage_quota_mb')} WHERE context_id = $3`,
        [held, below(20) === 0 ? 'disabled' : 'active', contextId],
      )
    }
    const together = await commitAndRollBack([entries])
    const singly = await commitAndRollBack(entries.map((entry) => [entry]))
    await client.query('ROLLBACK')
    expect(together).toEqual(singly)
    observed[together.refusals.length > 0 ? 'rejected' : 'accepted']++
    if (JSON.stringify(together.journal).includes('quota')) observed.noticed++
  }
  for (const times of Object.values(observed)) expect(times).toBeGreaterThan(10)
})

test('does not change the quota level of a tenant when an upload is rejected', async () => {
  const level = async () => (await client.query('SELECT quota_level FROM tenant_heads')).rows[0].quota_level
  const { key: actor } = fixture
  const rejection = { contextKey: null, rulesVersion: null, originalFilename: 'a.txt', sizeBytes: 0, checksum: null }
  await client.query('BEGIN')
  await client.query('UPDATE tenant_heads SET bytes = $1, quota_level = 80', [2.5 * megabyte])
  const entry = {
    rejection: { actor, ...rejection, reason: 'blank_file', message: 'The file is blank.', validation: { checks: [] } },
  }
  await client.query('SELECT ledger_move($1, $2::jsonb)', [fixture.tenantId, toMovesJson([entry])])
  expect(await level()).toBe(80)
  await client.query('ROLLBACK')
})

test('counts an audit entry in its hour, in its day and in the total', async () => {
  const { contextId, contextKey, rulesAt } = await fixture.createContext('counted')
  const entries = await Promise.all([1, 2, 3].map((size) => fixture.createUpload({ contextId, contextKey, rulesAt }, size)))
  await Promise.all(entries.map((entry) => fixture.createLedger().commit(entry)))
  const counted = await fixture.queryRows(
    `SELECT grain, sum(entries)::int AS entries FROM audit_counters WHERE tenant_id = $1 GROUP BY 1 ORDER BY 1`,
    [fixture.tenantId],
  )
  expect(counted).toEqual(['day', 'hour', 'total'].map((grain) => ({ grain, entries: 3 })))
})
