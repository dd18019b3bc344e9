import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import pg from 'pg'
import { findFreePort, Service } from '../support/service.js'
import { type ApiResponse, Caller, type TestTenant, World } from '../support/world.js'

// `world` is the replica on which clients retry requests that a frozen replica did not complete.
let world: World
let other: Service
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open({ SCANNER_URL: 'none:' })
  other = await Service.start({
    DATABASE_URL: world.databaseUrl,
    MASTER_KEY: world.config.masterKey!.toString('base64'),
    DATA_DIR: join(world.dataDir, 'frozen'),
    STORAGE_URL: world.config.storageUrl,
    SCANNER_URL: 'none:',
    PORT: await findFreePort(),
  })
})
afterAll(async () => {
  await other?.stop('SIGKILL')
  await world.close()
})
beforeEach(async () => {
  tenant = await world.createTenant()
  await tenant.createContext('notes', { scan_for_viruses: false })
  // Uploads to both replicas create path leases.
  for (const caller of [tenant.admin, elsewhere()]) expect((await upload(caller, 'first')).status).toBe(201)
})

const elsewhere = () => new Caller(other.url, tenant.admin.credential)
const upload = (caller: Caller, text: string, headers: Record<string, string> = {}) =>
  caller.upload('notes', `${text}.txt`, text, { headers })
const query = (text: string, values: unknown[] = []) => world.database.pool.query(text, values)
const named = async (text: string): Promise<number> =>
  (await query('SELECT 1 FROM files WHERE tenant_id = $1 AND original_filename = $2', [tenant.tenantId, `${text}.txt`])).rowCount!
const facts = ({ status, body }: ApiResponse) => [status, body.data?.file_id]
const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }

/** Opens a transaction that has executed `statement` for the tenant. */
async function openTransaction(statement: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: world.databaseUrl })
  await client.connect()
  await client.query('BEGIN')
  await client.query(statement, [tenant.tenantId])
  return () => client.query('COMMIT').then(() => client.end())
}
const lockedHead = 'SELECT 1 FROM tenant_heads WHERE tenant_id = $1 FOR UPDATE'

async function until<T>(find: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await find()
    if (found !== undefined) return found
    await sleep(10)
  }
}
/** Returns the backend of a move that waits for a lock. */
const waiting = async (): Promise<number | undefined> =>
  (
    await query(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%ledger_groups%'`,
    )
  ).rows[0]?.pid

test('stores only one file if a replica freezes and the client retries on another', async () => {
  const headers = { 'idempotency-key': 'frozen' }
  const release = await openTransaction(lockedHead)
  const first = upload(elsewhere(), 'frozen', headers)
  // Freezes the replica during a move because it would otherwise return the key's stored result.
  await until(async () => {
    await until(waiting)
    other.child.kill('SIGSTOP')
    if ((await waiting()) !== undefined) return true
    other.child.kill('SIGCONT')
    return undefined
  })
  // PostgreSQL times out the move after a second and the replica retries it.
  await until(async () => ((await waiting()) === undefined ? true : undefined))
  await release()
  // Waits until the lease ends because a frozen replica does not renew it.
  const second = await upload(tenant.admin, 'frozen', headers)
  expect(second.status).toBe(201)
  other.child.kill('SIGCONT')
  // The frozen request fails because its lock has timed out.
  expect((await first).status).toBe(503)
  expect(facts(await upload(elsewhere(), 'frozen', headers))).toEqual(facts(second))
  expect(await named('frozen')).toBe(1)
  expect(await world.app.services.storageHealth.verify({ readBlobs: true })).toEqual(healthy)
}, 120_000)

test('commits the pending entries of a frozen replica on another replica', async () => {
  const headers = { 'idempotency-key': 'pending' }
  const release = await openTransaction('SELECT ledger_leads($1)')
  const first = upload(elsewhere(), 'pending', headers)
  await until(async () => (await query('SELECT 1 FROM pending_moves')).rows[0])
  other.child.kill('SIGSTOP')
  await release()
  expect((await upload(tenant.admin, 'another')).status).toBe(201)
  const second = await upload(tenant.admin, 'pending', headers)
  expect(second.status).toBe(201)
  other.child.kill('SIGCONT')
  expect(facts(await first)).toEqual(facts(second))
  expect(await named('pending')).toBe(1)
  expect(await world.app.services.storageHealth.verify({ readBlobs: true })).toEqual(healthy)
}, 120_000)

test('blocks only one tenant if a PostgreSQL backend freezes during a ledger transaction', async () => {
  const headers = { 'idempotency-key': 'backend' }
  const otherTenant = await world.createTenant()
  await otherTenant.createContext('notes', { scan_for_viruses: false })
  const release = await openTransaction(lockedHead)
  const first = upload(elsewhere(), 'backend', headers)
  // Polls because a frozen backend shows its last state until it continues.
  const pid = await until(async () => {
    const found = await until(waiting)
    process.kill(found, 'SIGSTOP')
    if ((await waiting()) === found) return found
    process.kill(found, 'SIGCONT')
    return undefined
  })
  try {
    await release()
    for (let round = 0; round < 5; round++) expect((await upload(otherTenant.admin, `of ${round}`)).status).toBe(201)
    const second = upload(tenant.admin, 'backend', headers)
    await until(async () => (await query(`SELECT 1 FROM idempotency_keys WHERE key = 'backend' AND response IS NULL`)).rows[0])
    process.kill(pid, 'SIGCONT')
    expect(facts(await first)).toEqual(facts(await second))
    expect((await first).status).toBe(201)
    expect(await named('backend')).toBe(1)
  } finally {
    process.kill(pid, 'SIGCONT')
  }
}, 120_000)
