import 'reflect-metadata'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { TenantDeletion } from '../../src/features/tenants/tenant-deletion.js'
import { newId } from '../../src/platform/ids.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open()
})
afterAll(() => world.close())

/** Creates a tenant with a number of files as rows without blobs. */
async function createTenant(files: number): Promise<TestTenant> {
  const tenant = await world.createTenant()
  const { context_id } = await tenant.createContext('many')
  await tenant.createContext('notes')
  await tenant.createUser(['metadata'])
  await query(
    `INSERT INTO files SELECT (jsonb_populate_record(NULL::files, jsonb_build_object('file_id', id, 'tenant_id', $1::text, 'context_id', $2::text, 'original_filename', 'a.txt',
       'content_type', 'text/plain', 'size_bytes', 1, 'checksum', repeat('0', 64), 'blob_path', $1 || '/' || id, 'metadata', '{}'::jsonb, 'validation', '{}'::jsonb, 'uploaded_by', 'system',
       'download_count', 0, 'created_at', now(), 'updated_at', now()))).* FROM unnest($3::text[]) id`,
    [tenant.tenantId, context_id, Array.from({ length: files }, () => newId('file'))],
  )
  return tenant
}

const query = async (text: string, values: unknown[] = []) => (await world.database.pool.query(text, values)).rows

async function listTablesWithRows(tenantId: string): Promise<string[]> {
  const tables = await query(
    `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' WHERE c.relkind = 'r' AND c.relname <> 'blob_garbage'`,
  )
  const found = await Promise.all(
    tables.map(async ({ name }) =>
      (await query(`SELECT 1 FROM ${name} WHERE tenant_id = $1`, [tenantId])).length > 0 ? name : '',
    ),
  )
  return found.filter((name) => name !== '')
}

test('deletes a tenant with many files in batches and schedules its blobs for deletion', async () => {
  const tenant = await createTenant(3_500)
  const deleted = await world.app.services.tenants.delete(tenant.tenantId, tenant.name)
  expect(deleted).toEqual({ tenantId: tenant.tenantId, files: 3_500 })
  const [garbage] = await query(
    `SELECT count(*)::int AS blobs, count(DISTINCT xmin::text)::int AS commits FROM blob_garbage WHERE starts_with(blob_path, $1) AND due_at <= now()`,
    [tenant.tenantId],
  )
  expect(garbage).toMatchObject({ blobs: 3_500 })
  expect(garbage!.commits).toBeGreaterThan(1)
  expect(await listTablesWithRows(tenant.tenantId)).toEqual([])
  expect((await tenant.admin.get('/files')).status).toBe(401)
})

test('each of two processes that delete the same tenant reports the total number of deleted files', async () => {
  const tenant = await createTenant(1_500)
  const command = new TenantDeletion(world.database)
  const service = new TenantDeletion(world.database)
  await command.startDeletion(tenant.tenantId)
  expect(await Promise.all([command.finishDeletion(tenant.tenantId), service.finishDeletion(tenant.tenantId)])).toEqual([
    1_500, 1_500,
  ])
  expect(await service.finishDeletion(tenant.tenantId)).toBe(1_500)
  expect(await service.isStarted(tenant.tenantId)).toBe(false)
  expect(await listTablesWithRows(tenant.tenantId)).toEqual([])
})

test('leaves no rows of a deleted tenant behind, despite concurrent calls', async () => {
  const { tenants, fold, storageHealth } = world.app.services
  for (let round = 0; round < 3; round++) {
    const tenant = await createTenant(1_200)
    const key = await tenant.createKey(['upload', 'download', 'metadata', 'delete'])
    let deleted = false
    const calls = Array.from({ length: 6 }, async (_, index) => {
      for (let call = 0; !deleted; call++) {
        const { body } = await key.upload('notes', `${index}-${call}.txt`, 'hello')
        if (body.data) {
          await key.get(`/files/${body.data.file_id}`)
          await key.delete(`/files/${body.data.file_id}`)
        }
        await key.get('/files/file_00000000000000000000000000')
        await tenant.admin.post('/api-keys', { name: 'one more' })
      }
    })
    await key.get('/files')
    await tenants.delete(tenant.tenantId, tenant.name)
    deleted = true
    await Promise.all(calls)
    // A fold discards the counts from the last calls.
    await fold.foldNow({ everyTenant: true })
    expect(await listTablesWithRows(tenant.tenantId)).toEqual([])
  }
  expect(await storageHealth.verify()).toMatchObject({ countersDrift: 0, filesWithoutBlob: 0 })
})

test("rejects a tenant's calls during its deletion without blocking other tenants", async () => {
  const [tenant, other] = [await createTenant(10), await world.createTenant()]
  await other.createContext('notes')
  const holder = await openLockingTransaction(tenant)
  const deleting = world.app.services.tenants.delete(tenant.tenantId, tenant.name)
  await waitFor(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%DELETE FROM files%'`,
  )
  expect((await tenant.admin.get('/files')).status).toBe(403)
  expect((await other.admin.upload('notes', 'a.txt', 'hello')).status).toBe(201)
  expect((await other.admin.get('/files')).body.data.pagination.total_items).toBe(1)
  await holder.query('ROLLBACK')
  await holder.end()
  expect((await deleting).files).toBe(10)
})

test('completes an interrupted tenant deletion even if the tenant is resumed', async () => {
  const tenant = await createTenant(1_500)
  const { tenants } = world.app.services
  const holder = await openLockingTransaction(tenant)
  const deleting = tenants.delete(tenant.tenantId, tenant.name).catch((error: Error) => error)
  await waitFor(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%DELETE FROM files%'`,
  )
  await query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%DELETE FROM files%'`,
  )
  expect(await deleting).toBeInstanceOf(Error)
  await holder.query('ROLLBACK')
  await holder.end()
  await expect(tenants.resume(tenant.tenantId)).rejects.toThrow(
    `Tenant '${tenant.tenantId}' is being deleted and cannot be changed.`,
  )
  await tenants.deletion.finishAllDeletions()
  expect(await listTablesWithRows(tenant.tenantId)).toEqual([])
  await expect(tenants.delete(tenant.tenantId, tenant.name)).rejects.toThrow(`Tenant '${tenant.tenantId}' was not found.`)
})

/** Opens a transaction that locks one of the tenant's files. */
async function openLockingTransaction(tenant: TestTenant): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: world.databaseUrl })
  await client.connect()
  await client.query('BEGIN')
  await client.query('SELECT 1 FROM files WHERE tenant_id = $1 LIMIT 1 FOR UPDATE', [tenant.tenantId])
  return client
}

async function waitFor(question: string): Promise<void> {
  while ((await query(question)).length === 0) await new Promise((resolve) => setTimeout(resolve, 20))
}
