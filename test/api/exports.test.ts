import http from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { seedCalls } from '../support/ledger-fixture.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('notes')
  const key = await tenant.createKey(['upload', 'download', 'metadata'], { name: '=HYPERLINK("http://evil", "x")' })
  await key.upload('notes', 'a.txt', 'text')
  await key.upload('notes', 'line\u2028 "quoted", comma.txt', ' ')
  await key.get('/stats', { 'user-agent': '+1-2, "agent"' })
  await key.get('/stats', { 'user-agent': '@SUM(A1)' })
  await key.get('/files/file_none')
})
afterAll(() => world.close())

const splitLines = (text: string) => text.split('\n').filter((line) => line !== '')
const parseNdjson = (text: string) => splitLines(text).map((line) => JSON.parse(line))

/** Parses CSV (RFC 4180) into rows of unquoted cells. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    row.push(quoted === undefined ? plain! : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    rows.push(row)
    row = []
  }
  return rows
}

test('exports the entries of the call log as NDJSON, excluding the export itself', async () => {
  const all = (await tenant.admin.get('/stats/logs?page_size=100')).body.data.data
  const response = await tenant.admin.get('/stats/logs/export')
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
  expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="call-logs-\d{4}-\d{2}-\d{2}\.ndjson"$/)
  const [listing, ...before] = parseNdjson(response.body)
  expect(listing).toMatchObject({ operation: 'metadata', status: 'success' })
  expect(before).toEqual(all)
  const [logged] = (await tenant.admin.get('/stats/logs?page_size=1')).body.data.data
  expect(logged).toMatchObject({ api_key_id: tenant.admin.id, operation: 'metadata', status: 'success' })
})

test('exports the call log as CSV with a header row and escaped formulas', async () => {
  const filter = 'status=success&operation=metadata'
  const response = await tenant.admin.get(`/stats/logs/export?format=csv&${filter}`)
  const entries = (await tenant.admin.get(`/stats/logs?page_size=100&${filter}`)).body.data.data.slice(1)
  expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
  expect(response.headers.get('content-disposition')).toMatch(/\.csv"$/)
  const [head, ...rows] = parseCsv(response.body)
  expect(head).toEqual(Object.keys(entries[0]))
  const harmless = (cell: string | null) => (cell === null ? '' : /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell)
  expect(rows).toEqual(entries.map((entry: Record<string, string | null>) => Object.values(entry).map(harmless)))
  expect(rows.flat()).toEqual(expect.arrayContaining([`'=HYPERLINK("http://evil", "x")`, `'+1-2, "agent"`, `'@SUM(A1)`]))
})

test('exports audit logs as NDJSON and CSV with the same filters as the list', async () => {
  const listed = async (query: string) => (await tenant.admin.get(`/audit-logs?page_size=100${query}`)).body.data.data
  expect(parseNdjson((await tenant.admin.get('/audit-logs/export?format=ndjson')).body)).toEqual(await listed(''))
  for (const query of ['&audit_type=file', '&action=created', '&audit_type=api_key&action=created', '&entity_id=key_none'])
    expect(parseNdjson((await tenant.admin.get(`/audit-logs/export?${query}`)).body)).toEqual(await listed(query))
  const [head, ...rows] = parseCsv((await tenant.admin.get('/audit-logs/export?format=csv&audit_type=file')).body)
  const [entry] = await listed('&audit_type=file')
  expect(rows).toHaveLength(1)
  const cells = Object.fromEntries(head!.map((name, index) => [name, rows[0]![index]]))
  expect({ ...cells, performed_by_scopes: JSON.parse(cells.performed_by_scopes!), details: JSON.parse(cells.details!) }).toEqual({
    ...entry,
    performed_by_name: `'${entry.performed_by_name}`,
    performed_by_email: '',
  })
})

describe('rejected exports', () => {
  const invalidCases: [string, string[]][] = [
    ['/stats/logs/export?format=xml', ['format']],
    ['/stats/logs/export?format=', ['format']],
    [
      '/stats/logs/export?format=pdf&operation=admin&status=&start_date=yesterday&end_date=2026-13-01',
      ['format', 'operation', 'status', 'start_date', 'end_date'],
    ],
    ['/stats/logs/export?status=success&status=failure', ['status']],
    ['/audit-logs/export?format=json&audit_type=user&action=read', ['format', 'audit_type', 'action']],
  ]
  test.each(invalidCases)('returns 400 for the export %s', async (path, fields) => {
    const { status, body } = await tenant.admin.get(path)
    expect([status, body.status, body.error.code]).toEqual([400, 'ERROR', 'bad_user_input'])
    expect(body.error.details.fields.map(({ field }: { field: string }) => field).sort()).toEqual([...fields].sort())
  })

  test('rejects an export request with an insufficient credential or a method other than GET', async () => {
    const code = async (caller: Caller, path: string) => {
      const { status, body } = await caller.get(path)
      return [status, body.error?.code ?? body]
    }
    const [uploader, reader] = [await tenant.createKey(['upload']), await tenant.createKey(['metadata'])]
    const restricted = await tenant.createKey(['metadata'], { contexts: ['notes'] })
    expect(await code(uploader, '/stats/logs/export')).toEqual([403, 'forbidden'])
    expect(await code(reader, '/audit-logs/export')).toEqual([403, 'forbidden'])
    expect(await code(restricted, '/stats/logs/export')).toEqual([403, 'forbidden'])
    expect(await code(world.unauthenticated, '/stats/logs/export')).toEqual([401, 'unauthenticated'])
    const posted = await tenant.admin.post('/stats/logs/export', {})
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    // The call log includes rejected calls of API keys.
    for (const key of [uploader, restricted])
      expect((await tenant.admin.get(`/stats/logs?api_key_id=${key.id}`)).body.data.data).toMatchObject([
        { operation: 'metadata', status: 'failure' },
      ])
  })

  test('does not export rows that belong to other tenants', async () => {
    const other = await world.createTenant()
    expect((await other.admin.get('/stats/logs/export')).body).toBe('')
    expect((await other.admin.get(`/stats/logs/export?api_key_id=${tenant.admin.id}`)).body).toBe('')
    expect(parseNdjson((await other.admin.get('/audit-logs/export')).body).map((entry) => entry.entity_type)).not.toContain(
      'file',
    )
  })
})

describe('large exports', () => {
  let large: TestTenant
  const count = 40_000
  beforeAll(async () => {
    large = await world.createTenant()
    await seedCalls(
      world.databaseUrl,
      large.tenantId,
      Array.from({ length: count }, (_, index) => ({
        at: new Date(Date.now() - index * 100_000 - 1000),
        apiKeyId: large.admin.id,
        operation: 'metadata' as const,
        status: 'success' as const,
      })),
    )
  })

  /** Opens an export and reads its body only on demand. */
  const open = () =>
    new Promise<http.IncomingMessage>((resolve, reject) => {
      const headers = { authorization: `Bearer ${large.admin.credential}` }
      http.get(`${world.url}/api/v1/stats/logs/export`, { headers, agent: false }, resolve).on('error', reject)
    })
  const exporters = async () =>
    (
      await world.database.pool.query<{ at: string }>(
        `SELECT query_start::text AS at FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'assay export' ORDER BY 1`,
      )
    ).rows.map(({ at }) => at)
  const until = async (what: () => Promise<boolean>) => {
    while (!(await what())) await new Promise((resolve) => setTimeout(resolve, 20))
  }

  test('exports each row from several months exactly once', async () => {
    const ids = parseNdjson((await large.admin.get('/stats/logs/export')).body).map(({ call_id }) => call_id)
    expect(ids).toHaveLength(count)
    expect(new Set(ids).size).toBe(count)
    expect(ids).toEqual([...ids].sort().reverse())
  })

  test('waits for a slow client during an export and stops if the client disconnects', async () => {
    const slow = await open()
    expect(slow.statusCode).toBe(200)
    // An unread export pauses because the service fetches no further rows.
    let observed: string[] = []
    await until(async () => {
      const before = observed
      await new Promise((resolve) => setTimeout(resolve, 100))
      observed = await exporters()
      return before.length > 0 && before.join() === observed.join()
    })
    expect(observed).toHaveLength(1)
    slow.destroy()
    await until(async () => (await exporters()).length === 0)
    expect(world.log.text).not.toContain('An export failed')
  })

  test('limits the number of concurrent exports', async () => {
    // A disconnected client's slot is freed only after its connection closes.
    const startExport = async () => {
      let response = await open()
      while (response.statusCode !== 200) response = await open()
      return response
    }
    const running = [await startExport(), await startExport()]
    const rejected = await large.admin.get('/stats/logs/export')
    expect([rejected.status, rejected.body.error.code, rejected.headers.get('retry-after')]).toEqual([429, 'rate_limited', '1'])
    expect(rejected.body.error.details).toEqual({ retry_after: 1 })
    const problem = await large.admin.get('/stats/logs/export', { accept: 'application/problem+json' })
    expect([problem.status, problem.headers.get('retry-after')]).toEqual([429, '1'])
    // Another tenant's exports have a separate limit.
    expect((await tenant.admin.get('/stats/logs/export')).status).toBe(200)
    for (const response of running) response.destroy()
    await until(async () => (await large.admin.get('/stats/logs/export?format=csv')).status === 200)
  })

  test('counts an export towards the limit only until it ends', async () => {
    const { database } = world
    const { connectDedicatedReads: dedicatedReads } = database
    database.connectDedicatedReads = async (name) => {
      const connection = await dedicatedReads(name)
      const end = connection.end.bind(connection) as () => Promise<void>
      connection.end = (async () => {
        await new Promise((resolve) => setTimeout(resolve, 200))
        await end()
      }) as typeof connection.end
      return connection
    }
    try {
      for (const method of ['GET', 'HEAD'])
        for (let times = 0; times < 4; times++)
          expect((await tenant.admin.raw('/api/v1/stats/logs/export', { method })).status).toBe(200)
    } finally {
      database.connectDedicatedReads = dedicatedReads
    }
  })
})
