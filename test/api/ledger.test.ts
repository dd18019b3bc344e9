import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { avoidMidnight, avoidMidnightMs } from '../support/clock.js'
import { expectExact } from '../support/ledger-fixture.js'
import { type ApiResponse, type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let second: World
beforeAll(async () => {
  await avoidMidnight()
  world = await World.open()
  // Each replica requires a separate folder for temporary files.
  second = await World.open({ DATA_DIR: join(world.dataDir, 'second'), STORAGE_URL: world.config.storageUrl }, world)
}, avoidMidnightMs)
afterAll(async () => {
  await second.close()
  await world.close()
})

const megabyte = 1_048_576
const onSecondReplica = (caller: Caller) => second.createCaller(caller.credential)
function countCodes(responses: ApiResponse[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, body } of responses) {
    const code = status === 201 ? 'stored' : body.error.code
    counts[code] = (counts[code] ?? 0) + 1
  }
  return counts
}
const createText = (bytes: number) => 'a'.repeat(bytes)

test("fills a context's quota exactly with fifty concurrent uploads on two replicas", async () => {
  const tenant = await world.createTenant()
  await tenant.createContext('edge', { storage_quota_mb: 1 })
  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      (index % 2 ? tenant.admin : onSecondReplica(tenant.admin)).upload('edge', `${index}.txt`, createText(megabyte / 16)),
    ),
  )
  expect(countCodes(responses)).toEqual({ stored: 16, quota_exceeded: 34 })
  expect((await tenant.admin.get('/contexts/edge')).body.data.storage_used_bytes).toBe(megabyte)
  const rejected = await tenant.admin.upload('edge', 'last.txt', 'x')
  expect(rejected.body.error).toMatchObject({ code: 'quota_exceeded', details: { remaining_bytes: 0, size_bytes: 1 } })
  // A quota rejection does not count as a blocked file, and freed bytes can be reused.
  expect((await tenant.admin.get('/stats')).body.data.security.files_blocked_total).toBe(0)
  const stored = responses.find(({ status }) => status === 201)!.body.data.file_id
  await tenant.admin.delete(`/files/${stored}`)
  expect((await onSecondReplica(tenant.admin).upload('edge', 'again.txt', createText(megabyte / 16))).status).toBe(201)
  expect((await tenant.admin.upload('edge', 'last.txt', 'x')).status).toBe(422)
})

test("fills a tenant's quota exactly with fifty concurrent uploads to two contexts", async () => {
  const tenant = await world.createTenant({ quotaMb: 1 })
  await tenant.createContext('one')
  await tenant.createContext('two')
  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      (index % 3 ? tenant.admin : onSecondReplica(tenant.admin)).upload(
        index % 2 ? 'one' : 'two',
        `${index}.txt`,
        createText(50_000),
      ),
    ),
  )
  // 20 files of 50,000 bytes leave 48,576 bytes of the quota, too few for another file.
  expect(countCodes(responses)).toEqual({ stored: 20, quota_exceeded: 30 })
  expect((await tenant.admin.upload('one', 'rest.txt', createText(48_576))).status).toBe(201)
  expect((await tenant.admin.get('/tenant')).body.data.storage_used_bytes).toBe(megabyte)
  expect((await tenant.admin.get('/stats')).body.data.storage_quota).toMatchObject({ used_percent: 100, remaining_bytes: 0 })
})

