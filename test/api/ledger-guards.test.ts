import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import pg from 'pg'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import { ReservedPaths } from '../../src/ledger/reserved-paths.js'
import { type ApiResponse, type TestTenant, World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open({ SCANNER_URL: 'none:' })
})
afterAll(() => world.close())

const query = (text: string, values: unknown[] = []) => world.database.pool.query(text, values)
const createTenant = async () => {
  const tenant = await world.createTenant()
  await tenant.createContext('notes', { scan_for_viruses: false })
  return tenant
}
const upload = (tenant: TestTenant, headers: Record<string, string> = {}) =>
  tenant.admin.upload('notes', 'a.txt', 'some text', { headers })
const countFiles = async (tenant: TestTenant): Promise<number> =>
  (await tenant.admin.get('/files')).body.data.pagination.total_items
const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }
const verifyStorage = () => world.app.services.storageHealth.verify({ readBlobs: true })

/** Opens a transaction that holds the locks acquired by the statement `lock` until `release` is called. */
async function holdLock(lock: string, values: unknown[]): Promise<{ query: pg.Client['query']; release: () => Promise<void> }> {
  const client = new pg.Client({ connectionString: world.databaseUrl })
  await client.connect()
  await client.query('BEGIN')
  await client.query(lock, values)
  return { query: client.query.bind(client), release: () => client.query('COMMIT').then(() => client.end()) }
}
const lockHead = (tenant: TestTenant) => holdLock('SELECT 1 FROM tenant_heads WHERE tenant_id = $1 FOR UPDATE', [tenant.tenantId])

async function waitForLockedSession(): Promise<void> {
  for (let waiting = 0; waiting === 0; )
    waiting = (await query("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"))
      .rowCount!
}

