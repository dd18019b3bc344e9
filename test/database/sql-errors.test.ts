import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { toPublicError } from '../../src/access/public-error.js'
import { createDatabase, type Database } from '../../src/platform/db/client.js'
import { getSqlErrorKind, isDatabaseOutage } from '../../src/platform/db/sql-errors.js'
import { AssayError, storageUnavailable } from '../../src/platform/errors/errors.js'
import { createTestDatabase, type TestDatabase } from '../support/database.js'

let testDb: TestDatabase
let database: Database

beforeAll(async () => {
  testDb = await createTestDatabase()
  database = createDatabase(testDb.url, { poolSize: 4, statementTimeoutMs: 500, logger: { warn: () => {} } })
})
afterAll(async () => {
  await database.close()
  await testDb.drop()
})

const getFailure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => new Error('The statement did not fail.'),
    (error) => error,
  )
const toErrorCode = (error: unknown) => toPublicError(error).code

test('treats a statement canceled by PostgreSQL as an outage, with both pg and Prisma', async () => {
  for (const failure of [
    getFailure(database.pool.query('SELECT pg_sleep(60)')),
    getFailure(database.prisma.$queryRaw`SELECT pg_sleep(60)::text`),
    getFailure(database.prisma.$transaction((tx) => tx.$executeRaw`SELECT pg_sleep(60)`)),
  ])
    expect([getSqlErrorKind(await failure), toErrorCode(await failure)]).toEqual(['hardship', 'database_unavailable'])
})

test('treats a transaction that exceeds its timeout as an outage', async () => {
  const late = database.prisma.$transaction(
    async (tx) => {
      await new Promise((resolve) => setTimeout(resolve, 60))
      return tx.tenant.count()
    },
    { timeout: 10 },
  )
  expect(toErrorCode(await getFailure(late))).toBe('database_unavailable')
})

test('treats a connection closed by the server as an outage, with both pg and Prisma', async () => {
  const kill = 'SELECT pg_terminate_backend(pg_backend_pid())::text'
  expect(toErrorCode(await getFailure(database.pool.query(kill)))).toBe('database_unavailable')
  expect(toErrorCode(await getFailure(database.prisma.$queryRawUnsafe(kill)))).toBe('database_unavailable')
  expect(toErrorCode(await getFailure(database.prisma.$transaction((tx) => tx.$queryRawUnsafe(kill))))).toBe(
    'database_unavailable',
  )
})

test('treats a connection that the pg library closes or cannot establish in time as an outage', async () => {
  const client = await database.connectDedicated('assay test')
  const ended = client.end()
  const closed = await getFailure(client.query('SELECT 1'))
  await ended
  const silentServer = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silentServer, 'listening')
  const { port } = silentServer.address() as AddressInfo
  const late = await getFailure(new pg.Client({ host: '127.0.0.1', port, connectionTimeoutMillis: 20 }).connect())
  silentServer.close()
  expect([closed, late].map((error) => [(error as Error).message, toErrorCode(error)])).toEqual([
    ['Client was closed and is not queryable', 'database_unavailable'],
    ['timeout expired', 'database_unavailable'],
  ])
})

test('treats a lock timeout in a Prisma query as an outage', async () => {
  const other = await database.connectDedicated('assay test')
  await other.query('BEGIN; LOCK TABLE tenants')
  expect(toErrorCode(await getFailure(database.prisma.tenant.count()))).toBe('database_unavailable')
  await other.query('ROLLBACK')
  await other.end()
})

test('treats a unique violation as a duplicate and an invalid statement as an internal error', async () => {
  // Database with long timeouts, so that a busy machine cancels no statement.
  const patientDatabase = createDatabase(testDb.url, { poolSize: 4, statementTimeoutMs: 60_000, logger: { warn: () => {} } })
  const row = { tenantId: 'ten_1', name: 'one', createdAt: new Date(), updatedAt: new Date() }
  await patientDatabase.prisma.tenant.create({ data: row })
  expect(getSqlErrorKind(await getFailure(patientDatabase.prisma.tenant.create({ data: row })))).toBe('duplicate')
  const insert = 'INSERT INTO tenants SELECT * FROM tenants'
  expect(getSqlErrorKind(await getFailure(patientDatabase.pool.query(insert)))).toBe('duplicate')
  expect(getSqlErrorKind(await getFailure(patientDatabase.prisma.$executeRawUnsafe(insert)))).toBe('duplicate')
  const wrong = await getFailure(patientDatabase.pool.query('SELECT 1 / 0'))
  expect([getSqlErrorKind(wrong), isDatabaseOutage(wrong), toErrorCode(wrong)]).toEqual(['other', false, 'internal_server_error'])
  await patientDatabase.close()
})

test("returns the service's own errors unchanged, regardless of their cause", () => {
  const connectionRefused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
  expect(toErrorCode(storageUnavailable('The store is away.', connectionRefused))).toBe('storage_unavailable')
  expect(toErrorCode(Object.assign(new Error('wrapped'), { originalError: new AssayError('conflict', 'no') }))).toBe('conflict')
})
