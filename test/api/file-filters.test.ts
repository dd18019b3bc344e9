import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { getFirstId, newId } from '../../src/platform/ids.js'
import { createQuarantinedFile } from '../support/quarantined-file.js'
import { countFiles } from '../support/recount-files.js'
import { getData, getInvalidFields, getItems } from '../support/response-assertions.js'
import { type ApiResponse, type Caller, type TestTenant, World } from '../support/world.js'

interface StoredFile {
  fileId: string
  contextId: string
  contextKey: string
  name: string
  type: string
  size: number
  by: string
  checksum: string
}

let world: World
let tenant: TestTenant
let key: Caller
const uploaders = [newId('key'), newId('usr')]
let files: StoredFile[] = []

const names = ['Invoice', 'invoice-2', 'INVOICES', 'letter', 'Zebra', 'äpfel', 'a b&c?d', 'invoice', '😀']
const types = ['application/pdf', 'image/png', 'image/jpeg', 'text/plain']
// A fixed seed makes runs reproducible.
let seed = 7
const random = (below: number) => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
  return Math.floor((seed / 2_147_483_648) * below)
}
const pick = <T>(items: readonly T[]): T => items[random(items.length)]!
const uploadedAt = (hour: number) => Date.UTC(2026, 0, 1, hour)

const keep = (contextId: string, created: Omit<StoredFile, 'fileId' | 'contextId'>[], from = 0): StoredFile[] =>
  created.map((file, hour) => ({
    ...file,
    contextId,
    fileId: `${getFirstId('file', new Date(uploadedAt(from + hour))).slice(0, 15)}${newId('file').slice(15)}`,
  }))

const insert = async (tenantId: string, rows: StoredFile[]) => {
  await world.database.pool.query(
    `INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, uploaded_by, created_at, updated_at)
     SELECT "fileId", $1, "contextId", name, type, size, checksum, "fileId", by, now(), now()
     FROM jsonb_to_recordset($2) f("fileId" text, "contextId" text, name text, type text, size bigint, by text, checksum text)`,
    [tenantId, JSON.stringify(rows)],
  )
  await countFiles(world.database.pool, tenantId)
}

beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  key = await tenant.createKey(['metadata'])
  for (const [index, contextKey] of ['one', 'two'].entries()) {
    const context = await tenant.createContext(contextKey)
    const created = Array.from({ length: 130 }, () => ({
      contextKey,
      name: `${pick(names)}${random(3)}.bin`,
      type: pick(types),
      size: random(40),
      by: pick(uploaders),
      checksum: String(random(9)).repeat(64),
    }))
    files.push(...keep(String(context.context_id), created, index * 60))
  }
  await insert(tenant.tenantId, files)
  files = files.sort((a, b) => (a.fileId < b.fileId ? 1 : -1))
})
afterAll(() => world.close())

const toLowerCase = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
const compareByBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
const orders: Record<string, (a: StoredFile, b: StoredFile) => number> = {
  created_at: (a, b) => compareByBytes(a.fileId, b.fileId),
  original_filename: (a, b) => compareByBytes(toLowerCase(a.name), toLowerCase(b.name)) || compareByBytes(a.fileId, b.fileId),
  size_bytes: (a, b) => a.size - b.size || compareByBytes(a.fileId, b.fileId),
}

interface Filter {
  context?: string
  uploaded_by?: string
  content_type?: string
  name_prefix?: string
  search?: string
  start_date?: string
  end_date?: string
  sort?: string
  order?: string
}

