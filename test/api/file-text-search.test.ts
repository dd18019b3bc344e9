import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { FileSort } from '../../src/features/files/file.types.js'
import { FileList } from '../../src/features/files/file-list.js'
import { FileTextSearch } from '../../src/features/files/file-text-search.js'
import type { Queries } from '../../src/platform/db/queries.js'
import { newId } from '../../src/platform/ids.js'
import { countFilesRead } from '../support/count-files-read.js'
import { getData, getInvalidFields, getItems } from '../support/response-assertions.js'
import { type ApiResponse, type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let large: TestTenant
let restricted: Caller
let all: string
let allowed: string[]
const idOf = (n: number) => `file_01${String(n).padStart(24, '0')}`
const needles = ['needle3.txt', 'needle2.txt', 'needle1.txt']
const query = `query ($after: String) { filesConnection(search: "EEDLE", after: $after, first: 2) { totalCount edges { node { originalFilename } } pageInfo { hasNextPage endCursor } } }`

beforeAll(async () => {
  world = await World.open()
  large = await world.createTenant()
  const contexts = await Promise.all(['large', 'left', 'right'].map((name) => large.createContext(name)))
  const [first, left, right] = contexts.map(({ context_id }) => String(context_id))
  all = first!
  allowed = [left!, right!]
  // The oldest files match, but one request reads too few rows to reach them. Only the ten oldest files are in the restricted
  // key's contexts.
  const insertFiles = (from: number, to: number) =>
    world.database.pool.query(
      `INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, uploaded_by, created_at, updated_at)
       SELECT 'file_01' || lpad(n::text, 24, '0'), $1, CASE WHEN n > 10 THEN $2 WHEN n % 2 = 0 THEN $5 ELSE $6 END, CASE WHEN n <= 3 THEN 'needle' ELSE 'straw' END || n || '.txt', 'text/plain', n, lpad(n::text, 64, '0'), n::text, $3, now(), now()
       FROM generate_series($4::int, $7::int) n`,
      [large.tenantId, all, newId('key'), from, left, right, to],
    )
  // Small contexts can be missing from the sample that ANALYZE reads. These statistics contain only the large context.
  await world.database.pool.query('ALTER TABLE files SET (autovacuum_enabled = false)')
  for (let from = 11; from < 100_011; from += 20_000) await insertFiles(from, from + 19_999)
  await world.database.pool.query('ANALYZE files')
  await insertFiles(1, 10)
  restricted = await large.createKey(['metadata'], { contexts: ['left', 'right'] })
})
afterAll(() => world.close())

const getNextLink = (response: ApiResponse): string | undefined =>
  /^<\/api\/v1(.*)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1]
const namesOf = (found: { original_filename: string }[]) => found.map((file) => file.original_filename)

test('continues a search in older files on the next page of a GraphQL connection', async () => {
  const pages: string[][] = []
  for (let after: string | null = null; ; ) {
    const { body }: ApiResponse = await large.admin.graphql(query, { after })
    const { edges, pageInfo, totalCount } = body.data.filesConnection
    pages.push(edges.map(({ node }: { node: { originalFilename: string } }) => node.originalFilename))
    expect(totalCount).toBeNull()
    if (!pageInfo.hasNextPage) break
    after = pageInfo.endCursor
  }
  expect(pages).toEqual([[], needles.slice(0, 2), needles.slice(2)])
})

test('continues a search in older files on the next page of a REST list', async () => {
  const pages: string[][] = []
  for (let next: string | undefined = '/files?search=needle&page_size=2'; next !== undefined; ) {
    const response: ApiResponse = await large.admin.get(next)
    pages.push(namesOf(getItems(response)))
    next = getNextLink(response)
    expect(response.body.data.pagination.has_next).toBe(next !== undefined)
  }
  expect(pages).toEqual([[], needles.slice(0, 2), needles.slice(2)])
})

test('rejects a name search that would sort too many files', async () => {
  expect(getInvalidFields(await large.admin.get('/files?search=needle&sort=size_bytes'))).toEqual(['sort'])
  // Searches by id and checksum use an index and are not limited by the number of files.
  const found = await large.admin.get(`/files?search=${'2'.padStart(64, '0')}&sort=size_bytes`)
  expect(namesOf(getItems(found))).toEqual(['needle2.txt'])
})

test('does not read files in other contexts during a search with a restricted key', async () => {
  const response = await restricted.get('/files?search=needle')
  expect(namesOf(getItems(response))).toEqual(needles)
  expect(getData(response).pagination).toMatchObject({ total_items: 3, has_next: false })
  expect(getNextLink(response)).toBeUndefined()
  const { body } = await restricted.graphql(query)
  expect(body.data.filesConnection).toMatchObject({ totalCount: 3, pageInfo: { hasNextPage: true } })
  expect(namesOf(getItems(await restricted.get('/files?search=needle&sort=size_bytes')))).toEqual(needles)
})

