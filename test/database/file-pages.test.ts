import 'reflect-metadata'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type FileFilter, FileList } from '../../src/features/files/file-list.js'
import { FileLookup } from '../../src/features/files/file-lookup.js'
import { SignedDownloads } from '../../src/features/files/signed-downloads.js'
import { splitFileRanges } from '../../src/features/maintenance/counter-repair.js'
import type { Queries } from '../../src/platform/db/queries.js'
import { firstIdAt, newId } from '../../src/platform/ids.js'
import { Books } from '../support/accounting.js'

const rangeSize = 16
let books: Books
let contexts: string[]
const uploaders = [newId('key'), newId('key'), newId('usr')]
/** Newest first. */
let all: { fileId: string; contextId: string; uploadedBy: string }[] = []

// The same numbers in every run.
let seed = 20_261_122
const random = () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
  return seed / 2_147_483_648
}
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!

beforeAll(async () => {
  books = await Books.open()
  contexts = await Promise.all(['one', 'two', 'three'].map(async (key) => (await books.context(key)).contextId))
  for (let round = 0; round < 12; round++) {
    // Mostly newer than those there are; some late, as from a replica whose clock is behind.
    await add(60, Date.UTC(2026, round) - (round % 4 === 3 ? 200 * 86_400_000 : 0))
    await remove(round % 3 === 2 ? 50 : 7)
    await splitFileRanges(books.database.pool, rangeSize)
  }
})
afterAll(() => books.close())

async function add(count: number, around: number) {
  const files = Array.from({ length: count }, (_, index) => ({
    fileId: `${firstIdAt('file', new Date(around + index * 60_000)).slice(0, 15)}${newId('file').slice(15)}`,
    contextId: random() < 0.05 ? contexts[2]! : pick(contexts.slice(0, 2)),
    uploadedBy: pick(uploaders),
  }))
  await books.database.pool.query(
    `INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, uploaded_by, created_at, updated_at)
     SELECT "fileId", $1, "contextId", 'a.txt', 'text/plain', 1, repeat('0', 64), "fileId", "uploadedBy", now(), now() FROM jsonb_to_recordset($2) f("fileId" text, "contextId" text, "uploadedBy" text)`,
    [books.tenantId, JSON.stringify(files)],
  )
  keep([...all, ...files])
}

async function remove(count: number) {
  const gone = new Set(Array.from({ length: count }, () => pick(all).fileId))
  await books.database.pool.query('DELETE FROM files WHERE tenant_id = $1 AND file_id = ANY($2)', [books.tenantId, [...gone]])
  keep(all.filter(({ fileId }) => !gone.has(fileId)))
}

const keep = (files: typeof all) => {
  all = files.sort((a, b) => (a.fileId < b.fileId ? 1 : -1))
}

const matching = ({ contextIds, uploadedBy }: FileFilter) =>
  all.filter(
    (file) => (!contextIds || contextIds.includes(file.contextId)) && (uploadedBy === null || file.uploadedBy === uploadedBy),
  )
const ids = (files: { fileId: string }[]) => files.map(({ fileId }) => fileId)

const filters: Record<string, () => Omit<FileFilter, 'tenantId'>> = {
  'no filter': () => ({ contextIds: null, uploadedBy: null }),
  'a context': () => ({ contextIds: [contexts[0]!], uploadedBy: null }),
  'a rare context': () => ({ contextIds: [contexts[2]!], uploadedBy: null }),
  'several contexts': () => ({ contextIds: [contexts[0]!, contexts[2]!], uploadedBy: null }),
  'no context': () => ({ contextIds: [], uploadedBy: null }),
  'an uploader': () => ({ contextIds: null, uploadedBy: uploaders[1]! }),
  'an uploader in a context': () => ({ contextIds: [contexts[1]!], uploadedBy: uploaders[2]! }),
  'an uploader in several contexts': () => ({ contextIds: [contexts[1]!, contexts[2]!], uploadedBy: uploaders[0]! }),
  'an uploader of nothing': () => ({ contextIds: null, uploadedBy: newId('key') }),
}

describe.each(Object.keys(filters))('files by %s', (name) => {
  test.each([1, 7, 100])('come page by page as they lie, %d on a page', async (pageSize) => {
    const filter = { tenantId: books.tenantId, ...filters[name]!() }
    const expected = matching(filter)
    const list = new FileList(books.database.pool)
    const pages = Math.ceil(expected.length / pageSize)
    const some = new Set([
      1,
      2,
      3,
      pages - 1,
      pages,
      pages + 1,
      ...Array.from({ length: 12 }, () => 1 + Math.floor(random() * pages)),
    ])
    for (const page of [...some].filter((number) => number > 0)) {
      const found = await list.page(filter, { page, pageSize })
      expect([page, ids(found.data)]).toEqual([page, ids(expected.slice((page - 1) * pageSize, page * pageSize))])
      expect(found.pagination).toMatchObject({ totalItems: expected.length, hasNext: page < pages })
    }
  })

  test('come each once when they are followed', async () => {
    const filter = { tenantId: books.tenantId, ...filters[name]!() }
    const list = new FileList(books.database.pool)
    const seen: string[] = []
    for (let page = 1, afterId: string | undefined; ; page++) {
      const { data, pagination } = await list.page(filter, { page, pageSize: 9, afterId })
      seen.push(...ids(data))
      if (!pagination.hasNext) break
      afterId = data.at(-1)!.fileId
    }
    expect(seen).toEqual(ids(matching(filter)))
  })
})

