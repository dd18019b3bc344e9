import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { type TestTenant, World } from '../support/world.js'

// What is larger than 256 KiB and in memory is written to the disk while it is judged.
let world: World
beforeAll(async () => {
  world = await World.open({ SCANNER_URL: 'none:' })
})
afterAll(() => world.close())

const megabyte = 1024 * 1024
const sound = Buffer.alloc(megabyte, 'some text\n')
const blank = Buffer.alloc(megabyte, ' ')
const rules = { scan_for_viruses: false, reject_blank_files: true }
const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }

const newTenant = async () => {
  const tenant = await world.tenant()
  await tenant.context('notes', rules)
  return tenant
}
const send = (tenant: TestTenant, content = sound, headers: Record<string, string> = {}) =>
  tenant.admin.upload('notes', 'a.txt', content, { headers })
const query = (text: string, values: unknown[]) => world.database.pool.query(text, values)

async function blobsOf({ tenantId }: TestTenant): Promise<string[]> {
  const paths: string[] = []
  for await (const { path } of world.app.services.storage.list()) if (path.startsWith(`${tenantId}/`)) paths.push(path)
  return paths
}

const expectWhole = async (tenant: TestTenant, files: number) => {
  expect(await blobsOf(tenant)).toHaveLength(files)
  expect((await tenant.admin.get('/files')).body.data.pagination.total_items).toBe(files)
  expect(await world.app.services.storageHealth.verify({ deep: true })).toMatchObject(healthy)
}

describe('a file that is refused', () => {
  test('is not in the store when that is answered, and however many are refused, the journal of garbage has few paths', async () => {
    const tenant = await newTenant()
    expect((await send(tenant)).status).toBe(201)
    for (let times = 0; times < 12; times++) expect(await send(tenant, blank)).toMatchObject({ status: 422 })
    await expectWhole(tenant, 1)
    expect((await tenant.admin.get('/stats')).body.data.security.files_blocked_total).toBe(12)
    const { rowCount } = await query('SELECT 1 FROM blob_garbage WHERE tenant_id = $1', [tenant.tenantId])
    expect(rowCount).toBeLessThan(8)
  })

  test('beside those that are kept, takes nothing from them', async () => {
    const tenant = await newTenant()
    const answers = await Promise.all(Array.from({ length: 16 }, (_, at) => send(tenant, at % 2 ? blank : sound)))
    expect(answers.map(({ status }) => status)).toEqual(answers.map((_, at) => (at % 2 ? 422 : 201)))
    await expectWhole(tenant, 8)
  })

  test('by its quota, leaves nothing either', async () => {
    const tenant = await newTenant()
    await tenant.admin.patch('/contexts/notes', { storage_quota_mb: 1 })
    const answers = await Promise.all([send(tenant), send(tenant), send(tenant)])
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422])
    await expectWhole(tenant, 1)
  })
})

test('repeated with its Idempotency-Key, it is written once', async () => {
  const tenant = await newTenant()
  const headers = { 'idempotency-key': 'once' }
  const answers = await Promise.all([send(tenant, sound, headers), send(tenant, sound, headers)])
  expect(answers.map(({ status }) => status)).toEqual([201, 201])
  await expectWhole(tenant, 1)
})

test('a file whose context stores elsewhere by then lies there, and nowhere else', async () => {
  const tenant = await newTenant()
  expect((await send(tenant)).status).toBe(201)
  const other = new pg.Client({ connectionString: world.databaseUrl })
  await other.connect()
  await other.query('BEGIN')
  await other.query('SELECT 1 FROM tenant_heads WHERE tenant_id = $1 FOR UPDATE', [tenant.tenantId])
  const answer = send(tenant)
  const waits = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
  while ((await query(waits, [])).rowCount === 0);
  await other.query(
    "UPDATE file_contexts SET storage_path_template = 'elsewhere/{context_key}', rules_version = rules_version + 1, updated_at = now() WHERE tenant_id = $1",
    [tenant.tenantId],
  )
  await other.query('COMMIT')
  await other.end()
  expect(await answer).toMatchObject({ status: 201 })
  const blobs = await blobsOf(tenant)
  expect(blobs.filter((path) => path.includes('elsewhere'))).toHaveLength(1)
  await expectWhole(tenant, 2)
})
