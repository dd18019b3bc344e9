import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { verifyDatabase } from '../../src/platform/db/verify-database.js'
import { createEmptyDatabase, type TestDatabase } from '../support/database.js'
import { findFreePort, runCommand, Service } from '../support/service.js'

const scratch = mkdtempSync(join(tmpdir(), 'assay-unsupported-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** Creates an empty database whose version() returns `version`. */
async function createDatabaseWithVersion(version: string): Promise<TestDatabase> {
  const database = await createEmptyDatabase()
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const emulate = `CREATE SCHEMA emulated;
     CREATE FUNCTION emulated.version() RETURNS text LANGUAGE sql AS $$ SELECT ${pg.escapeLiteral(version)}::text $$;
     DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = emulated, pg_catalog, public', current_database()); END $$`
  await client.query(emulate).finally(() => client.end())
  return database
}

test.each([
  'PostgreSQL 16.4, compiled by Visual C++ build 1940, 64-bit',
  'PostgreSQL 17.5 (6bc9ef8) on aarch64-unknown-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit',
  'PostgreSQL 15.12 on x86_64-pc-linux-gnu, compiled by Debian clang version 12.0.1, 64-bit',
])('accepts a PostgreSQL build that reports %s', async (version) => {
  const database = await createDatabaseWithVersion(version)
  await expect(verifyDatabase({ url: database.url, directUrl: database.url })).resolves.toBeUndefined()
  await database.drop()
})

describe('unsupported databases', () => {
  const versions = {
    CockroachDB: 'CockroachDB CCL v26.1.0 (x86_64-pc-linux-gnu, built 2026/02/02 17:52:24, go1.25.5)',
    YugabyteDB: 'PostgreSQL 15.12-YB-2025.2.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 19.1.0, 64-bit',
    'an unknown database that emulates PostgreSQL': 'PostgreSQL 14.1',
  }

  test.each(Object.entries(versions))('refuses to start on %s with a one-sentence error', async (product, version) => {
    const database = await createDatabaseWithVersion(version)
    const { status, stdout, stderr } = await Service.run({
      PORT: await findFreePort(),
      DATA_DIR: join(scratch, 'data'),
      DATABASE_URL: database.url,
      MASTER_KEY: Buffer.alloc(32).toString('base64'),
    }).ended
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^The database .*\n$/)])
    expect(stderr).toContain(
      ` is ${product} (version '${version}'). Assay supports PostgreSQL 15 or newer, including Amazon Aurora and Citus.\n`,
    )
    expect(stdout).not.toContain('migration')
    await database.drop()
  })

  test('refuses to migrate a CockroachDB database', async () => {
    const database = await createDatabaseWithVersion(versions.CockroachDB)
    const { status, stderr } = await runCommand(['migrate'], { DATABASE_URL: database.url })
    expect([status, stderr]).toEqual([1, expect.stringContaining(' is CockroachDB ')])
    await database.drop()
  })
})