describe('blob retention during sweeps', () => {
  test("keeps the blob of an upload in progress even if the replica's clock is slow", async () => {
    const tenant = await createTenant()
    const now = Date.now()
    const clock = jest.spyOn(Date, 'now').mockReturnValue(now - 2 * 3_600_000)
    const leases = new ReservedPaths(world.database.writes)
    const path = await leases.takePath(tenant.tenantId, `${tenant.tenantId}/notes`)
    clock.mockRestore()
    const { rows } = await query(`SELECT due_at > now() + interval '1 hour' AS later FROM blob_garbage WHERE blob_path = $1`, [
      path,
    ])
    expect(rows).toEqual([{ later: true }])
    await leases.close()
  })

  test('keeps the blob of a completed upload after an interrupted sweep', async () => {
    const tenant = await createTenant()
    // The first upload leases blob paths, and the second upload uses one of them.
    await upload(tenant)
    const head = await lockHead(tenant)
    const response = upload(tenant)
    await waitForLockedSession()
    // Simulates an upload that takes longer than its path lease.
    await query(`UPDATE blob_garbage SET due_at = now() - interval '1 second' WHERE tenant_id = $1`, [tenant.tenantId])
    const sweeping = new pg.Pool({ connectionString: world.databaseUrl, application_name: 'a sweep', max: 2 })
    sweeping.on('error', () => {})
    let removing = () => {}
    const mayRemove = new Promise<void>((resolve) => {
      removing = resolve
    })
    const requested: string[] = []
    const sweep = new Sweeper(sweeping, {
      remove: async (path) => {
        if (requested.push(path) === 1)
          await query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'a sweep'`)
        await mayRemove
        await world.app.services.storage.remove(path)
      },
    })
      .sweep()
      .catch(() => {})
    while (requested.length === 0) await new Promise(setImmediate)
    await head.release()
    const { status, body } = await response
    removing()
    await sweep
    await sweeping.end()
    expect(status).toBe(201)
    const { download_url: url } = (await tenant.admin.get(`/files/${body.data.file_id}`)).body.data
    expect(await (await fetch(url)).text()).toBe('some text')
    expect(await verifyStorage()).toEqual(healthy)
  })
})

test('stores only one file for two uploads with the same Idempotency-Key even if the first is delayed', async () => {
  const tenant = await createTenant()
  const headers = { 'idempotency-key': 'frozen' }
  const head = await lockHead(tenant)
  const first = upload(tenant, headers)
  await waitForLockedSession()
  // Simulates a replica that was frozen until its Idempotency-Key lease expired.
  const { rowCount } = await query(`UPDATE idempotency_keys SET leased_until = now() - interval '1 second' WHERE key = 'frozen'`)
  expect(rowCount).toBe(1)
  const second = upload(tenant, headers)
  const isLeased = async () =>
    (await query(`SELECT 1 FROM idempotency_keys WHERE key = 'frozen' AND leased_until > now()`)).rowCount
  while ((await isLeased()) === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  await head.release()
  const toComparable = ({ status, body }: ApiResponse) => [status, body.data.file_id]
  expect(toComparable(await first)).toEqual(toComparable(await second))
  expect((await first).status).toBe(201)
  expect(await countFiles(tenant)).toBe(1)
  const { data } = (await tenant.admin.get('/stats/logs?operation=upload')).body.data
  expect(data.map(({ status }: { status: string }) => status)).toEqual(['success', 'success'])
})

describe("requests while another tenant's rows are locked", () => {
  test("serves tenant A while tenant B's rows are locked", async () => {
    const [a, b] = [await createTenant(), await createTenant()]
    const head = await lockHead(b)
    // Sends more requests than there are database connections.
    const stuck = Promise.all(Array.from({ length: 40 }, () => upload(b)))
    const renamed = b.admin.patch('/tenant', { name: 'B' })
    await waitForLockedSession()
    for (let round = 0; round < 5; round++) {
      expect((await a.admin.get('/files')).status).toBe(200)
      expect((await a.admin.get('/stats')).status).toBe(200)
      expect((await upload(a)).status).toBe(201)
      expect((await a.admin.patch('/tenant', { name: `A ${round}` })).status).toBe(200)
      expect((await b.admin.get('/files')).status).toBe(200)
    }
    await head.release()
    expect(new Set((await stuck).map(({ status }) => status))).toEqual(new Set([201]))
    expect((await renamed).status).toBe(200)
  })

  test("returns 503 and stores nothing if a tenant's rows are locked for ten seconds", async () => {
    const b = await createTenant()
    const head = await lockHead(b)
    expect(await upload(b)).toMatchObject({ status: 503, body: { error: { code: 'database_unavailable' } } })
    await head.release()
    expect(await countFiles(b)).toBe(0)
    expect((await upload(b)).status).toBe(201)
  })
})

describe('changes during ledger transactions', () => {
  const changes: [string, (tenant: TestTenant, keyId: string) => Promise<{ status?: number }>][] = [
    ['lowers the tenant quota', (tenant) => tenant.admin.patch('/tenant', { storage_quota_mb: 1 })],
    ['lowers a context quota', (tenant) => tenant.admin.patch('/contexts/notes', { storage_quota_mb: 1 })],
    ['disables a context', (tenant) => tenant.admin.patch('/contexts/notes', { status: 'disabled' })],
    ['disables a key', (tenant, keyId) => tenant.admin.post(`/api-keys/${keyId}/disable`)],
    ['suspends the tenant', (tenant) => world.app.services.tenants.suspend(tenant.tenantId).then(() => ({ status: 200 }))],
  ]
  test.each(changes)(
    'waits for pending ledger transactions to finish before completing an operation that %s',
    async (_what, change) => {
      const tenant = await createTenant()
      const { id } = await tenant.createKey(['upload'])
      // Simulates another replica that has processed a group of entries but not yet committed it.
      const older = await holdLock(`SELECT ledger_move($1, '{"entries": 1}')`, [tenant.tenantId])
      let responded = false
      const response = change(tenant, id).finally(() => {
        responded = true
      })
      await waitForLockedSession()
      expect(responded).toBe(false)
      await older.release()
      expect(await response).toMatchObject({ status: 200 })
    },
  )
})

describe('upload rules', () => {
  const send = (tenant: TestTenant, name = 'a.txt', content: string | Buffer = 'some text') =>
    tenant.admin.upload('notes', name, content)
  const change = (tenant: TestTenant, changes: object) => tenant.admin.patch('/contexts/notes', changes)
  const json = { allowed_extensions: ['json'] }

  test('applies the rules in effect at commit time even if they changed after validation', async () => {
    const tenant = await createTenant()
    expect((await send(tenant)).status).toBe(201)
    const other = await lockHead(tenant)
    const response = send(tenant)
    await waitForLockedSession()
    await other.query(
      "UPDATE file_contexts SET allowed_extensions = '{json}', rules_version = rules_version + 1, updated_at = now() WHERE tenant_id = $1",
      [tenant.tenantId],
    )
    await other.release()
    expect(await response).toMatchObject({ status: 422, body: { error: { code: 'invalid_extension' } } })
    expect(await countFiles(tenant)).toBe(1)
    expect(await verifyStorage()).toMatchObject(healthy)
  })

  test('applies new rules to uploads as soon as the update returns', async () => {
    const tenant = await createTenant()
    expect((await send(tenant)).status).toBe(201)
    await change(tenant, json)
    expect((await send(tenant)).status).toBe(422)
    expect((await send(tenant, 'a.json', '{}')).status).toBe(201)
    await change(tenant, { allowed_extensions: ['txt'] })
    expect((await send(tenant)).status).toBe(201)
    await change(tenant, { max_file_size_mb: 1 })
    const large = Buffer.alloc(1_500_000, 'some text ')
    expect((await send(tenant, 'a.txt', large)).status).toBe(413)
    await change(tenant, { max_file_size_mb: 2 })
    expect((await send(tenant, 'a.txt', large)).status).toBe(201)
    await change(tenant, { status: 'disabled' })
    expect((await send(tenant)).status).toBe(409)
    await change(tenant, { status: 'active' })
    expect((await send(tenant)).status).toBe(201)
  })

  test('applies the rules of a new context that reuses the key of a deleted context', async () => {
    const tenant = await createTenant()
    const { body } = await send(tenant)
    await tenant.admin.delete(`/files/${body.data.file_id}`)
    expect((await tenant.admin.delete('/contexts/notes')).status).toBe(200)
    expect((await send(tenant)).status).toBe(404)
    await tenant.createContext('notes', { scan_for_viruses: false, ...json })
    expect((await send(tenant)).status).toBe(422)
    expect((await send(tenant, 'a.json', '{}')).status).toBe(201)
    expect(await countFiles(tenant)).toBe(1)
    expect(await verifyStorage()).toMatchObject(healthy)
  })
})

describe('rule changes during an upload', () => {
  /** Changes the context after an upload has read its rules, then sends the rest of the file. */
  async function uploadDuring(tenant: TestTenant, name: string, change: () => Promise<ApiResponse>): Promise<ApiResponse> {
    const read = jest.spyOn(world.app.services.contexts, 'findWithCache')
    const part = (header: string) => `--b\r\nContent-Disposition: form-data; ${header}\r\n\r\n`
    async function* body() {
      yield Buffer.from(`${part('name="context"')}notes\r\n${part(`name="file"; filename="${name}"`)}some `)
      while (read.mock.results.length === 0) await new Promise(setImmediate)
      await read.mock.results[0]!.value
      expect((await change()).status).toBe(200)
      yield Buffer.from('text\r\n--b--\r\n')
    }
    try {
      return await tenant.admin.raw('/api/v1/files/upload', {
        method: 'POST',
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
        body: ReadableStream.from(body()),
        duplex: 'half',
      } as RequestInit)
    } finally {
      read.mockRestore()
    }
  }

  test('accepts an upload in progress that only the old rules would reject', async () => {
    const tenant = await createTenant()
    const response = await uploadDuring(tenant, 'a.log', () =>
      tenant.admin.patch('/contexts/notes', { allowed_extensions: ['log'] }),
    )
    expect(response.status).toBe(201)
    expect((await tenant.admin.get('/stats')).body.data.security.files_blocked_total).toBe(0)
  })

  test('rejects an upload in progress that violates only the new rules', async () => {
    const tenant = await createTenant()
    const response = await uploadDuring(tenant, 'a.txt', () =>
      tenant.admin.patch('/contexts/notes', { allowed_extensions: ['pdf'] }),
    )
    expect([response.status, response.body.error.code]).toEqual([422, 'invalid_extension'])
  })

  test('rejects an upload in progress if its context is disabled', async () => {
    const tenant = await createTenant()
    const response = await uploadDuring(tenant, 'a.log', () => tenant.admin.patch('/contexts/notes', { status: 'disabled' }))
    expect([response.status, response.body.error.code]).toEqual([409, 'conflict'])
  })
})

describe('uploads that start with outdated context rules', () => {
  /** Sends a file after the change, with the old rules for the whole request or only when the form arrives. */
  async function sendWithOldRules(
    tenant: TestTenant,
    change: object,
    { path, name, content, isOnlyForm = false }: { path: string; name: string; content: string | Buffer; isOnlyForm?: boolean },
  ) {
    const { contexts } = world.app.services
    const actor = { tenantId: tenant.tenantId, contexts: null } as never
    const old = await contexts.find(actor, 'notes')
    expect((await tenant.admin.patch('/contexts/notes', change)).status).toBe(200)
    const read = jest.spyOn(contexts, 'findWithCache')
    if (isOnlyForm) read.mockResolvedValueOnce(old)
    else read.mockResolvedValue(old)
    try {
      return await tenant.admin.upload('notes', name, content, { path })
    } finally {
      read.mockRestore()
    }
  }

  test.each(['/files/upload', '/files/validate'])(
    'applies the new rules to a POST %s request that started with outdated rules',
    async (path) => {
      const tenant = await createTenant()
      const log = { name: 'a.log', content: 'some text' }
      const accepted = await sendWithOldRules(tenant, { allowed_extensions: ['log'] }, { path, ...log })
      expect([200, 201]).toContain(accepted.status)
      const rejected = await sendWithOldRules(tenant, { allowed_extensions: ['pdf'] }, { path, ...log })
      expect(rejected.body.error?.code ?? rejected.body.data.reason).toBe('invalid_extension')
    },
  )

  test.each([
    ['/files/upload', false],
    ['/files/upload', true],
    ['/files/validate', false],
    ['/files/validate', true],
  ])(
    'returns 503 for POST %s if the file exceeds only an outdated size limit (outdated at the first read only: %s)',
    async (path, isOnlyForm) => {
      const tenant = await createTenant()
      await tenant.admin.patch('/contexts/notes', { max_file_size_mb: 1 })
      const content = Buffer.alloc(1_500_000, 'text\n')
      const response = await sendWithOldRules(tenant, { max_file_size_mb: 2 }, { path, name: 'a.txt', content, isOnlyForm })
      expect([response.status, response.body.error.code]).toEqual([503, 'storage_unavailable'])
      expect([200, 201]).toContain((await tenant.admin.upload('notes', 'a.txt', content, { path })).status)
    },
  )

  test('rejects a file that also exceeds the new size limit, and names the new limit in the error', async () => {
    const tenant = await createTenant()
    await tenant.admin.patch('/contexts/notes', { max_file_size_mb: 2 })
    const upload = { path: '/files/upload', name: 'a.txt', content: Buffer.alloc(3_000_000, 'text\n') }
    const response = await sendWithOldRules(tenant, { max_file_size_mb: 1 }, upload)
    expect([response.status, response.body.error.code]).toEqual([413, 'size_exceeded'])
    expect(response.body.message).toContain('1 MB')
  })

  test('stores nothing if the context is disabled after its rules are read', async () => {
    const tenant = await createTenant()
    const response = await sendWithOldRules(
      tenant,
      { status: 'disabled' },
      { path: '/files/upload', name: 'a.txt', content: 'some text' },
    )
    expect([response.status, response.body.error.code]).toEqual([409, 'conflict'])
    expect(await countFiles(tenant)).toBe(0)
  })
})
