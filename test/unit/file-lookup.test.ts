import 'reflect-metadata'
import { expect, test } from '@jest/globals'
import { FileLookup } from '../../src/features/files/file-lookup.js'

/** Creates lookups in which each tenant has files named after it and `ten_away` has no database. */
function createLookup(statements: unknown[][]) {
  const database = {
    query: async ({ values }: { values: unknown[] }) => {
      statements.push(values)
      const [tenantId, ids] = values as [string, string[]]
      if (tenantId === 'ten_away') throw new Error('no answer')
      return { rows: ids.filter((fileId) => fileId.endsWith(tenantId)).map((fileId) => ({ tenantId, fileId })), rowCount: 0 }
    },
  }
  return FileLookup.basic(database as never)
}

test("combines a tenant's file lookups in one event loop iteration into one statement", async () => {
  const statements: unknown[][] = []
  const lookup = createLookup(statements)
  const found = await Promise.all([
    lookup.findById('a', 'one-a'),
    lookup.findById('b', 'one-a'),
    lookup.findById('a', 'two-a'),
    lookup.findById('a', 'one-a'),
    lookup.findById('a', 'two-a'),
  ])
  expect(found.map((file) => file?.fileId)).toEqual(['one-a', undefined, 'two-a', 'one-a', 'two-a'])
  expect(statements).toEqual([
    ['a', ['one-a', 'two-a']],
    ['b', ['one-a']],
  ])
})

test('does not return the result of a statement that started before the file lookup', async () => {
  const statements: unknown[][] = []
  const lookup = createLookup(statements)
  await lookup.findById('a', 'one-a')
  await lookup.findById('a', 'one-a')
  expect(statements).toHaveLength(2)
})

test('rejects only the file lookups of the tenant whose statement fails', async () => {
  const lookup = createLookup([])
  const away = lookup.findById('ten_away', 'x')
  const found = lookup.findById('a', 'one-a')
  await expect(away).rejects.toThrow('no answer')
  expect((await found)?.fileId).toBe('one-a')
})
