import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { createDatabase, type Database } from '../../src/platform/db/client.js'
import { isDatabaseOutage } from '../../src/platform/db/sql-errors.js'
import { newId } from '../../src/platform/ids.js'
import { createTestDatabase, type TestDatabase } from '../support/database.js'

let place: TestDatabase
let database: Database
const warnings: string[] = []
const logger = { warn: (_facts: object, message: string) => void warnings.push(message) }

beforeAll(async () => {
  place = await createTestDatabase()
  database = createDatabase(place.url, { poolSize: 2, logger })
})
afterAll(async () => {
  await database.close()
  await place.drop()
})

describe('database values and connections', () => {
  test('reads 64-bit database values up to 2^53 exactly, including in arrays', async () => {
    const { rows } = await database.pool.query(
      'SELECT 9007199254740991::int8 AS big, ARRAY[1, NULL, -9007199254740991]::int8[] AS many',
    )
    expect(rows).toEqual([{ big: 9007199254740991, many: [1, null, -9007199254740991] }])
  })

  test('throws an error for database values above 2^53 instead of rounding them', async () => {
    await expect(database.pool.query('SELECT 9007199254740993::int8')).rejects.toThrow(
      '9007199254740993, which JavaScript cannot represent exactly',
    )
    expect((await database.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  })
})

test('writes and reads timestamps as UTC, with and without a time zone', async () => {
  const time = new Date('2026-07-01T23:30:00.123Z')
  const { rows } = await database.pool.query(
    'SELECT $1::timestamp AS plain, $1::timestamptz AS zoned, $1::timestamp::text AS text',
    [time],
  )
  expect(rows).toEqual([{ plain: time, zoned: time, text: '2026-07-01 23:30:00.123' }])
})

test('reads timestamps with millisecond precision in any year', async () => {
  const texts = ['2026-07-01T23:30:00Z', '2026-02-28T01:02:03.5Z', '2026-07-01T23:59:59.999999Z', '1969-12-31T23:59:59.0409Z']
  const all = [...texts, '0099-03-01T00:00:00.25Z', '9999-12-31T23:59:59.99Z', '+010001-01-01T00:00:00.001Z']
  const { rows } = await database.pool.query('SELECT t::timestamptz AS moment FROM unnest($1::text[]) t', [
    all.map((text) => text.replace('+0', '')),
  ])
  expect(rows).toEqual(all.map((text) => ({ moment: new Date(text) })))
})

test("shares the service's connection pool with Prisma", async () => {
  expect(await database.prisma.tenant.count()).toBe(0)
  expect(database.pool.totalCount).toBeLessThanOrEqual(2)
  expect(
    await database.prisma.$queryRaw`SELECT application_name AS name FROM pg_stat_activity WHERE pid = pg_backend_pid()`,
  ).toEqual([{ name: 'assay' }])
})

test('uses a generic plan for a named statement with an array parameter', async () => {
  const client = await database.pool.connect()
  for (let use = 0; use < 10; use++)
    await client.query({
      name: 'files-of-ids',
      text: 'SELECT 1 FROM files WHERE tenant_id = $1 AND file_id = ANY($2)',
      values: ['ten_x', Array(use).fill('file_x')],
    })
  const { rows } = await client.query(
    `SELECT generic_plans AS generic, custom_plans AS custom FROM pg_prepared_statements WHERE name = 'files-of-ids'`,
  )
  client.release()
  expect(rows).toEqual([{ generic: 10, custom: 0 }])
})

test('limits a tenant to half of the connections, so that other tenants do not wait', async () => {
  const [slow, other] = [newId('ten'), newId('ten')]
  const wide = createDatabase(place.url, { poolSize: 4, logger })
  const holder = await wide.connectDedicated('assay test')
  await holder.query('SELECT pg_advisory_lock(1)')
  const stuck = Array.from({ length: 10 }, () =>
    wide.pool.query('SELECT $1::text AS tenant, pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1)', [slow]),
  )
  const named = wide.prisma.tenant.findUnique({ where: { tenantId: slow } })
  while ((await waitingFor('advisory'))! < 2) await sleep(10)
  for (let round = 0; round < 20; round++)
    expect((await wide.pool.query({ text: 'SELECT $1::text AS tenant', values: [other] })).rows).toEqual([{ tenant: other }])
  expect(await wide.prisma.tenant.findUnique({ where: { tenantId: other } })).toBeNull()
  expect(await waitingFor('advisory')).toBe(2)
  await holder.query('SELECT pg_advisory_unlock(1)')
  expect((await Promise.all(stuck)).map(({ rows }) => rows[0].tenant)).toEqual(Array(10).fill(slow))
  expect(await named).toBeNull()
  await holder.end()
  await wide.close()
})

const waitingFor = async (event: string) =>
  (await database.pool.query('SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = $1', [event]))
    .rowCount

describe('database outages', () => {
  test('keeps the connection pool usable after every connection is lost', async () => {
    await Promise.all([database.pool.query('SELECT 1'), database.pool.query('SELECT 1')])
    const other = await database.connectDedicated('assay test')
    await other.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'assay' AND datname = current_database()",
    )
    // Waits until the pool detects the closed connections, because a statement sent earlier would fail.
    while (database.pool.totalCount > 0) await sleep(10)
    await other.end()
    expect(warnings).toContain('A database connection was lost.')
    expect((await database.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    expect(await database.prisma.tenant.count()).toBe(0)
  })

  test('does not log a lost database connection during shutdown', async () => {
    const reported: string[] = []
    const ending = createDatabase(place.url, { poolSize: 2, logger: { warn: (_facts, message) => void reported.push(message) } })
    await ending.pool.query('SELECT 1')
    const closed = ending.close()
    ending.pool.emit('error', new Error('terminating connection due to administrator command'), undefined as never)
    await closed
    expect(reported).toEqual([])
  })

  test('reports the database as unavailable if the server accepts connections but does not respond', async () => {
    // The server reads from its connections so that it detects disconnected clients.
    const mute = createServer((socket) => socket.resume()).listen(0, '127.0.0.1')
    await once(mute, 'listening')
    const { port } = mute.address() as { port: number }
    const unresponsive = createDatabase(`postgresql://me@127.0.0.1:${port}/x`, { poolSize: 2, logger })
    const error = await unresponsive.pool.query('SELECT 1').catch((fault) => fault)
    expect(isDatabaseOutage(error)).toBe(true)
    await unresponsive.close()
    mute.close()
  })

  test('fails immediately if the database server is unreachable, including in Prisma queries', async () => {
    const none = createDatabase('postgresql://me@127.0.0.1:1/x', { poolSize: 2, logger })
    expect(isDatabaseOutage(await none.pool.query('SELECT 1').catch((fault) => fault))).toBe(true)
    expect(isDatabaseOutage(await none.prisma.tenant.count().catch((fault) => fault))).toBe(true)
    await none.close()
  })
})

test('closes the connection of a statement that times out', async () => {
  const pool = new pg.Pool({ connectionString: place.url, max: 1, query_timeout: 2000 })
  pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}))
  const processes = async () => (await pool.query('SELECT pg_backend_pid() AS id')).rows[0].id as number
  const before = await processes()
  const client = await pool.connect()
  const error = await client.query('SELECT pg_sleep(60)').catch((fault) => fault)
  client.release(error)
  expect(isDatabaseOutage(error)).toBe(true)
  const alone = await pool.query('SELECT pg_sleep(60)').catch((fault) => fault)
  expect([alone.message, alone.stack]).toEqual(['Query read timeout', expect.stringContaining('client.test')])
  expect(await processes()).not.toBe(before)
  await pool.end()
})

