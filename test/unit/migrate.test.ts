import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { migrate, schemaDrift } from '../../src/db/migrate.js'
import { emptyDatabase } from '../support/database.js'

const ours = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))
const scratch = mkdtempSync(join(tmpdir(), 'assay-migrate-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** A copy of our migrations with one more. */
function withOneMore(name: string, sql: string): string {
  const folder = join(scratch, name)
  cpSync(ours, folder, { recursive: true })
  mkdirSync(join(folder, `20990101000000_${name}`))
  writeFileSync(join(folder, `20990101000000_${name}`, 'migration.sql'), sql)
  return folder
}

async function rows(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client.query(sql).then(
    async (result) => {
      await client.end()
      return result.rows
    },
    async (error) => {
      await client.end()
      throw error
    },
  )
}

describe('migrating', () => {
  test('two replicas that start at once migrate once, and leave what prisma migrate deploy leaves', async () => {
    const database = await emptyDatabase()
    const applied = await Promise.all([migrate(database.url), migrate(database.url)])
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1)
    const kept = await rows(
      database.url,
      'SELECT migration_name, finished_at, rolled_back_at, length(checksum) AS checksum FROM _prisma_migrations ORDER BY 1',
    )
    expect(kept.map((row) => row.migration_name)).toEqual(applied.flat())
    for (const row of kept) expect(row).toMatchObject({ finished_at: expect.any(Date), rolled_back_at: null, checksum: 64 })
    expect(await migrate(database.url)).toEqual([])
    await database.drop()
  })

  test('a migration with functions and semicolons in strings is applied as PostgreSQL reads it', async () => {
    const database = await emptyDatabase()
    const sql = `CREATE FUNCTION answer() RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM 1; RETURN 'a;b'; END $$;\nSELECT ';';`
    const applied = await migrate(database.url, withOneMore('function', sql))
    expect(applied.at(-1)).toBe('20990101000000_function')
    expect(await rows(database.url, 'SELECT answer()')).toEqual([{ answer: 'a;b' }])
    await database.drop()
  })

  test('a migration that fails is told with its name, changes nothing, and is not passed over the next time', async () => {
    const database = await emptyDatabase()
    const folder = withOneMore('broken', 'CREATE TABLE half_way (id int); SELECT no_such_function();')
    await expect(migrate(database.url, folder)).rejects.toThrow(
      "The database could not be migrated (migration '20990101000000_broken'): Error querying the database: ERROR: function no_such_function() does not exist",
    )
    expect(await rows(database.url, `SELECT to_regclass('half_way') AS there`)).toEqual([{ there: null }])
    await expect(migrate(database.url, folder)).rejects.toThrow('20990101000000_broken')
    await database.drop()
  })

  test('a migration that was edited after it had been applied is refused by name', async () => {
    const database = await emptyDatabase()
    const folder = withOneMore('edited', 'SELECT 1;')
    await migrate(database.url, folder)
    writeFileSync(join(folder, '20990101000000_edited', 'migration.sql'), 'SELECT 2;')
    await expect(migrate(database.url, folder)).rejects.toThrow(
      "Migration '20990101000000_edited' was changed after it had been applied",
    )
    await database.drop()
  })
})

describe('the schema and its migrations', () => {
  test('say the same', async () => {
    const database = await emptyDatabase()
    expect(statements(await schemaDrift(database.url))).toEqual([])
    await database.drop()
  })

  test('are told apart when a migration goes its own way', async () => {
    const database = await emptyDatabase()
    const drift = await schemaDrift(database.url, withOneMore('drift', 'CREATE TABLE forgotten (id int PRIMARY KEY);'))
    expect(statements(drift)).toEqual(['DROP TABLE "forgotten";'])
    await database.drop()
  })

  test('leave no shadow database behind', async () => {
    const database = await emptyDatabase()
    await schemaDrift(database.url)
    // Other test files may have theirs open at this moment; ours would be without a connection.
    const shadows = await rows(
      database.url,
      `SELECT datname FROM pg_database d WHERE datname LIKE 'prisma_migrate_shadow%' AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.datname = d.datname)`,
    )
    expect(shadows).toEqual([])
    await database.drop()
  })

  test('are for PostgreSQL', () => {
    expect(readFileSync(join(ours, 'migration_lock.toml'), 'utf8')).toContain('postgresql')
  })
})

const statements = (sql: string) => sql.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('--'))
