import { expect, test } from '@jest/globals'
import type { Pool } from 'pg'
import { recordingStatement } from '../../src/ledger/append.js'
import { AppendLane } from '../../src/ledger/append-lane.js'
import type { CallRow, Entry } from '../../src/ledger/entry.js'

const call: CallRow = {
  tenantId: 'ten_1',
  apiKeyId: 'key_1',
  apiKeyName: 'key',
  operation: 'metadata',
  status: 'success',
  fileId: null,
  contextId: null,
  contextKey: null,
  errorCode: null,
  errorMessage: null,
  validation: null,
  ipAddress: '::1',
  userAgent: 'test',
}
const entry: Entry = { call }
const listed = recordingStatement('list', (values) => `SELECT $${values.push(20)}`)

/** Names the statements that a database was sent, which answers `fault` to those that read. */
function laneOver(fault?: Error) {
  const sent: string[] = []
  const written: Entry[] = []
  const query = async ({ name }: { name: string }) => {
    sent.push(name)
    if (fault && name === 'recording-list-metadata-success') throw fault
    return { rows: [{ fileId: 'file_1' }] }
  }
  const pool = { connect: async () => ({ query, release: () => {} }) } as unknown as Pool
  const lane = new AppendLane({
    pool,
    maxGroup: 512,
    maxWaiting: 100,
    onWritten: async (group) => {
      for (const waiting of group) {
        written.push(waiting.entry)
        waiting.resolve()
      }
    },
  })
  const append = () => new Promise<void>((resolve, reject) => lane.push({ entry, resolve, reject }))
  return { lane, append, sent, written }
}

test('a call that comes alone is recorded by the statement that reads for it', async () => {
  const { lane, sent, written } = laneOver()
  expect(await lane.read(entry, listed)).toEqual([{ fileId: 'file_1' }])
  expect(sent).toEqual(['recording-list-metadata-success'])
  expect(written).toEqual([entry])
})

test('that statement is one and the same for all such calls, which are its values', () => {
  const [one, other] = [listed(entry), listed({ call: { ...call, tenantId: 'ten_2', fileId: "file'); --" } })]
  expect(other.text).toBe(one.text)
  expect(other.values).toEqual(expect.arrayContaining(['ten_2', "file'); --", 20]))
  expect(other.values).toHaveLength(one.values.length)
})

test('beside others it is left to be read and recorded by itself', async () => {
  const { lane, append, sent } = laneOver()
  const [rows] = await Promise.all([lane.read(entry, listed), append(), append()])
  expect(rows).toBeUndefined()
  expect(await lane.read(entry, listed)).toBeUndefined()
  expect(sent).toEqual(['ledger-append'])
})

test('it is left likewise where a call is being looked up that will be recorded next', async () => {
  const { lane, sent } = laneOver()
  let found = () => {}
  const lookUp = lane.turns.before(new Promise<void>((resolve) => (found = resolve)))
  expect(await lane.read(entry, listed)).toBeUndefined()
  found()
  await lookUp
  expect(sent).toEqual([])
})

test('what PostgreSQL refuses is not written, and can be read and recorded by itself', async () => {
  const { lane, append, sent, written } = laneOver(Object.assign(new Error('cancelled'), { code: '57014', severity: 'ERROR' }))
  expect(await lane.read(entry, listed)).toBeUndefined()
  expect(written).toEqual([])
  await append()
  expect(sent.at(-1)).toBe('ledger-append')
})

test('where the connection is lost meanwhile it is in doubt, and not done again', async () => {
  const { lane, sent } = laneOver(new Error('Connection terminated unexpectedly'))
  await expect(lane.read(entry, listed)).rejects.toThrow('look before you repeat it')
  expect(sent).toEqual(['recording-list-metadata-success'])
})

test('a call whose rows show that it was not recorded is neither counted as written nor in doubt, and is to be looked up by itself', async () => {
  const { lane, sent, written } = laneOver()
  expect(await lane.read(entry, listed, () => false)).toBeUndefined()
  expect(sent).toEqual(['recording-list-metadata-success'])
  expect(written).toEqual([])
})

test('after a group of several, so many fewer must come alone before one is taken for alone again', async () => {
  const { lane, append } = laneOver()
  const alone: boolean[] = []
  await Promise.all([append(), append(), append()])
  for (let time = 0; time < 3; time++) {
    await new Promise((resolve) => setImmediate(resolve))
    alone.push(lane.isAlone)
    await append()
  }
  expect(alone).toEqual([false, false, true])
})
