import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

export interface TestDatabase {
  url: string
  /** Closes the open connections and drops the database. Optional, because the server stops when the test run ends. */
  drop(): Promise<void>
}

/** Creates an empty migrated database from this test run's template. */
export async function createTestDatabase(): Promise<TestDatabase> {
  return createFromTemplate('assay')
}

/** Creates a database without tables. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return createFromTemplate('template0')
}

/** Copies a database that has no connections, like a restored backup. */
export async function copyDatabase({ url }: TestDatabase): Promise<TestDatabase> {
  return createFromTemplate(new URL(url).pathname.slice(1))
}

async function createFromTemplate(template: string): Promise<TestDatabase> {
  const server = await getServerUrl()
  const name = `test_${randomBytes(6).toString('hex')}`
  // Copying files requires checkpoints, which are cheap without fsync. Copying through the WAL is slower.
  await runOnServer(server, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`)
  return { url: withDatabaseName(server, name), drop: () => runOnServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
}

/** Returns the URL of this test run's PostgreSQL, which starts on first use (test/support/global-setup.mjs). */
async function getServerUrl(): Promise<string> {
  const folder = process.env.ASSAY_TEST_DATABASE
  if (!folder) throw new Error('The test database is not running. Run the tests with npm test.')
  writeFileSync(join(folder, 'wanted'), '')
  for (;;) {
    if (existsSync(join(folder, 'failed'))) throw new Error(readFileSync(join(folder, 'failed'), 'utf8'))
    const url = existsSync(join(folder, 'ready')) ? readFileSync(join(folder, 'ready'), 'utf8') : ''
    if (url !== '') return url
    await sleep(20)
  }
}

async function runOnServer(server: string, sql: string) {
  const client = new pg.Client({ connectionString: withDatabaseName(server, 'postgres') })
  await client.connect()
  await client.query(sql).finally(() => client.end())
}

function withDatabaseName(server: string, database: string): string {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}
