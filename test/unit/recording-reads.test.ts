import { expect, test } from '@jest/globals'
import type { Pool } from 'pg'
import { recordingFound, recordingStatement } from '../../src/ledger/append.js'
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
const otherwise = recordingStatement('list', (values) => `SELECT $${values.push(50)}`)
const found = recordingFound('file', () => 'SELECT')

/** Names the statements that a database was sent, which answers `fault` to those that read, and `others` to the first that do not. */
function laneOver(fault?: Error, others: Error[] = []) {
  const sent: string[] = []
  const written: Entry[] = []
  const query = async ({ name }: { name: string }) => {
    sent.push(name)
    if (fault && name.startsWith('recording')) throw fault
    const other = name === 'ledger-append' && others.shift()
    if (other) throw other
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
  const [one, other] = [listed.alone(entry), listed.alone({ call: { ...call, tenantId: 'ten_2', fileId: "file'); --" } })]
  expect(other.text).toBe(one.text)
  expect(other.values).toEqual(expect.arrayContaining(['ten_2', "file'); --", 20]))
  expect(other.values).toHaveLength(one.values.length)
})

test('beside others what finds a file is left to be looked up and recorded by itself', async () => {
  const { lane, append, sent } = laneOver()
  const [rows] = await Promise.all([lane.read(entry, found), append(), append()])
  expect(rows).toBeUndefined()
  expect(await lane.read(entry, found)).toBeUndefined()
  expect(sent).toEqual(['ledger-append'])
})

test('it is left likewise where a call is being looked up that will be recorded next', async () => {
  const { lane, sent } = laneOver()
  let found = () => {}
  const lookUp = lane.before(new Promise<void>((resolve) => (found = resolve)))
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
  await expect(lane.read(entry, listed)).rejects.toThrow('it is not known whether the change was stored')
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

/** As many, one after the other, as it takes until calls that read the same are read at once. */
async function manyThatReadTheSame(lane: AppendLane): Promise<void> {
  for (let time = 0; time < 17; time++) await lane.read(entry, listed)
}

test('where all read the same for a while, those that come together are read and recorded by one statement', async () => {
  const { lane, append, sent, written } = laneOver()
  await manyThatReadTheSame(lane)
  sent.length = written.length = 0
  const answers = await Promise.all([lane.read(entry, listed), lane.read(entry, listed), append()])
  expect(answers).toEqual([[{ fileId: 'file_1' }], [{ fileId: 'file_1' }], undefined])
  expect(sent).toEqual(['recording-all-list'])
  expect(written).toEqual([entry, entry, entry])
})

test('what reads something else meanwhile is left to be read and recorded by itself, and what comes next too', async () => {
  const { lane, sent } = laneOver()
  await manyThatReadTheSame(lane)
  sent.length = 0
  const answers = await Promise.all([listed, otherwise, listed].map((reading) => lane.read(entry, reading)))
  expect(answers).toEqual([[{ fileId: 'file_1' }], undefined, undefined])
  expect(sent).toEqual(['recording-list-metadata-success'])
})

test('where a call was looked up by itself, calls must read the same for a while again', async () => {
  const { lane, sent } = laneOver()
  await manyThatReadTheSame(lane)
  await lane.before(Promise.resolve())
  await new Promise((resolve) => setImmediate(resolve))
  sent.length = 0
  expect(await Promise.all([lane.read(entry, listed), lane.read(entry, listed)])).toEqual([[{ fileId: 'file_1' }], undefined])
  expect(sent).toEqual(['recording-list-metadata-success'])
})

test('beside what reads a file alone, which gives way, the same is not read for several', async () => {
  const { lane, sent } = laneOver()
  const alone = lane.read(entry, found)
  expect(await Promise.all([lane.read(entry, listed), alone])).toEqual([undefined, [{ fileId: 'file_1' }]])
  expect(sent).toEqual(['recording-file-metadata-success'])
})

test('where PostgreSQL refuses what several read, nothing of them is written, and what only records beside them is', async () => {
  const fault = Object.assign(new Error('cancelled'), { code: '57014', severity: 'ERROR' })
  const { lane, append, sent, written } = laneOver(fault)
  await manyThatReadTheSame(lane)
  sent.length = 0
  const answers = await Promise.all([lane.read(entry, listed), lane.read(entry, listed), append()])
  expect(answers).toEqual([undefined, undefined, undefined])
  expect(sent).toEqual(['recording-all-list', 'ledger-append'])
  expect(written).toEqual([entry])
})

test('nor is one of them written when what is recorded beside them is tried again', async () => {
  const { lane, append, sent, written } = laneOver(Object.assign(new Error('cancelled'), { code: '57014', severity: 'ERROR' }), [
    Object.assign(new Error('deadlock'), { code: '40P01', severity: 'ERROR' }),
  ])
  await manyThatReadTheSame(lane)
  sent.length = 0
  expect(await Promise.all([lane.read(entry, listed), append()])).toEqual([undefined, undefined])
  expect(sent).toEqual(['recording-all-list', 'ledger-append', 'ledger-append'])
  expect(written).toEqual([entry])
})
