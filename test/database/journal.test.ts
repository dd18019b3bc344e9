import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { computeRoot, hashLeaf } from '../../packages/proofs/src/merkle.js'
import type { AuditRow, Entry } from '../../src/ledger/entry.js'
import { LedgerFixture } from '../support/ledger-fixture.js'
import { computeTreeHash } from '../support/transparency.js'

let fixture: LedgerFixture
beforeAll(async () => {
  fixture = await LedgerFixture.open()
})
afterAll(() => fixture.close())

interface Row {
  sequence: number
  type: string
  subject: string
  entry: string
  leaf: Buffer
  checks: unknown
}

const rows = (of = fixture) =>
  of.queryRows<Row>('SELECT sequence, type, subject, entry, leaf, checks FROM journal WHERE tenant_id = $1 ORDER BY sequence', [
    of.tenantId,
  ])

/** Checks that the journal has no gaps and that leaves, frontier and nodes match its entries. */
async function expectSound(of = fixture): Promise<Row[]> {
  const all = await rows(of)
  expect(all.map(({ sequence }) => sequence)).toEqual(all.map((_, index) => index + 1))
  for (const { sequence, type, entry, leaf } of all) {
    expect(JSON.parse(entry)).toMatchObject({ sequence, type })
    expect(leaf).toEqual(hashLeaf(entry))
  }
  const [head] = await of.queryRows<{ journal_length: number; journal_frontier: Buffer[] }>(
    'SELECT journal_length, journal_frontier FROM tenant_heads WHERE tenant_id = $1',
    [of.tenantId],
  )
  const leaves = all.map(({ leaf }) => leaf)
  expect(head!.journal_length).toBe(all.length)
  expect(computeRoot(head!.journal_frontier)).toEqual(computeTreeHash(leaves))
  const nodes = await of.queryRows<{ level: number; place: number; hash: Buffer }>(
    'SELECT level, place, hash FROM journal_nodes WHERE tenant_id = $1 ORDER BY level, place',
    [of.tenantId],
  )
  expect(nodes).toHaveLength(Math.floor(all.length / 256))
  for (const { level, place, hash } of nodes)
    expect(hash).toEqual(computeTreeHash(leaves.slice(place * 256 ** level, (place + 1) * 256 ** level)))
  return all
}

const audit = (more: Partial<AuditRow>): AuditRow => ({
  actor: fixture.key,
  auditType: 'context',
  action: 'updated',
  entityType: 'context',
  entityId: 'ctx_1',
  entityName: 'notes',
  details: {},
  ...more,
})

test('creates one event each for an upload and a deletion', async () => {
  const context = await fixture.createContext('events')
  const upload = await fixture.createUpload(context, 3)
  await fixture.createLedger().commit(upload)
  await fixture.createLedger().commit(fixture.createDeletion(upload))
  const [accepted, deleted] = (await expectSound()).slice(-2)
  const { fileId } = upload.upload!.file
  expect(JSON.parse(accepted!.entry)).toEqual({
    sequence: accepted!.sequence,
    event_id: expect.stringMatching(/^evt_[0-9a-z]{26}$/),
    type: 'file.accepted',
    occurred_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    data: {
      file_id: fileId,
      original_filename: 'a.txt',
      content_type: 'text/plain',
      size_bytes: 3,
      checksum: `sha256:${'0'.repeat(64)}`,
      context_key: 'events',
      rules_version: 1,
      uploaded_by: fixture.key.id,
    },
  })
  expect(JSON.parse(deleted!.entry)).toMatchObject({
    type: 'file.deleted',
    data: { file_id: fileId, context_key: 'events', performed_by_id: fixture.key.id, performed_by_type: 'api_key' },
  })
})

test('sorts event fields by name and replaces a long value with its hash', async () => {
  const long = { note: 'x'.repeat(1100) }
  const hash = createHash('sha256').update(JSON.stringify(long)).digest('hex')
  const changed = { metadata: { previous: {}, new: long }, description: { previous: 'ä\u2028"', new: '' } }
  await fixture.createLedger().commit({ audit: [audit({ details: { changed } })] })
  const { entry, sequence } = (await expectSound()).at(-1)!
  const { event_id, occurred_at } = JSON.parse(entry)
  expect(entry).toBe(
    `{"data":{"changed":{"description":{"new":"","previous":"ä\u2028\\""},"metadata":{"new":{"sha256":"${hash}"},"previous":{}}},` +
      `"context_id":"ctx_1","context_key":"notes","performed_by_id":"${fixture.key.id}","performed_by_type":"api_key"},` +
      `"event_id":"${event_id}","occurred_at":"${occurred_at}","sequence":${sequence},"type":"context.updated"}`,
  )
})

