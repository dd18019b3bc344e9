import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { countJournalErrors } from '../../src/features/maintenance/journal-drift.js'
import { LedgerFixture } from '../support/ledger-fixture.js'

let books: LedgerFixture
const entries = 600
beforeAll(async () => {
  books = await LedgerFixture.open()
  const context = await books.createContext('notes')
  const uploads = await books.createUploads(context, Array(entries).fill(1))
  const ledger = books.createLedger()
  await Promise.all(uploads.map((upload) => ledger.commit(upload)))
  await books.queryRows('CREATE TABLE sound AS SELECT * FROM journal')
  await books.queryRows('CREATE TABLE sound_heads AS SELECT * FROM tenant_heads')
})
beforeEach(async () => {
  await books.queryRows('DELETE FROM journal')
  await books.queryRows('INSERT INTO journal SELECT * FROM sound')
  await books.queryRows(
    'UPDATE tenant_heads h SET journal_length = s.journal_length, journal_frontier = s.journal_frontier FROM sound_heads s',
  )
})
afterAll(() => books.close())

async function drift(complete: boolean): Promise<number> {
  const client = await books.database.connectDedicated('test')
  try {
    return await countJournalErrors(client, { tenantId: null, whole: complete })
  } finally {
    await client.end()
  }
}

test('reports no drift in a valid journal, whether it recomputes the whole journal or only the end', async () => {
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
test.each(changes)('verifying the journal detects %s', async (_what, statement) => {
  await books.queryRows(statement)
  expect(await drift(true)).toBeGreaterThan(0)
})

test('finds an error at the end of a journal without recomputing the whole journal', async () => {
  await books.queryRows(
    `UPDATE journal SET entry = replace(entry, '"size_bytes":1,', '"size_bytes":2,') WHERE sequence = ${entries - 1}`,
  )
  expect(await drift(false)).toBeGreaterThan(0)
})

test('finds a Merkle tree node that does not match its leaves', async () => {
  await books.queryRows(`UPDATE journal_nodes SET hash = sha256('other') WHERE level = 1 AND place = 1`)
  expect([await drift(true), await drift(false)]).toEqual([1, 1])
})
