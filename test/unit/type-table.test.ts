import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { getReaderNameByType } from '../../packages/formats/src/readers.js'
import { textTypes, types } from '../../packages/formats/src/types.js'

const { createTypeTable } = (await import(new URL('../../scripts/type-table.mjs', import.meta.url).href)) as {
  createTypeTable(): Promise<string>
}

test('docs/types.md is up to date (update it with npm run types:table)', async () => {
  expect(readFileSync(new URL('../../docs/types.md', import.meta.url), 'utf8')).toBe(await createTypeTable())
})

test('every file type is unique and has an extension, and every text type has a reader', () => {
  expect(Object.keys(types).filter((type) => type in textTypes)).toEqual([])
  for (const [type, { extensions }] of Object.entries({ ...types, ...textTypes }))
    expect([type, extensions.length > 0]).toEqual([type, true])
  expect(Object.keys(textTypes).filter((type) => !getReaderNameByType(type))).toEqual([])
})