test('does not reuse the connection of a Prisma transaction if one of its statements timed out', async () => {
  const impatient = createDatabase(place.url, { poolSize: 1, logger, statementTimeoutMs: 100 })
  type Backend = { id: number }[]
  const frozen = { id: 0 }
  const transaction = impatient.prisma.$transaction(
    async (tx) => {
      frozen.id = (await tx.$queryRaw<Backend>`SELECT pg_backend_pid() AS id`)[0]!.id
      process.kill(frozen.id, 'SIGSTOP')
      await tx.$queryRaw`SELECT 1`
    },
    { timeout: 60_000 },
  )
  try {
    expect(isDatabaseOutage(await transaction.catch((fault) => fault))).toBe(true)
    const next = await impatient.prisma.$transaction((tx) => tx.$queryRaw<Backend>`SELECT pg_backend_pid() AS id`)
    expect(next[0]!.id).not.toBe(frozen.id)
  } finally {
    process.kill(frozen.id, 'SIGCONT')
    await impatient.close()
  }
})

test('sets a statement timeout for pooled connections, but not for dedicated ones', async () => {
  const dedicated = await database.connectDedicated('assay test')
  const limit = "SELECT current_setting('statement_timeout') AS limit"
  expect([(await dedicated.query(limit)).rows, (await database.pool.query(limit)).rows]).toEqual([
    [{ limit: '0' }],
    [{ limit: '30s' }],
  ])
  await dedicated.end()
})
