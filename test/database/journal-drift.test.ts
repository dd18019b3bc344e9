import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { countJournalErrors } from '../../src/features/maintenance/journal-drift.js'
import { LedgerFixture } from '../support/ledger-fixture.js'

let fixture: LedgerFixture
const entries = 600
beforeAll(async () => {
  fixture = await LedgerFixture.open()
  const context = await fixture.createContext('notes')
  const uploads = await fixture.createUploads(context, Array(entries).fill(1))
  const ledger = fixture.createLedger()
  await Promise.all(uploads.map((upload) => ledger.commit(upload)))
  await fixture.queryRows('CREATE TABLE sound AS SELECT * FROM journal')
  await fixture.queryRows('CREATE TABLE sound_heads AS SELECT * FROM tenant_heads')
})
beforeEach(async () => {
  await fixture.queryRows('DELETE FROM journal')
  await fixture.queryRows('INSERT INTO journal SELECT * FROM sound')
  await fixture.queryRows(
    'UPDATE tenant_heads h SET journal_length = s.journal_length, journal_frontier = s.journal_frontier FROM sound_heads s',
  )
})
afterAll(() => fixture.close())

async function drift(complete: boolean): Promise<number> {
  const client = await fixture.database.connectDedicated('test')
  try {
    return await countJournalErrors(client, { tenantId: null, recomputeHashes: complete })
  } finally {
    await client.end()
  }
}

test('reports no drift in a valid journal', async () => {
  expect([await drift(true), await drift(false)]).toEqual([0, 0])
})

const changes: [string, string][] = [
  [
    'a changed byte in an old entry',
    `UPDATE journal SET entry = replace(entry, '"size_bytes":1,', '"size_bytes":2,') WHERE sequence = 7`,
  ],
  [
    'a changed byte in an old entry and its leaf',
    `UPDATE journal SET entry = e.new, leaf = sha256('\\x00'::bytea || convert_to(e.new, 'UTF8'))
     FROM (SELECT replace(entry, '"size_bytes":1,', '"size_bytes":2,') AS new FROM journal WHERE sequence = 7) e WHERE sequence = 7`,
  ],
  ['a removed entry', 'DELETE FROM journal WHERE sequence = 300'],
  [
    'two swapped entries',
    `UPDATE journal j SET entry = o.entry, leaf = o.leaf, event_id = o.event_id FROM sound o
     WHERE j.sequence IN (20, 21) AND o.sequence = 41 - j.sequence`,
  ],
  ['a missing last entry', `DELETE FROM journal WHERE sequence = ${entries}`],
  ['a length that differs from the number of entries', 'UPDATE tenant_heads SET journal_length = journal_length + 1'],
  ['a frontier of other leaves', `UPDATE tenant_heads SET journal_frontier[1] = sha256('other')`],
]
test.each(changes)('journal verification detects %s', async (_what, statement) => {
  await fixture.queryRows(statement)
  expect(await drift(true)).toBeGreaterThan(0)
})

test('detects a changed entry at the end of a journal without recomputing the entire journal', async () => {
  await fixture.queryRows(
    `UPDATE journal SET entry = replace(entry, '"size_bytes":1,', '"size_bytes":2,') WHERE sequence = ${entries - 1}`,
  )
  expect(await drift(false)).toBeGreaterThan(0)
})

test('detects a Merkle tree node that does not match its leaves', async () => {
  await fixture.queryRows(`UPDATE journal_nodes SET hash = sha256('other') WHERE level = 1 AND place = 1`)
  expect([await drift(true), await drift(false)]).toEqual([1, 1])
})