/** Computes the expected list by filtering all files in memory. */
function expected(filter: Filter): string[] {
  const sort = filter.sort ?? (filter.name_prefix === undefined ? 'created_at' : 'original_filename')
  const found = files.filter(
    (file) =>
      (filter.context === undefined || file.contextKey === filter.context) &&
      (filter.uploaded_by === undefined || file.by === filter.uploaded_by) &&
      (filter.content_type === undefined ||
        file.type === filter.content_type ||
        (filter.content_type === 'image/*' && file.type.startsWith('image/'))) &&
      (filter.name_prefix === undefined || toLowerCase(file.name).startsWith(toLowerCase(filter.name_prefix))) &&
      (filter.search === undefined ||
        file.fileId === filter.search ||
        `sha256:${file.checksum}` === filter.search ||
        toLowerCase(file.name).includes(toLowerCase(filter.search))) &&
      (filter.start_date === undefined || getTime(file) >= Date.parse(filter.start_date)) &&
      (filter.end_date === undefined || getTime(file) <= Date.parse(filter.end_date)),
  )
  found.sort(orders[sort])
  const order = filter.order ?? (sort === 'original_filename' ? 'asc' : 'desc')
  return (order === 'desc' ? found.reverse() : found).map(({ fileId }) => fileId)
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const getTime = ({ fileId }: StoredFile) =>
  [...fileId.slice(5, 15)].reduce((time, letter) => time * 32 + alphabet.indexOf(letter), 0)

const span = { start_date: '2026-01-02T00:00:00Z', end_date: '2026-01-04T12:00:00Z' }
const filters: Record<string, () => Filter> = {
  'name in ascending order': () => ({ sort: 'original_filename' }),
  'name in descending order': () => ({ sort: 'original_filename', order: 'desc' }),
  'size in descending order': () => ({ sort: 'size_bytes' }),
  'size in ascending order': () => ({ sort: 'size_bytes', order: 'asc' }),
  'age, oldest first': () => ({ sort: 'created_at', order: 'asc' }),
  type: () => ({ content_type: 'application/pdf' }),
  'type wildcard': () => ({ content_type: 'image/*' }),
  'unknown type': () => ({ content_type: 'video/mp4' }),
  'name prefix': () => ({ name_prefix: 'iNVOICE' }),
  'name prefix in another letter case': () => ({ name_prefix: 'äp' }),
  period: () => span,
  'period, oldest first': () => ({ ...span, order: 'asc' }),
  'period, context and uploader': () => ({ ...span, context: 'two', uploaded_by: uploaders[0]! }),
  'period and size': () => ({ ...span, sort: 'size_bytes' }),
  'name prefix, newest first': () => ({ name_prefix: 'invoice', sort: 'created_at' }),
  'name prefix and period': () => ({ name_prefix: 'inv', ...span }),
  'part of the name': () => ({ search: 'VOICE' }),
  'part of the name with wildcards of SQL': () => ({ search: 'b&c?d' }),
  'percent sign, which no name contains': () => ({ search: '%' }),
  'part of the name, oldest first': () => ({ search: 'e', order: 'asc' }),
  'part of the name, largest first': () => ({ search: 'e', sort: 'size_bytes' }),
  'part of the name, prefix, context, type and period': () => ({
    ...span,
    search: 'ice',
    name_prefix: 'in',
    context: 'one',
    content_type: 'image/*',
    sort: 'original_filename',
  }),
  id: () => ({ search: files[17]!.fileId }),
  'id in another context': () => ({ search: files.find((file) => file.contextKey === 'one')!.fileId, context: 'two' }),
  checksum: () => ({ search: `sha256:${files[3]!.checksum}` }),
  'checksum and uploader, by name': () => ({
    search: `sha256:${files[3]!.checksum}`,
    uploaded_by: uploaders[0]!,
    sort: 'original_filename',
  }),
  'all filters': () => ({
    context: 'one',
    uploaded_by: uploaders[1]!,
    content_type: 'image/*',
    name_prefix: 'i',
    start_date: span.start_date,
    sort: 'size_bytes',
    order: 'asc',
  }),
}

const getNextLink = (response: ApiResponse): string | undefined =>
  /^<\/api\/v1(.*)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1]
const toCamelCase = (name: string) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())
const isName = (name: string) => ['sort', 'order'].includes(name)

