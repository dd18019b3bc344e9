import { expect, test } from '@jest/globals'
import pg from 'pg'
import { renewPlans } from '../../src/platform/db/renew-plans.js'
import { testDatabase } from '../support/database.js'

test('what a connection planned while a table was small it plans again when there is more', async () => {
  const pool = new pg.Pool({ connectionString: (await testDatabase()).url, max: 1 })
  renewPlans(pool)
  const asked = async () => {
    const { rows } = await pool.query('EXPLAIN EXECUTE one(1)')
    return String(rows[0]['QUERY PLAN'])
  }
  await pool.query(`SET plan_cache_mode = force_generic_plan; CREATE TEMP TABLE t (n int, x text);
    CREATE INDEX ON t (n); INSERT INTO t VALUES (1, 'x'); ANALYZE t; PREPARE one(int) AS SELECT x FROM t WHERE n = $1`)
  expect(await asked()).toMatch('Seq Scan')
  await pool.query(`INSERT INTO t SELECT n, repeat('x', 100) FROM generate_series(1, 5000) n`)
  expect(await asked()).toMatch('Seq Scan')
  for (let use = 0; use < 32; use++) await pool.query('SELECT')
  expect(await asked()).toMatch('Index Scan')
  await pool.end()
})
