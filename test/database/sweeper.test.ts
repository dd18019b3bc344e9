import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import pg from 'pg'
import { Sweeper } from '../../src/maintenance/sweeper.js'
import type { BlobStorage } from '../../src/storage/blob-storage.js'
import { type TestDatabase, testDatabase } from '../support/database.js'

let database: TestDatabase
let pool: pg.Pool
beforeAll(async () => {
  database = await testDatabase()
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
    `INSERT INTO blob_garbage (blob_path, due_at) SELECT 'ten_x/' || n, now() - interval '1 minute' FROM generate_series(1, 64) n`,
  )
})

/** A store that only removes, by `remove`; what it was asked for is in `asked`. */
function storeOf(remove: (path: string) => Promise<void>): { storage: BlobStorage; asked: string[] } {
  const asked: string[] = []
  const removing = {
    remove: (path: string) => {
      asked.push(path)
      return remove(path)
    },
  }
  return { storage: removing as unknown as BlobStorage, asked }
}

const inJournal = async () => Number((await pool.query('SELECT count(*) AS n FROM blob_garbage')).rows[0].n)

test('what is due is removed, and forgotten', async () => {
  const { storage, asked } = storeOf(async () => {})
  expect(await new Sweeper(pool, storage).sweep()).toEqual({ removed: 64, failed: 0 })
  expect([asked.length, await inJournal()]).toEqual([64, 0])
})

test('a sweep whose connection is lost has lost its locks: it removes nothing more, and forgets nothing', async () => {
  let ended: Promise<unknown> | undefined
  const { storage, asked } = storeOf(async () => {
    ended ??= pool
      .query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`,
      )
      // Until the sweeper's side has heard of it.
      .then(() => new Promise((resolve) => setTimeout(resolve, 200)))
    await ended
  })
  await expect(new Sweeper(pool, storage).sweep()).rejects.toThrow()
  // Those that were under way at that moment.
  expect(asked).toHaveLength(8)
  expect(await inJournal()).toBe(64)
})

test('a store that takes long does not lose its locks to the limit for forgotten transactions', async () => {
  const impatient = new pg.Pool({ connectionString: database.url, idle_in_transaction_session_timeout: 100 })
  try {
    const { storage } = storeOf(() => new Promise((resolve) => setTimeout(resolve, 50)))
    expect(await new Sweeper(impatient, storage).sweep()).toEqual({ removed: 64, failed: 0 })
  } finally {
    await impatient.end()
  }
})

test('what the store does not remove is due again in a minute, and its reason is told', async () => {
  const { storage } = storeOf(async (path) => {
    if (path === 'ten_x/7') throw new Error('no answer within 10 ms')
  })
  const told: string[] = []
  const sweeper = new Sweeper(pool, storage, (path, reason) => told.push(`${path}: ${reason}`))
  expect(await sweeper.sweep()).toEqual({ removed: 63, failed: 1 })
  expect(told).toEqual(['ten_x/7: Error: no answer within 10 ms'])
  const { rows } = await pool.query('SELECT blob_path, due_at > now() AS later FROM blob_garbage')
  expect(rows).toEqual([{ blob_path: 'ten_x/7', later: true }])
})

test('a sweep that is told to stop ends after its batch', async () => {
  await pool.query(`INSERT INTO blob_garbage (blob_path, due_at) SELECT 'ten_y/' || n, now() FROM generate_series(1, 200) n`)
  const { storage } = storeOf(async () => {})
  let batches = 0
  expect(await new Sweeper(pool, storage).sweep(() => ++batches <= 2)).toEqual({ removed: 128, failed: 0 })
  expect(await inJournal()).toBe(136)
})
