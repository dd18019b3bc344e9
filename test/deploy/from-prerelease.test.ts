import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals'
import pg from 'pg'
import { migrate } from '../../src/platform/db/migrate.js'
import { readCatalog } from '../support/catalog.js'
import { createEmptyDatabase, type TestDatabase } from '../support/database.js'
import { findFreePort, runCommand, Service } from '../support/service.js'
import { World } from '../support/world.js'

// Dump of a database filled by the last pre-release version: files, trash, holds, keys, webhooks, journal.
const dump = gunzipSync(readFileSync(fileURLToPath(new URL('fixtures/prerelease.sql.gz', import.meta.url)))).toString()
const masterKey = Buffer.alloc(32, 7).toString('base64')
const apiKey = 'assay_prerelease-fixture-key-of-the-first-tenant0'

const scratch = mkdtempSync(join(tmpdir(), 'assay-prerelease-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

let database: TestDatabase
beforeEach(async () => {
  database = await createEmptyDatabase()
  await query(dump)
})
afterEach(() => database.drop())

async function query(sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  return client.query(sql).then(
    ({ rows }) => client.end().then(() => rows),
    (error) => client.end().then(() => Promise.reject(error)),
  )
}
const convert = () => runCommand(['migrate', '--from-prerelease'], { DATABASE_URL: database.url })

/** Returns the rows of all tables that the conversion keeps, excluding renamed lease columns. */
async function readRows(): Promise<Record<string, unknown>> {
  const tables = await query(
    `SELECT c.oid::regclass::text AS name FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
     AND c.relname NOT IN ('_prisma_migrations', 'file_ranges') ORDER BY 1`,
  )
  const all: Record<string, unknown> = {}
  for (const { name } of tables)
    all[name as string] = await query(
      `SELECT to_jsonb(t) - '{pepper_id,previous_pepper_id,token,lock_token,locked_until,claim}'::text[] AS row FROM ${name} t ORDER BY t::text`,
    )
  return all
}

test('refuses to start with a pre-release database and names the required command', async () => {
  const before = await readRows()
  const start = await Service.run({
    DATABASE_URL: database.url,
    MASTER_KEY: masterKey,
    DATA_DIR: join(scratch, 'start'),
    SCANNER_URL: 'none:',
    PORT: await findFreePort(),
  }).ended
  const message =
    "A pre-release version of Assay created this database. Stop every replica, back up the database, then run 'npm run migrate -- --from-prerelease' once.\n"
  expect([start.status, start.stderr]).toEqual([1, message])
  const migrated = await runCommand(['migrate'], { DATABASE_URL: database.url })
  expect([migrated.status, migrated.stderr]).toEqual([1, message])
  expect(await readRows()).toEqual(before)
})

test('keeps every row when a pre-release database is converted', async () => {
  const before = await readRows()
  const first = await convert()
  expect([first.status, first.stderr, JSON.parse(first.stdout)]).toEqual([0, '', { converted: true, applied: expect.any(Array) }])
  const fresh = await createEmptyDatabase()
  const names = await migrate(fresh.url)
  expect(await readCatalog(database.url)).toEqual(await readCatalog(fresh.url))
  await fresh.drop()
  // The conversion keeps all rows and values. Later migrations may have added columns.
  expect(await readRows()).toMatchObject(before)
  expect(await query('SELECT migration_name FROM _prisma_migrations ORDER BY 1')).toEqual(
    names.map((migration_name) => ({ migration_name })),
  )
  const converted = await readRows()
  const second = await convert()
  expect([second.status, JSON.parse(second.stdout)]).toEqual([0, { converted: false, applied: [] }])
  expect(await readRows()).toEqual(converted)
})

test('serves files, counters and the journal after the conversion of a pre-release database', async () => {
  expect((await convert()).status).toBe(0)
  // Files in the old dump's trash would otherwise be purged after 30 days.
  await query('UPDATE trash SET deleted_at = now()')
  const world = await World.open({ DATABASE_URL: database.url, MASTER_KEY: masterKey })
  try {
    const admin = world.createCaller(apiKey)
    expect((await admin.get('/files')).body.data.pagination.total_items).toBe(11)
    expect((await admin.get('/trash')).body.data.pagination.total_items).toBe(1)
    const { last_sequence: last } = (await admin.get('/events')).body.data
    const stored = await admin.upload('notes', 'after.txt', 'After the conversion.')
    expect(stored.status).toBe(201)
    expect((await admin.delete(`/files/${stored.body.data.file_id}`)).status).toBe(200)
    expect((await admin.get('/events')).body.data.last_sequence).toBe(last + 2)
    expect((await admin.get(`/files/${(await admin.get('/files')).body.data.data[0].file_id}/receipt`)).status).toBe(200)
    const health = await admin.graphql('{ storageHealth { countersDrift journalDrift } }')
    expect(health.body.data.storageHealth).toEqual({ countersDrift: 0, journalDrift: 0 })
  } finally {
    await world.close()
  }
})

test('changes nothing in a database that cannot be converted', async () => {
  const expectRejected = async (sql: string, message: string) => {
    await query(sql)
    const before = await readRows()
    const { status, stderr } = await convert()
    expect([status, stderr]).toEqual([1, expect.stringContaining(message)])
    expect(await readRows()).toEqual(before)
  }
  await expectRejected(
    `UPDATE api_keys SET pepper_id = 'sig_1' WHERE name = 'second'`,
    'have a hash of an early version: key_01m84vew4e2j613gddbnq2y201; use, rotate or revoke them with the last pre-release version.\n',
  )
  const other = new pg.Client({ connectionString: database.url, application_name: 'assay writes' })
  await other.connect()
  await expectRejected(
    'UPDATE api_keys SET pepper_id = NULL',
    "The service is still using the database (1 connection). Stop all replicas, then run 'npm run migrate -- --from-prerelease' again.\n",
  )
  await other.end()
  await expectRejected(
    `DELETE FROM _prisma_migrations WHERE migration_name = '20261123015000_uploads_alike'`,
    "cannot be converted (its last migration is '20261123014000_traits_by_index'). First start the last pre-release version with this database",
  )
})