const searchIn = (contextIds: string[]) => ({
  tenantId: large.tenantId,
  contextIds,
  uploadedBy: null,
  contentType: null,
  namePrefix: null,
  window: { from: null, until: null },
  sort: FileSort.created_at,
  descending: true,
  text: { name: 'needle' },
})

test.each([
  { order: 'newest first', descending: true, fromEnd: false, ends: [7, 3] },
  { order: 'oldest first', descending: false, fromEnd: false, ends: [4, 8] },
  { order: 'newest first, backwards', descending: true, fromEnd: true, ends: [4, 8] },
])('resumes a search in several contexts ($order) after each batch of four files', async (each) => {
  const search = new FileTextSearch(world.database.reads, 4)
  const observed: string[] = []
  const found: string[] = []
  for (let place: { id: string } | undefined; ; ) {
    const places = each.fromEnd ? { after: undefined, before: place } : { after: place, before: undefined }
    const request = { ...searchIn(allowed), descending: each.descending }
    const { rows, scanEnd } = await search.findPage(request, { limit: 20, fromEnd: each.fromEnd, ...places })
    found.push(...rows.map((file) => file.originalFilename))
    if (scanEnd === undefined) break
    observed.push(scanEnd)
    place = { id: scanEnd }
  }
  expect(observed).toEqual(each.ends.map(idOf))
  expect(found.sort()).toEqual([...needles].sort())
  expect(await search.countMatches(searchIn(allowed))).toEqual({ matching: 0, isComplete: false })
})

const selections: [string, () => string[]][] = [
  ['two small contexts', () => allowed],
  ['a large and two small contexts', () => [all, ...allowed]],
  ['a large context', () => [all]],
  ['a small context', () => allowed.slice(0, 1)],
]

/** Returns a database client that adds the number of files that each statement reads to `read`. */
const countReads = (read: number[]): Queries => {
  const query = async (statement: string | { text: string; values: unknown[] }, parameters: unknown[]) => {
    const { text, values } = typeof statement === 'string' ? { text: statement, values: parameters } : statement
    read.push(await countFilesRead(world.database.pool, text, values))
    return world.database.pool.query(text, values)
  }
  return { query } as unknown as Queries
}

test.each(selections)('reads a limited number of files in each SQL statement of a search in %s', async (_, contextIds) => {
  const maxFiles = 500
  const read: number[] = []
  const stretch = { limit: 20, fromEnd: false, after: undefined, before: undefined }
  await new FileTextSearch(countReads(read), maxFiles).findPageAndTotal(searchIn(contextIds()), stretch)
  expect(read).toHaveLength(4)
  // Merging the sorted contexts reads one more row per context, and a page reads its rows twice.
  expect(Math.max(...read)).toBeLessThanOrEqual(maxFiles + 1 + contextIds().length + stretch.limit + 1)
})

test.each(selections)('reads a limited number of files for each page of a file list for %s', async (_, contextIds) => {
  const read: number[] = []
  const list = new FileList(countReads(read))
  const filter = { tenantId: large.tenantId, contextIds: contextIds(), uploadedBy: null }
  for (const page of [1, 2]) await list.listPage(filter, { page, pageSize: 3 })
  expect(Math.max(...read)).toBeLessThanOrEqual(2 * 101 * contextIds().length)
})

test('does not skip a file between two search pages if another file is deleted', async () => {
  let deleted = 0
  const reads = {
    query: async (text: string, values: unknown[]) => {
      const result = await world.database.pool.query(text, values)
      if (deleted === 0)
        deleted = (
          await world.database.pool.query('DELETE FROM files WHERE tenant_id = $1 AND file_id = $2', [large.tenantId, idOf(9)])
        ).rowCount!
      return result
    },
  } as unknown as Queries
  // The scan may read files 10 down to 3.
  const search = new FileTextSearch(reads, 8)
  const { rows, scanEnd } = await search.findPage(searchIn(allowed), {
    limit: 20,
    fromEnd: false,
    after: undefined,
    before: undefined,
  })
  expect([deleted, rows.map((file) => file.originalFilename), scanEnd]).toEqual([1, ['needle3.txt'], idOf(3)])
})

test("returns 429 for a tenant's fifth concurrent name search", async () => {
  const client = await world.database.pool.connect()
  try {
    await client.query('BEGIN')
    await client.query('LOCK TABLE files')
    const searches = Array.from({ length: 5 }, () => large.admin.get('/files?search=needle'))
    // Four searches wait for the table.
    const rejected = await Promise.race(searches)
    expect([rejected.status, rejected.body.error.code]).toEqual([429, 'rate_limited'])
    expect(rejected.headers.get('retry-after')).toBe('1')
    await client.query('COMMIT')
    expect((await Promise.all(searches)).map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 429])
    expect((await large.admin.get('/files?search=straw')).status).toBe(200)
  } finally {
    client.release(true)
  }
})
