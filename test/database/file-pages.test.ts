import 'reflect-metadata'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { FileFilter } from '../../src/features/files/file-list.js'
import { FileList } from '../../src/features/files/file-list.js'
import { FileLookup } from '../../src/features/files/file-lookup.js'
import { SignedDownloads } from '../../src/features/files/signed-downloads.js'
import type { Queries } from '../../src/platform/db/queries.js'
import { getFirstId, newId } from '../../src/platform/ids.js'
import { LedgerFixture } from '../support/ledger-fixture.js'
import { countFiles } from '../support/recount-files.js'

let fixture: LedgerFixture
let contexts: string[]
const uploaders = [newId('key'), newId('key'), newId('usr')]
/** Rows that the pages must contain, newest first. */
let all: { fileId: string; contextId: string; uploadedBy: string }[] = []

// A fixed seed makes runs reproducible.
let seed = 20_261_122
const random = () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
  return seed / 2_147_483_648
}
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!

beforeAll(async () => {
  fixture = await LedgerFixture.open()
  contexts = await Promise.all(['one', 'two', 'three'].map(async (key) => (await fixture.createContext(key)).contextId))
  for (let round = 0; round < 12; round++) {
    // Most files are newer than existing ones. Some are older, as if uploaded by a replica with a slow clock.
    await add(60, Date.UTC(2026, round) - (round % 4 === 3 ? 200 * 86_400_000 : 0))
    await remove(round % 3 === 2 ? 50 : 7)
  }
  await countFiles(fixture.database.pool, fixture.tenantId)
})
afterAll(() => fixture.close())

async function add(count: number, around: number) {
  const files = Array.from({ length: count }, (_, index) => ({
    fileId: `${getFirstId('file', new Date(around + index * 60_000)).slice(0, 15)}${newId('file').slice(15)}`,
    contextId: random() < 0.05 ? contexts[2]! : pick(contexts.slice(0, 2)),
    uploadedBy: pick(uploaders),
  }))
  await fixture.database.pool.query(
    `INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, uploaded_by, created_at, updated_at)
     SELECT "fileId", $1, "contextId", 'a.txt', 'text/plain', 1, repeat('0', 64), "fileId", "uploadedBy", now(), now() FROM jsonb_to_recordset($2) f("fileId" text, "contextId" text, "uploadedBy" text)`,
    [fixture.tenantId, JSON.stringify(files)],
  )
  keep([...all, ...files])
}

async function remove(count: number) {
  const deleted = new Set(Array.from({ length: count }, () => pick(all).fileId))
  await fixture.database.pool.query('DELETE FROM files WHERE tenant_id = $1 AND file_id = ANY($2)', [
    fixture.tenantId,
    [...deleted],
  ])
  keep(all.filter(({ fileId }) => !deleted.has(fileId)))
}

const keep = (files: typeof all) => {
  all = files.sort((a, b) => (a.fileId < b.fileId ? 1 : -1))
}

const filterFiles = ({ contextIds, uploadedBy }: FileFilter) =>
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
  'an uploader without files': () => ({ contextIds: null, uploadedBy: newId('key') }),
}

describe.each(Object.keys(filters))('file lists with the filter: %s', (name) => {
  test.each([1, 7, 100])('lists matching files in order, with %d per page', async (pageSize) => {
    const filter = { tenantId: fixture.tenantId, ...filters[name]!() }
    const expected = filterFiles(filter)
    const list = new FileList(fixture.database.pool)
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
      const found = await list.listPage(filter, { page, pageSize })
      expect([page, ids(found.data)]).toEqual([page, ids(expected.slice((page - 1) * pageSize, page * pageSize))])
      expect(found.pagination).toMatchObject({ totalItems: expected.length, hasNext: page < pages })
    }
  })

  test('returns each file exactly once to a client that follows the page links of a filtered list', async () => {
    const filter = { tenantId: fixture.tenantId, ...filters[name]!() }
    const list = new FileList(fixture.database.pool)
    const observed: string[] = []
    for (let page = 1, afterId: string | undefined; ; page++) {
      const { data, pagination } = await list.listPage(filter, { page, pageSize: 9, afterId })
      observed.push(...ids(data))
      if (!pagination.hasNext) break
      afterId = data.at(-1)!.fileId
    }
    expect(observed).toEqual(ids(filterFiles(filter)))
  })
})

