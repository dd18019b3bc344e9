import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { OrphanedUploads, Sweeper } from '../../src/features/maintenance/sweeper.js'
import { newId } from '../../src/platform/ids.js'
import { type BucketWorld, openBucketWorld } from '../support/bucket/world-env.js'
import { createTestDatabase } from '../support/database.js'
import { DatabaseProxy } from '../support/database-proxy.js'
import { type TestTenant, World } from '../support/world.js'

const minute = 60_000
const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }

let bucketWorld: BucketWorld
let proxy: DatabaseProxy
/** `world` is the replica that survives. */
let world: World
let tenant: TestTenant
const env = () => ({ ...bucketWorld.env, SCANNER_URL: 'none:' })

beforeAll(async () => {
  bucketWorld = await openBucketWorld()
  const database = await createTestDatabase()
  proxy = await DatabaseProxy.start(database.url)
  world = await World.open({ ...env(), DATABASE_URL: database.url })
  tenant = await world.createTenant()
  await tenant.createContext('notes', { scan_for_viruses: false })
})
afterAll(async () => {
  await world.close()
  await proxy.down()
  await bucketWorld.close()
})

async function query<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await world.database.pool.query<T>(text, values)).rows
}
const journal = () => query<{ blob_path: string; due_at: Date }>('SELECT blob_path, due_at FROM blob_garbage ORDER BY blob_path')
/** Returns the number of deleted blobs and the reasons of failures. */
async function sweep(): Promise<{ removed: number; reasons: string[] }> {
  const reasons: string[] = []
  const sweeper = new Sweeper(world.database.pool, world.app.services.storage, (path, reason) =>
    reasons.push(`${path}: ${reason}`),
  )
  const { removed } = await sweeper.sweep()
  return { removed, reasons }
}
// The due time is far enough in the past to tolerate clock adjustments during the test.
const makeDue = () => query("UPDATE blob_garbage SET due_at = now() - interval '1 minute'")
const verified = () => world.app.services.storageHealth.verify({ readBlobs: true })
const held = async () => (await tenant.admin.get('/files')).body.data.pagination.total_items as number

const openTransactions = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`

/** Runs a replica behind a failing proxy, then stops it, which completes its cleanup. */
async function runReplica(
  work: (upload: () => Promise<number>, replica: World) => Promise<void>,
  more: Record<string, string> = {},
): Promise<void> {
  const other = await World.open({ ...env(), DATABASE_URL: proxy.url, STORAGE_DEADLINE_SECONDS: '10', ...more }, world)
  try {
    const caller = other.createCaller(tenant.admin.credential)
    await work(async () => (await caller.upload('notes', 'a.txt', 'some text')).status, other)
    // A transaction's locks last until PostgreSQL detects the closed connection.
    while ((await query(openTransactions)).length > 0) await sleep(10)
  } finally {
    await other.close()
  }
}

/** Expects one blob without a row that will be due within minutes. */
async function expectOneOrphan(): Promise<string> {
  const entries = await journal()
  expect(entries).toHaveLength(1)
  const inMs = entries[0]!.due_at.getTime() - Date.now()
  expect(inMs).toBeLessThan(2 * minute)
  expect(inMs).toBeGreaterThan(0)
  const path = entries[0]!.blob_path
  expect(bucketWorld.bucket.objects.names).toContain(path)
  expect(await sweep()).toEqual({ removed: 0, reasons: [] })
  expect(bucketWorld.bucket.objects.names).toContain(path)
  expect(await verified()).toEqual(healthy)
  return path
}

async function expectSwept(path: string): Promise<void> {
  await makeDue()
  expect(await sweep()).toEqual({ removed: 1, reasons: [] })
  expect(bucketWorld.bucket.objects.names).not.toContain(path)
  expect(await journal()).toEqual([])
  expect(await verified()).toEqual(healthy)
}

test('schedules an orphaned blob for deletion if bucket responses are lost', async () => {
  const lostUpload = async (upload: () => Promise<number>) => {
    // The bucket stores the object, but its responses to the upload and the status query are lost.
    bucketWorld.bucket.faults.plan('upload', { kind: 'lost' }, 50)
    bucketWorld.bucket.faults.plan('metadata', { kind: 'silent' }, 50)
    expect(await upload()).toBe(503)
    bucketWorld.bucket.faults.clear()
  }
  await runReplica(lostUpload, { STORAGE_DEADLINE_SECONDS: '1' })
  await expectSwept(await expectOneOrphan())
})

test('schedules an orphaned blob for deletion if the database connection is lost before the commit', async () => {
  const before = await held()
  await runReplica(async (upload, { app }) => {
    proxy.cutAtMove = 'before'
    expect(await upload()).toBe(503)
    expect(proxy.cutAtMove).toBeUndefined()
    await app.services.ledger.drain()
  })
  expect(await held()).toBe(before)
  await expectSwept(await expectOneOrphan())
})

test('keeps a file during a sweep even if the response to its commit is lost', async () => {
  const before = await held()
  await runReplica(async (upload) => {
    proxy.cutAtMove = 'after'
    expect(await upload()).toBe(503)
  })
  expect(await held()).toBe(before + 1)
  expect(await journal()).toEqual([])
  await makeDue()
  expect(await sweep()).toEqual({ removed: 0, reasons: [] })
  expect(await verified()).toEqual(healthy)
})

test('adds a path to the garbage journal only once', async () => {
  // This due time is in the past on the clock of every process.
  const orphanedUploads = new OrphanedUploads(world.database.pool, -1000)
  const [missing, soon, late, locked] = Array.from({ length: 4 }, () => `${tenant.tenantId}/${newId('file')}`) as [
    string,
    string,
    string,
    string,
  ]
  const insert = (path: string, inMs: number) =>
    query('INSERT INTO blob_garbage (tenant_id, blob_path, due_at) VALUES ($1, $2, $3)', [
      tenant.tenantId,
      path,
      new Date(Date.now() + inMs),
    ])
  await insert(soon, -minute)
  await insert(late, 60 * minute)
  await insert(locked, 60 * minute)
  bucketWorld.bucket.objects.store({ name: locked }, Buffer.from('its row is just being made'))
  const committing = await world.database.connectDedicated('a commit under way')
  try {
    await committing.query('BEGIN')
    // The ledger transaction executes the same statement (src/ledger/admission.ts).
    await committing.query('DELETE FROM blob_garbage WHERE blob_path = $1', [locked])
    for (const path of [missing, soon, late, locked]) orphanedUploads.scheduleDeletion(path)
    await orphanedUploads.updateDueTimes()
    const due = new Map((await journal()).map(({ blob_path: path, due_at: at }) => [path, at.getTime() - Date.now()]))
    expect([...due.keys()].sort()).toEqual([soon, late, locked].sort())
    expect(due.get(soon)).toBeLessThan(-minute / 2)
    expect(due.get(late)).toBeLessThanOrEqual(0)
    expect(due.get(locked)).toBeGreaterThan(30 * minute)
    await sweep()
    expect(bucketWorld.bucket.objects.names).toContain(locked)
    await committing.query('ROLLBACK')
  } finally {
    await committing.end()
  }
  // The next run handles the path because this commit failed.
  await orphanedUploads.updateDueTimes()
  expect((await journal()).map(({ blob_path: path }) => path)).toEqual([locked])
  await sweep()
  expect(bucketWorld.bucket.objects.names).not.toContain(locked)
  expect(await journal()).toEqual([])
})
