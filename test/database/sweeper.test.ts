import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import pg from 'pg'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import type { BlobStorage } from '../../src/platform/storage/blob-storage.js'
import { createTestDatabase, type TestDatabase } from '../support/database.js'

let database: TestDatabase
let pool: pg.Pool
beforeAll(async () => {
  database = await createTestDatabase()
  pool = new pg.Pool({ connectionString: database.url })
  pool.on('error', () => {})
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})
beforeEach(async () => {
  await pool.query('DELETE FROM blob_garbage')
  await pool.query(
    `INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT 'ten_x', 'ten_x/' || n, now() - interval '1 minute' FROM generate_series(1, 64) n`,
  )
})

/** A fake store that only deletes. `requested` contains the requested paths. */
function createStore(remove: (path: string) => Promise<void>): { storage: BlobStorage; requested: string[] } {
  const requested: string[] = []
  const removing = {
    remove: (path: string) => {
      requested.push(path)
      return remove(path)
    },
  }
  return { storage: removing as unknown as BlobStorage, requested }
}

const countJournal = async () => Number((await pool.query('SELECT count(*) AS n FROM blob_garbage')).rows[0].n)

test('deletes due blobs and their garbage journal entries in a sweep', async () => {
  const { storage, requested } = createStore(async () => {})
  expect(await new Sweeper(pool, storage).sweep()).toEqual({ removed: 64, failed: 0 })
  expect([requested.length, await countJournal()]).toEqual([64, 0])
})

test('prevents an upload from using a path that a sweep has claimed', async () => {
  let ended: Promise<unknown> | undefined
  const { storage } = createStore(async () => {
    ended ??= pool.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1',
      ['sweeping'],
    )
    await ended
  })
  const sweeping = new pg.Pool({ connectionString: database.url, max: 1, application_name: 'sweeping' })
  sweeping.on('error', () => {})
  await new Sweeper(sweeping, storage).sweep().catch(() => {})
  await sweeping.end()
  const { rows } = await pool.query(
    'SELECT count(*) FILTER (WHERE NOT taken) AS free, count(*) FILTER (WHERE due_at <= now()) AS due FROM blob_garbage',
  )
  expect([Number(rows[0].free), Number(rows[0].due)]).toEqual([0, 0])
})

test('keeps no transaction open while the store deletes blobs in a sweep', async () => {
  let open: number | undefined
  const { storage } = createStore(async () => {
    const { rowCount } = await pool.query(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'",
    )
    open = Math.max(open ?? 0, rowCount ?? 0)
  })
  expect(await new Sweeper(pool, storage).sweep()).toEqual({ removed: 64, failed: 0 })
  expect(open).toBe(0)
})

test('deletes paths that an earlier, crashed sweep had claimed', async () => {
  await pool.query('UPDATE blob_garbage SET taken = true')
  expect(await new Sweeper(pool, createStore(async () => {}).storage).sweep()).toEqual({ removed: 64, failed: 0 })
  expect(await countJournal()).toBe(0)
})

test('postpones the deletion of a blob if the store cannot delete it', async () => {
  const { storage } = createStore(async (path) => {
    if (path === 'ten_x/7') throw new Error('no response within 10 ms')
  })
  const reported: string[] = []
  const sweeper = new Sweeper(pool, storage, (path, reason) => reported.push(`${path}: ${reason}`))
  expect(await sweeper.sweep()).toEqual({ removed: 63, failed: 1 })
  expect(reported).toEqual(['ten_x/7: Error: no response within 10 ms'])
  const { rows } = await pool.query('SELECT blob_path, due_at > now() AS later FROM blob_garbage')
  expect(rows).toEqual([{ blob_path: 'ten_x/7', later: true }])
})

test('finishes the current batch when a sweep is stopped', async () => {
  await pool.query(
    `INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT 'ten_y', 'ten_y/' || n, now() FROM generate_series(1, 200) n`,
  )
  const { storage } = createStore(async () => {})
  let batches = 0
  expect(await new Sweeper(pool, storage).sweep(() => ++batches <= 2)).toEqual({ removed: 128, failed: 0 })
  expect(await countJournal()).toBe(136)
})

test('never deletes the blob of an existing file even if the garbage journal lists it', async () => {
  await pool.query(`INSERT INTO tenants (tenant_id, name, created_at, updated_at) VALUES ('ten_x', 'X', now(), now())`)
  await pool.query(
    `INSERT INTO file_contexts (context_id, tenant_id, context_key, display_name, allowed_extensions, max_file_size_mb, created_at, updated_at)
     VALUES ('ctx_x', 'ten_x', 'notes', 'N', '{txt}', 1, now(), now())`,
  )
  await pool.query(
    `INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, uploaded_by, created_at, updated_at)
     VALUES ('file_x', 'ten_x', 'ctx_x', 'a.txt', 'text/plain', 1, repeat('0', 64), 'ten_x/7', 'key_x', now(), now())`,
  )
  const { storage, requested } = createStore(async () => {})
  expect(await new Sweeper(pool, storage).sweep()).toEqual({ removed: 63, failed: 0 })
  expect(requested).not.toContain('ten_x/7')
})
