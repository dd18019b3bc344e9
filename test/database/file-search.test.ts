import 'reflect-metadata'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { FileSort } from '../../src/features/files/file.types.js'
import { FileSearch, type Search, type SortPosition } from '../../src/features/files/file-search.js'
import type { Queries } from '../../src/platform/db/queries.js'
import { newId } from '../../src/platform/ids.js'
import { countFilesRead } from '../support/count-files-read.js'
import { LedgerFixture } from '../support/ledger-fixture.js'
import { countFiles } from '../support/recount-files.js'

const files = 20_000
const pageRows = 21
const uploaders = [newId('key'), newId('key')]
const types = ['application/pdf', 'image/png', 'text/plain', 'text/csv', 'application/zip']
const groups = 2 * uploaders.length * types.length

let fixture: LedgerFixture
let everything: Omit<Search, 'sort' | 'descending'>
beforeAll(async () => {
  fixture = await LedgerFixture.open()
  const contexts = await Promise.all(['one', 'two'].map(async (key) => (await fixture.createContext(key)).contextId))
  await fixture.database.pool.query(
    `INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, uploaded_by, created_at, updated_at)
     SELECT 'file_01k' || lpad(to_hex(i), 7, '0') || repeat('0', 16), $1, ($2::text[])[1 + i % 2], md5(i::text), ($3::text[])[1 + i % 5], hashint4(i) & 65535,
       repeat('0', 64), 'p' || i, ($4::text[])[1 + (i / 2) % 2], now(), now() FROM generate_series(1, ${files}) i`,
    [fixture.tenantId, contexts, types, uploaders],
  )
  await countFiles(fixture.database.pool, fixture.tenantId)
  await fixture.database.pool.query('ANALYZE files, file_groups')
  const window = { from: null, until: null }
  everything = { tenantId: fixture.tenantId, contextIds: null, uploadedBy: null, contentType: null, namePrefix: null, window }
})
afterAll(() => fixture.close())

/** Counts the file rows that a list statement reads, including those that it filters out. */
async function read(search: Search, after: SortPosition | undefined): Promise<number> {
  const requested: { text: string; values: unknown[] }[] = []
  const query = (text: string, values: unknown[]) => {
    requested.push({ text, values })
    return fixture.database.pool.query(text, values)
  }
  const list = new FileSearch({ query } as unknown as Queries)
  const rows = await list.findRows(search, { limit: pageRows - 1, fromEnd: false, after, before: undefined })
  expect(rows).toHaveLength(pageRows)
  const { text, values } = requested.at(-1)!
  return countFilesRead(fixture.database.pool, text, values)
}

const deep = { id: `file_01k0001000${'0'.repeat(16)}`, name: '8', size: '30000' }

test.each<[string, Partial<Search>, SortPosition]>([
  ['by name', { sort: FileSort.original_filename, descending: false }, { id: deep.id, key: deep.name }],
  ['by size', { sort: FileSort.size_bytes }, { id: deep.id, key: deep.size }],
  ['in ascending order of time', { sort: FileSort.created_at, descending: false }, { id: deep.id }],
  ['of a type', { contentType: 'image/png' }, { id: deep.id }],
  ['of a type wildcard, by size', { contentType: 'text/*', sort: FileSort.size_bytes }, { id: deep.id, key: deep.size }],
  ['with a name prefix', { namePrefix: '8', sort: FileSort.original_filename, descending: false }, { id: deep.id, key: '81' }],
])('reads a limited number of rows for a list of files %s', async (_, requested, place) => {
  const search = { ...everything, sort: FileSort.created_at, descending: true, ...requested }
  for (const after of [undefined, place]) expect(await read(search, after)).toBeLessThanOrEqual(groups + pageRows ** 2 + pageRows)
})
