import { EventEmitter } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { JournalService } from '../../src/ledger/journal.service.js'
import type { Ledger } from '../../src/ledger/ledger.js'
import { createDatabase, type Database } from '../../src/platform/db/client.js'
import { type EmbeddedServer, startServer } from '../../src/platform/db/embedded/server.js'
import { migrate } from '../../src/platform/db/migrate.js'
import { LedgerFixture } from '../support/ledger-fixture.js'
import { rejectWalFunctions } from '../support/reject-wal-functions.js'

// Starts a PostgreSQL whose commits can be delayed by waiting for a missing standby.
const folder = mkdtempSync(join(tmpdir(), 'assay-durable-'))
let server: EmbeddedServer
let admin: pg.Client
let fixture: LedgerFixture
let ledgers: Ledger[]
beforeAll(async () => {
  mkdirSync(join(folder, 'data'))
  server = await startServer({ folder: join(folder, 'data') })
  await migrate(server.url)
  admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  fixture = await LedgerFixture.open({ url: server.url })
  ledgers = [fixture.createLedger(), fixture.createLedger()]
})
afterEach(async () => {
  await releaseCommits()
  await fixture.expectExact()
})
afterAll(async () => {
  await fixture?.close()
  await admin?.end()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

let probe: Promise<unknown> | undefined
async function standby(names: string): Promise<void> {
  await admin.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
  await admin.query('SELECT pg_reload_conf()')
}
/** Polls until a commit blocks because PostgreSQL processes read the setting with a delay. */
async function holdCommits(): Promise<void> {
  await standby('none_there')
  while ((await held()) === 0) {
    let ended = false
    probe = fixture.database.pool.query(`SELECT setval('wal_flush', 1)`).finally(() => {
      ended = true
    })
    while (!ended && (await held()) === 0) await new Promise(setImmediate)
  }
}
async function releaseCommits(): Promise<void> {
  await standby('')
  await probe
}
const visible = async (contextId: string) =>
  (await admin.query('SELECT count(*)::int AS files FROM files WHERE context_id = $1', [contextId])).rows[0].files
/** Returns the number of connections that wait for the standby. */
const held = async () =>
  (await admin.query(`SELECT count(*)::int AS held FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)).rows[0].held

test("responds only after a commit is durable, but lets the tenant's other commits proceed", async () => {
  const context = await fixture.createContext('held')
  const uploads = await Promise.all([1, 2].map((size) => fixture.createUpload(context, size)))
  await holdCommits()
  const responded: number[] = []
  const commits = uploads.map((upload, n) => ledgers[n]!.commit(upload).then(() => responded.push(n)))
  while ((await visible(context.contextId)) < 2 || (await held()) < 3) await new Promise(setImmediate)
  expect(responded).toEqual([])
  await releaseCommits()
  await Promise.all(commits)
  expect(responded.sort()).toEqual([0, 1])
})

test('publishes journal events only after they are durable', () => expectDurableEvents('events', fixture.database))

test('publishes only durable events even if the database rejects WAL functions', async () => {
  await rejectWalFunctions(server.url)
  const limited = createDatabase(server.url, { poolSize: 4, logger: { warn: () => {} } })
  await expectDurableEvents('limited', limited)
  await limited.close()
})

async function expectDurableEvents(contextKey: string, database: Database): Promise<void> {
  const context = await fixture.createContext(contextKey)
  const journal = new JournalService(database, new EventEmitter())
  const { lastSequence } = await journal.readPage({ tenantId: fixture.tenantId, after: 0, limit: 1 })
  const upload = await fixture.createUpload(context, 3)
  await holdCommits()
  const commit = ledgers[0]!.commit(upload)
  while ((await visible(context.contextId)) < 1 || (await held()) < 2) await new Promise(setImmediate)
  let read = false
  const page = journal.readPage({ tenantId: fixture.tenantId, after: lastSequence, limit: 10 }).finally(() => {
    read = true
  })
  while ((await held()) < 3 && !read) await new Promise(setImmediate)
  expect(read).toBe(false)
  await releaseCommits()
  await commit
  expect((await page).events).toHaveLength(1)
  journal.close()
}