test('rejects an upload that exceeds the quota before reading its body', async () => {
  const tenant = await world.createTenant({ quotaMb: 1 })
  await tenant.createContext('notes')
  const response = await fetch(`${world.url}/api/v1/files/upload`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${tenant.admin.credential}`,
      'content-type': 'multipart/form-data; boundary=x',
    },
    // The client never sends the complete body, so the service must respond based on Content-Length.
    body: createText(2 * megabyte),
  })
  expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([422, 'quota_exceeded'])
  expect((await tenant.admin.upload('notes', 'a.txt', createText(megabyte))).status).toBe(201)
})

/** Runs a mix of calls by keys and by a user on two replicas. */
async function runMixedCalls(tenant: TestTenant): Promise<void> {
  await tenant.createContext('alpha', { storage_quota_mb: 1 })
  await tenant.createContext('beta', { max_file_size_mb: 1 })
  const keys = [tenant.admin, await tenant.createKey(['upload', 'download', 'metadata']), await tenant.createKey(['metadata'])]
  const user = await tenant.createUser(['upload', 'download', 'delete', 'metadata'])
  const ids: string[] = []
  const steps: (() => Promise<unknown>)[] = []
  for (let index = 0; index < 120; index++) {
    const by = [...keys, user][index % 4]!
    const caller = index % 2 ? by : onSecondReplica(by)
    const file = () => ids[index % Math.max(1, ids.length)] ?? 'file_none'
    steps.push(
      ...[
        async () => {
          const { body } = await caller.upload(index % 3 ? 'alpha' : 'beta', `${index}.txt`, createText(30_000 + index))
          if (body.data) ids.push(body.data.file_id)
        },
        () => caller.upload('alpha', 'evil.exe', 'MZ'),
        () => caller.upload('alpha', 'blank.txt', ' '),
        () => caller.upload('beta', 'broken.png', 'no picture'),
        () => caller.upload('beta', 'dry.txt', 'text', { path: '/files/validate' }),
        () => caller.get(`/files/${file()}`),
        () => caller.get(`/files/${file()}/metadata`),
        () => (index % 5 ? caller.get('/stats') : caller.delete(`/files/${file()}`)),
      ].filter((_, which) => (index + which) % 3 === 0),
    )
  }
  steps.push(() => tenant.admin.upload('beta', 'huge.txt', createText(megabyte + 1)))
  steps.push(() => tenant.admin.post(`/api-keys/${keys[2]!.id}/disable`))
  const queue = steps.values()
  await Promise.all(
    Array.from({ length: 12 }, async () => {
      for (const step of queue) await step()
    }),
  )
}

test('returns statistics that equal a recount after random calls on two replicas', async () => {
  const tenant = await world.createTenant()
  await runMixedCalls(tenant)
  await expectExact(world.databaseUrl)

  const { rows } = await world.database.pool.query(
    `SELECT operation || '_' || status AS what, count(*) AS n FROM call_logs WHERE tenant_id = $1 GROUP BY 1`,
    [tenant.tenantId],
  )
  const counted = Object.fromEntries(rows.map(({ what, n }) => [what, Number(n)])) as Record<string, number>
  const both = (operation: string) => (counted[`${operation}_success`] ?? 0) + (counted[`${operation}_failure`] ?? 0)
  const { data: stats } = (await tenant.admin.get('/stats')).body
  expect(stats.api_calls.by_operation).toEqual({
    upload: both('upload'),
    download: both('download'),
    metadata: both('metadata'),
    delete: both('delete'),
  })
  expect(stats.api_calls.today).toBe(stats.api_calls.by_status.success + stats.api_calls.by_status.failure)
  const held = (
    await world.database.pool.query(
      'SELECT count(*) AS n, coalesce(sum(size_bytes), 0)::bigint AS bytes FROM files WHERE tenant_id = $1',
      [tenant.tenantId],
    )
  ).rows[0]
  expect([stats.overview.total_files, stats.storage.total_bytes]).toEqual([held.n, held.bytes])
  const audited = await world.database.pool.query(
    `SELECT action, count(*) AS n, coalesce(sum((details->>'size_bytes')::bigint), 0)::bigint AS bytes FROM audit_logs WHERE tenant_id = $1 AND audit_type = 'file' GROUP BY 1`,
    [tenant.tenantId],
  )
  const created = audited.rows.find(({ action }) => action === 'created')
  expect(stats.files_uploaded.total).toBe(created.n)
  const chart = (await tenant.admin.get('/stats/charts/uploads?period=hourly&days=2')).body.data.data_points
  const sum = (field: string) => chart.reduce((total: number, point: Record<string, number>) => total + point[field]!, 0)
  expect([sum('count'), sum('total_bytes')]).toEqual([created.n, created.bytes])
  const storage = (await tenant.admin.get('/stats/charts/storage')).body.data.data_points.at(-1)
  expect(storage).toMatchObject({ total_bytes: held.bytes, files_count: held.n })

  // Rejected uploads by keys are logged with their error code, and those by users are only counted.
  const blocked = await world.database.pool.query(
    `SELECT error_code AS code, count(*) AS n FROM call_logs WHERE tenant_id = $1 AND error_code IN ('invalid_extension', 'size_exceeded', 'blank_file', 'corrupt_file', 'virus_detected') GROUP BY 1`,
    [tenant.tenantId],
  )
  for (const { code, n } of blocked.rows) expect(stats.security.by_reason[code]).toBeGreaterThanOrEqual(n)
  expect(stats.security.by_reason.size_exceeded).toBe(1)
  expect(Object.values(stats.security.by_reason as Record<string, number>).reduce((a, b) => a + b)).toBe(
    stats.security.files_blocked_total,
  )
})

test("counts users' downloads and rejected uploads even though calls by users are not logged", async () => {
  const tenant = await world.createTenant()
  await tenant.createContext('notes')
  const user = await tenant.createUser(['upload', 'download'])
  const { body } = await user.upload('notes', 'a.txt', 'text')
  await user.upload('notes', 'blank.txt', '')
  await user.get(`/files/${body.data.file_id}`)
  const { data: stats } = (await tenant.admin.get('/stats')).body
  expect(stats).toMatchObject({
    overview: { total_files: 1, total_downloads: 1 },
    api_calls: { by_operation: { upload: 0, download: 0 } },
    files_uploaded: { total: 1, today: 1 },
    security: { files_blocked_total: 1, blocked_today: 1, by_reason: { blank_file: 1 } },
  })
})

test('returns exact byte totals and counts above 2^32', async () => {
  const tenant = await world.createTenant({ quotaMb: 2_147_483_647 })
  const { context_id: contextId } = (await tenant.createContext('large', { storage_quota_mb: 2_147_483_647 })) as {
    context_id: string
  }
  const bytes = 5_000_000_000_123
  const calls = 6_000_000_007
  await world.database.pool.query(
    `WITH head AS (UPDATE tenant_heads SET files = $3, bytes = $4 WHERE tenant_id = $1) UPDATE file_totals SET files = $3, bytes = $4 WHERE tenant_id = $1 AND context_id = $2`,
    [tenant.tenantId, contextId, calls, bytes],
  )
  await world.database.pool.query(
    `INSERT INTO usage_counters (tenant_id, subject, grain, bucket, metadata_success, files_uploaded, bytes_uploaded, downloads)
     SELECT $1, s, g, CASE g WHEN 'total' THEN to_timestamp(0) ELSE date_trunc(g, now() - interval '2 days', 'UTC') END, $3, $3, $4, $3
     FROM unnest(ARRAY['', $2]) s CROSS JOIN unnest(ARRAY['hour', 'day', 'total']) g
     ON CONFLICT (tenant_id, subject, grain, bucket) DO UPDATE SET metadata_success = excluded.metadata_success, files_uploaded = excluded.files_uploaded, bytes_uploaded = excluded.bytes_uploaded, downloads = excluded.downloads`,
    [tenant.tenantId, contextId, calls, bytes],
  )
  await tenant.admin.upload('large', 'a.txt', 'four')
  const { data: stats } = (await tenant.admin.get('/stats')).body
  expect(stats).toMatchObject({
    overview: { total_files: calls + 1, total_downloads: calls },
    storage: { total_bytes: bytes + 4, by_context: [{ count: calls + 1, total_bytes: bytes + 4 }] },
    storage_quota: { used_bytes: bytes + 4, remaining_bytes: 2_147_483_647 * megabyte - bytes - 4 },
    files_uploaded: { total: calls + 1, today: 1 },
  })
  const points = async (chart: string) =>
    (await tenant.admin.get(`/stats/charts/${chart}?days=4`)).body.data.data_points as Record<string, number>[]
  expect((await points('uploads'))[1]).toMatchObject({ count: calls, total_bytes: bytes })
  expect((await points('storage')).map((point) => point.total_bytes)).toEqual([0, bytes, bytes, bytes + 4])
  expect((await points('api-calls'))[1]).toMatchObject({ total: calls, by_operation: { metadata: calls } })
  expect((await tenant.admin.get('/stats/by-context/files')).body.data[0]).toMatchObject({ file_count: calls + 1 })
  const totals = (await tenant.admin.get('/stats/logs?operation=metadata')).body.data.pagination
  expect(totals.total_items).toBeGreaterThan(calls)
  expect(totals.total_pages).toBe(Math.ceil(totals.total_items / 20))
  // Removes generated rows because they would falsify the recounts of other tests.
  await world.database.pool.query('DELETE FROM usage_counters WHERE tenant_id = $1', [tenant.tenantId])
})

test('truncates user agents to 512 bytes without splitting characters', async () => {
  const tenant = await world.createTenant()
  const agent = Buffer.from('é'.repeat(300), 'utf8').toString('latin1')
  await tenant.admin.get('/stats', { 'user-agent': agent })
  const stored = (await tenant.admin.get('/stats/logs?page_size=2')).body.data.data[0].user_agent as string
  expect(stored).toBe('é'.repeat(256))
  expect(Buffer.byteLength(stored)).toBe(512)
})