test.each([
  ['no filter', 5],
  ['a context', 5],
  // Each context adds at most the row limit of one statement.
  ['several contexts', 2 * 101],
])(
  "with the filter '%s', reads at most half of the index entries for a middle page and at most %d entries for the last page",
  async (name, maxLastRows) => {
    const filter = { tenantId: fixture.tenantId, ...filters[name]!() }
    const client = await fixture.database.connectDedicated('assay test')
    // Forces index scans as in a large table.
    await client.query('SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off')
    const requested: { text: string; values: unknown[] }[] = []
    const watched = {
      query: (statement: { text: string; values: unknown[] } | string, values: unknown[] = []) => {
        const config = typeof statement === 'string' ? { text: statement, values } : statement
        requested.push(config)
        return client.query(config)
      },
    } as unknown as Queries
    const rowsOfPage = async (page: number) => {
      await new FileList(watched).listPage(filter, { page, pageSize: 5 })
      const { text, values } = requested.at(-1)!
      const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
      return Math.max(...countRowsRead(rows[0]['QUERY PLAN'][0].Plan))
    }
    const count = filterFiles(filter).length
    const pages = Math.ceil(count / 5)
    expect(await rowsOfPage(pages)).toBeLessThanOrEqual(maxLastRows)
    expect(await rowsOfPage(Math.ceil(pages / 2))).toBeLessThanOrEqual(count / 2 + 5)
    await client.end()
  },
)

test('uses generic plans for common read statements', async () => {
  const client = await fixture.database.pool.connect()
  await client.query('ANALYZE')
  const { fileId } = all[0]!
  const downloads = new SignedDownloads(client)
  const requested = [
    () => FileLookup.complete(client).findByIds(fixture.tenantId, [fileId]),
    () => FileLookup.basic(client).findByIds(fixture.tenantId, [fileId]),
    () => downloads.findFile({ tenantId: fixture.tenantId, fileId, by: uploaders[0]! } as never).catch(() => {}),
    () =>
      new FileList(client).listPage(
        { tenantId: fixture.tenantId, contextIds: null, uploadedBy: null },
        { page: 1, pageSize: 20 },
      ),
  ]
  for (const request of requested) for (let time = 0; time < 8; time++) await request()
  const names = ['basic-files-by-id', 'complete-files-by-id', 'files-first-', 'files-for-download']
  const { rows } = await client.query(
    'SELECT name, custom_plans AS "customPlans" FROM pg_prepared_statements WHERE name = ANY($1) ORDER BY name',
    [names],
  )
  expect(rows).toEqual(names.map((name) => ({ name, customPlans: 0 })))
  client.release()
})

test("uses an index to find a file's uncounted downloads", async () => {
  const client = await fixture.database.connectDedicated('assay test')
  await client.query('BEGIN')
  await client.query(
    'INSERT INTO download_deltas (tenant_id, file_id, times, last_at) SELECT $1, $2, 1, now() FROM generate_series(1, 3000)',
    [fixture.tenantId, all[1]!.fileId],
  )
  await client.query('ANALYZE download_deltas')
  await FileLookup.complete(client).findByIds(fixture.tenantId, [all[0]!.fileId])
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(
    `EXPLAIN EXECUTE "complete-files-by-id" ('${fixture.tenantId}', '{${all[0]!.fileId}}')`,
  )
  expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('using download_deltas_pkey')
  await client.query('ROLLBACK')
  await client.end()
})

test('queries only the total for a page far beyond the end of a file list', async () => {
  const requested: string[] = []
  const watched = {
    query: (statement: { name: string; text: string; values: unknown[] }) => {
      requested.push(statement.text)
      return fixture.database.pool.query(statement)
    },
  } as unknown as Queries
  const filter = { tenantId: fixture.tenantId, contextIds: null, uploadedBy: null }
  const found = await new FileList(watched).listPage(filter, { page: 2_147_483_647, pageSize: 100 })
  expect([found.data, found.pagination.totalItems]).toEqual([[], all.length])
  expect(requested.filter((text) => /\bfiles f\b/.test(text))).toEqual([])
})

interface PlanNode {
  'Actual Rows': number
  'Actual Loops': number
  Plans?: PlanNode[]
}
const countRowsRead = (node: PlanNode): number[] => [
  node['Actual Rows'] * node['Actual Loops'],
  ...(node.Plans ?? []).flatMap((child) => countRowsRead(child)),
]