describe.each(Object.keys(filters))('file lists filtered by %s', (name) => {
  test('returns each file of a filtered list exactly once across all pages', async () => {
    const filter = filters[name]!()
    const all = expected(filter)
    const observed: string[] = []
    for (let next: string | undefined = `/files?${new URLSearchParams({ ...filter, page_size: '7' })}`; next !== undefined; ) {
      const response: ApiResponse = await key.get(next)
      observed.push(...getItems(response).map((item: { file_id: string }) => item.file_id))
      expect(response.body.data.pagination.total_items).toBe(all.length)
      next = getNextLink(response)
      expect(response.body.data.pagination.has_next).toBe(next !== undefined)
    }
    expect(observed).toEqual(all)
  })

  test.each(['forwards', 'backwards'])(
    'pages %s through a GraphQL connection of files and returns the total',
    async (direction) => {
      const filter = filters[name]!()
      const all = expected(filter)
      const args = Object.entries(filter).map(
        ([member, value]) => `${toCamelCase(member)}: ${isName(member) ? value : JSON.stringify(value)}`,
      )
      const [count, place, cursor, more] =
        direction === 'forwards'
          ? ['first', 'after', 'endCursor', 'hasNextPage']
          : ['last', 'before', 'startCursor', 'hasPreviousPage']
      const observed: string[] = []
      for (let at: string | null = null; ; ) {
        const { body }: ApiResponse = await key.graphql(
          `query ($at: String) { filesConnection(${[...args, `${count}: 11, ${place}: $at`].join(', ')}) { totalCount edges { node { id } } pageInfo { ${cursor} ${more} } } }`,
          { at },
        )
        const { totalCount, edges, pageInfo } = body.data.filesConnection
        const ids = edges.map(({ node }: { node: { id: string } }) => node.id)
        if (direction === 'forwards') observed.push(...ids)
        else observed.unshift(...ids)
        expect(totalCount).toBe(all.length)
        if (!pageInfo[more!]) break
        at = pageInfo[cursor!]
      }
      expect(observed).toEqual(all)
    },
  )
})

test('pages through files between two cursors in both directions', async () => {
  const all = expected({ sort: 'size_bytes' })
  const list = async (args: string) => {
    const { body } = await key.graphql(
      `{ filesConnection(sort: size_bytes, ${args}) { edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage } } }`,
    )
    return body.data.filesConnection
  }
  const { edges } = await list('first: 50')
  const between = `after: "${edges[9].cursor}", before: "${edges[40].cursor}"`
  const ids = (list: { edges: { node: { id: string } }[] }) => list.edges.map(({ node }) => node.id)
  const first = await list(`first: 5, ${between}`)
  expect([ids(first), first.pageInfo]).toEqual([all.slice(10, 15), { hasNextPage: true, hasPreviousPage: true }])
  const last = await list(`last: 5, ${between}`)
  expect([ids(last), last.pageInfo]).toEqual([all.slice(35, 40), { hasNextPage: true, hasPreviousPage: true }])
  expect(ids(await list(`first: 100, ${between}`))).toEqual(all.slice(10, 40))
})

test('lists only files in the allowed contexts of a restricted key', async () => {
  const restricted = await tenant.createKey(['metadata'], { contexts: ['two'] })
  const { data, pagination } = getData(await restricted.get('/files?sort=size_bytes&page_size=100'))
  expect(new Set(data.map((file: { context_key: string }) => file.context_key))).toEqual(new Set(['two']))
  expect(pagination.total_items).toBe(expected({ context: 'two' }).length)
})

test("excludes other tenants' files from filtered file lists", async () => {
  const other = await world.createTenant()
  for (const name of Object.keys(filters))
    expect(getItems(await other.admin.get(`/files?${new URLSearchParams({ ...filters[name]!() })}`))).toEqual([])
})

test('reflects an added or deleted file immediately in a filtered file list', async () => {
  const own = await world.createTenant()
  await own.createContext('notes')
  const { file_id } = (await own.admin.upload('notes', 'Report.txt', 'text')).body.data
  for (const query of ['content_type=text/plain', 'content_type=text/*', 'name_prefix=rep', 'sort=size_bytes'])
    expect(getItems(await own.admin.get(`/files?${query}`))).toMatchObject([{ file_id }])
  await own.admin.delete(`/files/${file_id}`)
  for (const query of ['content_type=text/plain', 'name_prefix=rep', 'sort=size_bytes'])
    expect(getItems(await own.admin.get(`/files?${query}`))).toEqual([])
})