test.each(['no filter', 'several contexts'])(
  'no page of %s reads more rows than a page and two ranges of each context hold',
  async (name) => {
    const filter = { tenantId: books.tenantId, ...filters[name]!() }
    const asked: { text: string; values: unknown[] }[] = []
    const watched = {
      query: (statement: { name: string; text: string; values: unknown[] }) => {
        asked.push(statement)
        return books.database.pool.query(statement)
      },
    } as unknown as Queries
    const page = Math.floor(matching(filter).length / 5)
    await new FileList(watched).page(filter, { page, pageSize: 5 })
    expect(asked).toHaveLength(2)
    const { rows } = await books.database.pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${asked[1]!.text}`, asked[1]!.values)
    const read = rowsRead(rows[0]['QUERY PLAN'][0].Plan)
    expect(Math.max(...read)).toBeLessThanOrEqual((filter.contextIds?.length ?? 1) * 2 * rangeSize + 5)
  },
)

test('what most calls ask for is not planned anew each time', async () => {
  const client = await books.database.dedicated('assay test')
  await client.query('ANALYZE')
  const { fileId } = all[0]!
  const downloads = new SignedDownloads(client)
  const asked = [
    () => FileLookup.shown(client).findAll(books.tenantId, [fileId]),
    () => FileLookup.kept(client).findAll(books.tenantId, [fileId]),
    () => downloads.find({ tenantId: books.tenantId, fileId, by: uploaders[0]! } as never).catch(() => {}),
    () => new FileList(client).page({ tenantId: books.tenantId, contextIds: null, uploadedBy: null }, { page: 1, pageSize: 20 }),
  ]
  for (const ask of asked) for (let time = 0; time < 8; time++) await ask()
  const { rows } = await client.query(
    'SELECT name, custom_plans > 5 AS "isPlannedAnew" FROM pg_prepared_statements ORDER BY name',
  )
  expect(rows).toEqual(
    ['files-first-', 'files-for-download', 'kept-files-by-id', 'shown-files-by-id'].map((name) => ({
      name,
      isPlannedAnew: false,
    })),
  )
  await client.end()
})

test('a file’s downloads that are not folded yet are found by the index, though nearly all are of one other', async () => {
  const client = await books.database.dedicated('assay test')
  await client.query('BEGIN')
  await client.query(
    'INSERT INTO download_deltas (tenant_id, file_id, times, last_at) SELECT $1, $2, 1, now() FROM generate_series(1, 3000)',
    [books.tenantId, all[1]!.fileId],
  )
  await client.query('ANALYZE download_deltas')
  await FileLookup.shown(client).findAll(books.tenantId, [all[0]!.fileId])
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(
    `EXPLAIN EXECUTE "shown-files-by-id" ('${books.tenantId}', '{${all[0]!.fileId}}')`,
  )
  expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('using download_deltas_pkey')
  await client.query('ROLLBACK')
  await client.end()
})

test('a page far behind the end asks for the total alone', async () => {
  const asked: string[] = []
  const watched = {
    query: (statement: { name: string; text: string; values: unknown[] }) => {
      asked.push(statement.text)
      return books.database.pool.query(statement)
    },
  } as unknown as Queries
  const filter = { tenantId: books.tenantId, contextIds: null, uploadedBy: null }
  const found = await new FileList(watched).page(filter, { page: 2_147_483_647, pageSize: 100 })
  expect([found.data, found.pagination.totalItems]).toEqual([[], all.length])
  expect(asked.filter((text) => /\bfiles f\b/.test(text))).toEqual([])
})

test('ranges that were split while files came and went hold what there is', async () => {
  const { rows } = await books.database.pool.query<{ ranges: number; drift: number; largest: number }>(
    `SELECT count(*)::int AS ranges, max(r.files)::int AS largest, count(*) FILTER (WHERE r.files <> (
       SELECT count(*) FROM files f WHERE f.tenant_id = r.tenant_id AND (r.context_id = '' OR f.context_id = r.context_id)
         AND (r.uploaded_by = '' OR f.uploaded_by = r.uploaded_by) AND f.file_id >= r.from_id AND (r.until_id IS NULL OR f.file_id < r.until_id)))::int AS drift
     FROM (SELECT *, lead(from_id) OVER (PARTITION BY tenant_id, context_id, uploaded_by ORDER BY from_id) AS until_id FROM file_ranges) r`,
  )
  expect(rows[0]).toMatchObject({ drift: 0 })
  expect(rows[0]!.largest).toBeLessThanOrEqual(2 * rangeSize)
  expect(rows[0]!.ranges).toBeGreaterThan(all.length / rangeSize)
})

interface PlanNode {
  'Actual Rows': number
  'Actual Loops': number
  Plans?: PlanNode[]
}
const rowsRead = (node: PlanNode): number[] => [
  node['Actual Rows'] * node['Actual Loops'],
  ...(node.Plans ?? []).flatMap((child) => rowsRead(child)),
]
