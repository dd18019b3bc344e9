import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { World } from '../support/world.js'

let world: World
beforeEach(async () => {
  world = await World.open()
})
afterEach(() => world.close())

const ready = async () => {
  const response = await fetch(`${world.url}/health/ready`)
  return {
    status: response.status,
    body: (await response.json()) as { checks: Record<string, { status: string; reason?: string }> },
  }
}

const query = async (text: string) => (await world.database.pool.query(text)).rows

const breakFunction = (signature: string, returns: string) =>
  query(`CREATE OR REPLACE FUNCTION ${signature} RETURNS ${returns} LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$`)

test('passes the database self-test and leaves no rows', async () => {
  const count = `SELECT (SELECT count(*)::int FROM tenants) AS tenants, (SELECT count(*)::int FROM files) AS files,
    (SELECT count(*)::int FROM journal) AS events, (SELECT count(*)::int FROM blob_garbage) AS garbage`
  const before = await query(count)
  expect((await ready()).body.checks.statements).toEqual({ status: 'up' })
  expect(await query(count)).toEqual(before)
})

test('fails the readiness check if SQL statements for uploads fail', async () => {
  await breakFunction('ledger_check_uploads(owner tenants, uploads jsonb, held bigint)', 'jsonb')
  const { status, body } = await ready()
  expect(status).toBe(503)
  expect(body.checks.statements).toEqual({ status: 'down', reason: "The SQL statements for 'upload' failed. See the log." })
  expect(body.checks.database).toEqual({ status: 'up' })
})

test('fails the readiness check if SQL statements for lists fail', async () => {
  await query('ALTER TABLE download_deltas RENAME COLUMN times TO number_of_times')
  expect((await ready()).body.checks.statements!.reason).toBe("The SQL statements for 'list' failed. See the log.")
})

test('fails the readiness check if SQL statements for folds fail', async () => {
  await query(`ALTER TABLE usage_counters ADD CONSTRAINT broken CHECK (upload_success = 0) NOT VALID`)
  expect((await ready()).body.checks.statements!.reason).toBe("The SQL statements for 'fold' failed. See the log.")
})

test('fails the readiness check if SQL statements for deletions fail', async () => {
  await query('DROP FUNCTION ledger_delete(text, jsonb)')
  const { status, body } = await ready()
  expect(status).toBe(503)
  expect(body.checks.statements!.reason).toBe("The SQL statements for 'delete' failed. See the log.")
})