test.each([
  ['content_type=pdf', ['content_type']],
  ['content_type=*/*', ['content_type']],
  ['name_prefix=', ['name_prefix']],
  [`name_prefix=${'x'.repeat(256)}`, ['name_prefix']],
  ['start_date=yesterday&end_date=2026-02-30', ['end_date', 'start_date']],
  ['sort=name', ['sort']],
  ['sort=size_bytes&order=down', ['order']],
  ['sort=size_bytes&page=2', ['page']],
  ['content_type=text/plain&page=2', ['page']],
  ['prefix=x', ['prefix']],
])('rejects the file list query %s and names the invalid parameter', async (query, fields) => {
  expect(getInvalidFields(await key.get(`/files?${query}`))).toEqual(fields)
})

test('rejects a cursor from a file list with a different sort order', async () => {
  const response = await key.get('/files?sort=size_bytes&page_size=5')
  const after = new URL(getNextLink(response)!, 'http://x').searchParams.get('after')!
  expect(getInvalidFields(await key.get(`/files?sort=original_filename&after=${after}`))).toEqual(['after'])
  const { body } = await key.graphql('{ filesConnection(first: 1, last: 1) { totalCount } }')
  expect(body.errors[0].extensions.details.fields[0].field).toBe('last')
})

describe('lists of more than ten thousand files', () => {
  let many: TestTenant
  beforeAll(async () => {
    many = await world.createTenant()
    const context = await many.createContext('notes')
    const created = Array.from({ length: 10_050 }, (_, index) => ({
      contextKey: 'notes',
      name: `invoice-${index}.txt`,
      type: 'text/plain',
      size: index,
      by: uploaders[0]!,
      checksum: '0'.repeat(64),
    }))
    const rows = created.map((file, index) => ({
      ...file,
      contextId: String(context.context_id),
      fileId: `${getFirstId('file', new Date(uploadedAt(0) + index)).slice(0, 15)}${newId('file').slice(15)}`,
    }))
    await insert(many.tenantId, rows)
  })

  test('reports a total of at most 10,000 files for a filtered list', async () => {
    const counted = getData(await many.admin.get('/files?sort=size_bytes')).pagination.total_items
    const uncounted = getData(await many.admin.get('/files?content_type=text/plain')).pagination.total_items
    expect([counted, uncounted]).toEqual([10_050, 10_000])
    const { body } = await many.admin.graphql(
      '{ all: filesConnection(sort: size_bytes) { totalCount } texts: filesConnection(contentType: "text/*") { totalCount } }',
    )
    expect([body.data.all.totalCount, body.data.texts.totalCount]).toEqual([10_050, null])
  })

  test('rejects a request to sort more than ten thousand files and suggests a filter', async () => {
    for (const query of ['start_date=2026-01-01&sort=size_bytes', 'name_prefix=inv&start_date=2026-01-01']) {
      const response = await many.admin.get(`/files?${query}`)
      expect(getInvalidFields(response)).toEqual(['sort'])
      expect(response.body.message).toMatch(/more than 10000 files/)
    }
    expect(getItems(await many.admin.get('/files?name_prefix=invoice-99&start_date=2026-01-01&sort=size_bytes'))).toHaveLength(20)
  })
})

test('returns the time a file was quarantined over GraphQL, for single files and in lists', async () => {
  const other = await world.createTenant()
  await other.createContext('notes')
  await other.admin.upload('notes', 'fine.txt', 'fine')
  const fileId = await createQuarantinedFile(world, other, 'notes')
  const { body } = await other.admin.graphql('{ filesConnection { edges { node { id quarantinedAt } } } }')
  const nodes = body.data.filesConnection.edges.map(({ node }: { node: object }) => node)
  expect(nodes).toEqual([
    { id: fileId, quarantinedAt: expect.stringMatching(/^\d{4}-/) },
    { id: expect.any(String), quarantinedAt: null },
  ])
})