test('writes from four ledgers to one journal without gaps in the sequence numbers', async () => {
  const before = (await rows()).length
  const context = await fixture.createContext('full', 1)
  const uploads = await fixture.createUploads(context, Array(300).fill(4096))
  const ledgers = Array.from({ length: 4 }, () => fixture.createLedger())
  const outcomes = await Promise.allSettled(uploads.map((entry, index) => ledgers[index % 4]!.commit(entry)))
  const stored = uploads.filter((_, index) => outcomes[index]!.status === 'fulfilled').map(({ upload }) => upload!.file.fileId)
  expect(stored).toHaveLength(256)
  const added = (await expectSound()).slice(before)
  const accepted = added.filter(({ type }) => type === 'file.accepted').map(({ subject }) => subject)
  expect(accepted.sort()).toEqual(stored.sort())
  const thresholds = added.filter(({ type }) => type === 'quota.threshold').map(({ entry }) => JSON.parse(entry).data)
  expect(thresholds.map(({ percent, context_key }) => [percent, context_key])).toEqual(
    [80, 95, 100].map((percent) => [percent, 'full']),
  )
})

test('creates one event each time the usage crosses a quota threshold', async () => {
  const small = await LedgerFixture.open({ quotaMb: 1 })
  const context = await small.createContext('wide')
  const commit = async (entry: Entry) => small.createLedger().commit(entry)
  const first = await small.createUpload(context, 860_000)
  await commit(first)
  await commit(await small.createUpload(context, 10_000))
  await commit(small.createDeletion(first))
  await commit(await small.createUpload(context, 1_038_576))
  const events = (await expectSound(small)).filter(({ type }) => type === 'quota.threshold')
  expect(events.map(({ entry }) => JSON.parse(entry).data.percent)).toEqual([80, 80, 95, 100])
  expect(JSON.parse(events[0]!.entry)).toMatchObject({
    event_id: expect.stringMatching(/^evt_[0-7][0-9a-z]{25}$/),
    data: { tenant_id: small.tenantId, quota_mb: 1, performed_by_id: 'system', performed_by_type: 'system' },
  })
  await small.close()
})

test('moves a deleted file and its report to the trash', async () => {
  const context = await fixture.createContext('kept')
  await fixture.queryRows('UPDATE file_contexts SET trash_days = 3 WHERE context_id = $1', [context.contextId])
  const upload = await fixture.createUpload(context, 7)
  const { fileId, blobPath } = upload.upload!.file
  await fixture.createLedger().commit(upload)
  await fixture.createLedger().commit(fixture.createDeletion(upload))
  expect(await fixture.getStoredTotals(context.contextId)).toEqual({ files: 0, bytes: 7 })
  expect(await fixture.queryRows('SELECT 1 FROM files WHERE file_id = $1', [fileId])).toEqual([])
  expect(await fixture.queryRows('SELECT deleted_by, deleted_by_type FROM trash WHERE file_id = $1', [fileId])).toEqual([
    { deleted_by: fixture.key.id, deleted_by_type: 'api_key' },
  ])
  expect(await fixture.queryRows('SELECT 1 FROM validation_reports WHERE file_id = $1', [fileId])).toHaveLength(1)
  expect(await fixture.queryRows('SELECT 1 FROM blob_garbage WHERE blob_path = $1', [blobPath])).toEqual([])
})

test.each([
  ['on_hold', `INSERT INTO holds VALUES ($1, $2, 'A case', 'usr_1', 'user', now())`],
  ['quarantined', 'UPDATE files SET quarantined_at = now() WHERE tenant_id = $1 AND file_id = $2'],
])('rejects a file deletion with the error code %s and keeps the file', async (code, statement) => {
  const context = await fixture.createContext(code)
  const upload = await fixture.createUpload(context, 7)
  await fixture.createLedger().commit(upload)
  await fixture.queryRows(statement, [fixture.tenantId, upload.upload!.file.fileId])
  await expect(fixture.createLedger().commit(fixture.createDeletion(upload))).rejects.toMatchObject({ code })
  expect(await fixture.getStoredTotals(context.contextId)).toEqual({ files: 1, bytes: 7 })
  expect((await expectSound()).at(-1)!.type).toBe('file.accepted')
})
