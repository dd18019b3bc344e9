import { expect, test } from '@jest/globals'
import { ReadTogether } from '../../src/platform/db/read-together.js'
import { readings } from '../../src/platform/db/reading.js'

/** Answers with a row that names the tenant and counts the statements; `ten_away` has no database. */
function readsOver(statements: unknown[][]) {
  const query = async ({ values }: { values: unknown[] }) => {
    statements.push(values)
    if (values[0] === 'ten_away') throw new Error('no answer')
    return { rows: [{ of: values[0], statement: statements.length }], rowCount: 1 }
  }
  const together = new ReadTogether({ query } as never)
  return (...values: unknown[]) => together.rows({ name: 'first', text: 'SELECT', values })
}

test('the same rows that are asked for in one turn are one statement, others of their own', async () => {
  const statements: unknown[][] = []
  const read = readsOver(statements)
  const found = await Promise.all([read('a', 20), read('b', 20), read('a', 20), read('a', 50)])
  expect(found.map(([row]) => row)).toEqual([
    { of: 'a', statement: 1 },
    { of: 'b', statement: 2 },
    { of: 'a', statement: 1 },
    { of: 'a', statement: 3 },
  ])
})

test('one that comes when the statement has begun is read anew', async () => {
  const statements: unknown[][] = []
  const read = readsOver(statements)
  const first = read('a')
  await new Promise((resolve) => setImmediate(resolve))
  await Promise.all([first, read('a')])
  expect(statements).toHaveLength(2)
})

test('a statement that fails fails for all that asked, and for no others', async () => {
  const read = readsOver([])
  const away = [read('ten_away'), read('ten_away')]
  const found = read('a')
  for (const each of away) await expect(each).rejects.toThrow('no answer')
  expect(await found).toHaveLength(1)
})

test('where a replica may serve, each request reads by itself, since each says how old its rows may be', async () => {
  const statements: unknown[][] = []
  const read = readsOver(statements)
  const reading = { cameAt: 0, mostAgeMs: 0, served: () => {} }
  await Promise.all([readings.run(reading, () => read('a')), readings.run(reading, () => read('a')), read('a')])
  expect(statements).toHaveLength(3)
})
