import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { migrate } from '../../src/platform/db/migrate.js'
import { readMigrations } from '../../src/platform/db/migrations.js'
import { createEmptyDatabase } from '../support/database.js'
import { getSchemaDrift, runPrismaDeploy } from '../support/prisma-migrate.js'

const migrationsFolder = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))
const inAProcess = fileURLToPath(new URL('../support/migrate.mjs', import.meta.url))
const scratch = mkdtempSync(join(tmpdir(), 'assay-migrate-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** Copies the migrations to a folder and appends more scripts. */
function createFolderWithMore(name: string, ...scripts: string[]): string {
  const folder = join(scratch, name)
  cpSync(migrationsFolder, folder, { recursive: true })
  return add(folder, name, ...scripts)
}

function createFolder(name: string, ...scripts: string[]): string {
  const folder = join(scratch, name)
  mkdirSync(folder)
  cpSync(join(migrationsFolder, 'migration_lock.toml'), join(folder, 'migration_lock.toml'))
  return add(folder, name, ...scripts)
}

function add(folder: string, name: string, ...scripts: string[]): string {
  scripts.forEach((sql, index) => {
    const place = join(folder, `2099010100000${index}_${name}`)
    mkdirSync(place)
    writeFileSync(join(place, 'migration.sql'), sql)
  })
  return folder
}

async function queryRows(url: string, sql: string): Promise<Record<string, unknown>[]> {
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

describe('running migrations', () => {
  test('runs each migration only once even if two replicas start together', async () => {
    const database = await createEmptyDatabase()
    const applied = await Promise.all([migrate(database.url), migrate(database.url)])
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1)
    const stored = await queryRows(
      database.url,
      'SELECT migration_name, finished_at, rolled_back_at, length(checksum) AS checksum FROM _prisma_migrations ORDER BY 1',
    )
    expect(stored.map((row) => row.migration_name)).toEqual(applied.flat())
    for (const row of stored) expect(row).toMatchObject({ finished_at: expect.any(Date), rolled_back_at: null, checksum: 64 })
    expect(await migrate(database.url)).toEqual([])
    await database.drop()
  })

  test('applies a migration that contains functions and semicolons in strings', async () => {
    const database = await createEmptyDatabase()
    const sql = `CREATE FUNCTION answer() RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM 1; RETURN 'a;b'; END $$;\nSELECT ';';`
    const applied = await migrate(database.url, createFolderWithMore('function', sql))
    expect(applied.at(-1)).toBe('20990101000000_function')
    expect(await queryRows(database.url, 'SELECT answer()')).toEqual([{ answer: 'a;b' }])
    await database.drop()
  })

  test('migrates the shards of a Citus cluster one at a time', async () => {
    const database = await createEmptyDatabase()
    const mode = `current_setting('citus.multi_shard_modify_mode', true)`
    await migrate(database.url, createFolderWithMore('sequential', `CREATE TABLE seen AS SELECT ${mode} AS mode;`))
    expect(await queryRows(database.url, 'SELECT mode FROM seen')).toEqual([{ mode: 'sequential' }])
    await database.drop()
  })

  test('reports and rolls back a failed migration, and retries it in the next run', async () => {
    const database = await createEmptyDatabase()
    const folder = createFolderWithMore('broken', 'CREATE TABLE half_way (id int); SELECT no_such_function();')
    await expect(migrate(database.url, folder)).rejects.toThrow(
      "Database migration '20990101000000_broken' failed: function no_such_function() does not exist",
    )
    expect(await queryRows(database.url, `SELECT to_regclass('half_way') AS there`)).toEqual([{ there: null }])
    await expect(migrate(database.url, folder)).rejects.toThrow('20990101000000_broken')
    await database.drop()
  })

  test('rejects a migration that was modified after it was applied', async () => {
    const database = await createEmptyDatabase()
    const folder = createFolderWithMore('edited', 'SELECT 1;')
    await migrate(database.url, folder)
    writeFileSync(join(folder, '20990101000000_edited', 'migration.sql'), 'SELECT 2;')
    await expect(migrate(database.url, folder)).rejects.toThrow(
      "Migration '20990101000000_edited' was changed after it was applied",
    )
    await database.drop()
  })
})

describe('databases from other versions and from Prisma', () => {
  test('rejects a database from a newer version with a one-sentence error', async () => {
    const database = await createEmptyDatabase()
    await migrate(database.url, createFolderWithMore('newer', 'CREATE TABLE newer (id int);'))
    await expect(migrate(database.url)).rejects.toThrow(
      "A newer version of Assay created or migrated this database (migration '20990101000000_newer' is unknown). Start that version, or restore a backup from before the upgrade.",
    )
    await database.drop()
  })

  test('shares migration state with prisma migrate deploy in both directions', async () => {
    const [prismaDatabase, ownDatabase] = [await createEmptyDatabase(), await createEmptyDatabase()]
    const names = await runPrismaDeploy(prismaDatabase.url)
    expect(await migrate(prismaDatabase.url)).toEqual([])
    expect(await migrate(ownDatabase.url)).toEqual(names)
    expect(await runPrismaDeploy(ownDatabase.url)).toEqual([])
    const table = `SELECT column_name, data_type, character_maximum_length, is_nullable, column_default FROM information_schema.columns WHERE table_name = '_prisma_migrations' ORDER BY ordinal_position`
    expect(await queryRows(ownDatabase.url, table)).toEqual(await queryRows(prismaDatabase.url, table))
    const content =
      'SELECT migration_name, checksum, applied_steps_count, logs, rolled_back_at FROM _prisma_migrations ORDER BY 1'
    expect(await queryRows(ownDatabase.url, content)).toEqual(await queryRows(prismaDatabase.url, content))
    await Promise.all([prismaDatabase.drop(), ownDatabase.drop()])
  })
})

describe('migration of a large table', () => {
  const table =
    'CREATE TABLE big AS SELECT n AS id, NULL::int AS twice FROM generate_series(1, 12000) n; CREATE TABLE done (id int);'
  const index = '-- assay: outside a transaction\nCREATE INDEX CONCURRENTLY IF NOT EXISTS big_id_idx ON big (id);'
  const backfill = `-- assay: in batches
UPDATE big SET twice = id * 2 WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM big WHERE twice IS NULL LIMIT nullif(current_setting('assay.batch_rows', true), '')::bigint));`
  const outcome = `SELECT count(*)::int AS rows, count(twice)::int AS filled, count(DISTINCT xmin::text)::int AS commits,
    (SELECT indisvalid FROM pg_index WHERE indexrelid = 'big_id_idx'::regclass) AS valid FROM big`

  test('migrates a large table in batches and builds its index outside a transaction', async () => {
    const database = await createEmptyDatabase()
    await migrate(database.url, createFolder('steps', table, index, backfill))
    expect(await queryRows(database.url, outcome)).toEqual([{ rows: 12000, filled: 12000, commits: 3, valid: true }])
    await database.drop()
  })

  test('`prisma migrate deploy` applies a migration of a large table in one batch', async () => {
    const database = await createEmptyDatabase()
    await runPrismaDeploy(database.url, createFolder('prisma', table, index, backfill))
    expect(await queryRows(database.url, outcome)).toEqual([{ rows: 12000, filled: 12000, commits: 1, valid: true }])
    await database.drop()
  })

  test('drops an interrupted index during a migration and builds it again', async () => {
    const database = await createEmptyDatabase()
    const unique = '-- assay: outside a transaction\nCREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS big_id_idx ON big (id);'
    const folder = createFolder('cut', `${table} INSERT INTO big VALUES (1);`, unique)
    await expect(migrate(database.url, folder)).rejects.toThrow(
      'could not create unique index "big_id_idx"; Key (id)=(1) is duplicated.',
    )
    await queryRows(database.url, 'DELETE FROM big WHERE id = 1 AND ctid <> (SELECT min(ctid) FROM big WHERE id = 1)')
    await migrate(database.url, folder)
    expect(await queryRows(database.url, outcome)).toMatchObject([{ valid: true }])
    await database.drop()
  })

  test('rejects a migration with an unknown `-- assay:` comment before changing the database', async () => {
    const database = await createEmptyDatabase()
    await expect(migrate(database.url, createFolder('marker', '-- assay: slowly\nSELECT 1'))).rejects.toThrow(
      "Migration '20990101000000_marker' has the invalid marker '-- assay: slowly'. Valid markers: -- assay: outside a transaction, -- assay: in batches.",
    )
    await database.drop()
  })

  test('waits for a transaction that locks a table, and does not block other transactions for long', async () => {
    const database = await createEmptyDatabase()
    await migrate(database.url, createFolder('held', table))
    const holder = new pg.Client({ connectionString: database.url })
    await holder.connect()
    await holder.query('BEGIN; SELECT * FROM big LIMIT 1')
    const migrated = migrate(database.url, add(join(scratch, 'held'), 'held_next', 'ALTER TABLE big ADD COLUMN more int'))
    // The count query waits behind ALTER TABLE until ALTER TABLE times out.
    await waitFor(
      database.url,
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'ALTER TABLE big%' AND wait_event_type = 'Lock'`,
    )
    await queryRows(database.url, 'SELECT count(*) FROM big')
    await holder.query('COMMIT')
    expect(await migrated).toEqual(['20990101000000_held_next'])
    await holder.end()
    await database.drop()
  })

  test('completes a migration that was killed nine times at different statements', async () => {
    const database = await createEmptyDatabase()
    const slowly = (to: number) =>
      `${table.replace('12000', `${to}`)} INSERT INTO done SELECT 1 FROM (SELECT pg_sleep(0.1)) s; INSERT INTO done SELECT 2 FROM (SELECT pg_sleep(0.1)) s;`
    const slowBackfill = backfill.replace(
      'SELECT ctid FROM big',
      'SELECT ctid FROM (SELECT ctid, twice, CASE id % 500 WHEN 0 THEN pg_sleep(0.01) END FROM big) big',
    )
    const folder = createFolder(
      'killed',
      slowly(12_000),
      index,
      slowBackfill,
      'ALTER TABLE big ALTER twice SET NOT NULL; INSERT INTO done SELECT 3 FROM (SELECT pg_sleep(0.1)) s;',
    )
    for (let kill = 0; kill < 9; kill++) {
      const child = spawn(process.execPath, [inAProcess, database.url, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = once(child, 'exit')
      await once(child.stdout, 'data')
      await sleep(kill * 60 + Math.random() * 60)
      child.kill('SIGKILL')
      await ended
    }
    await migrate(database.url, folder)
    expect(await queryRows(database.url, outcome)).toMatchObject([{ rows: 12000, filled: 12000, valid: true }])
    expect(await queryRows(database.url, 'SELECT id FROM done ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }])
    expect(await queryRows(database.url, 'SELECT count(*)::int AS rows FROM _prisma_migrations')).toEqual([{ rows: 4 }])
    await database.drop()
  })
})

describe('schema and migrations', () => {
  test('the migrations create exactly the Prisma schema', async () => {
    const database = await createEmptyDatabase()
    expect(statements(await getSchemaDrift(database.url))).toEqual([])
    await database.drop()
  })

  test('reports a difference if the migrations deviate from the Prisma schema', async () => {
    const database = await createEmptyDatabase()
    const drift = await getSchemaDrift(
      database.url,
      createFolderWithMore('drift', 'CREATE TABLE forgotten (id int PRIMARY KEY);'),
    )
    expect(statements(drift)).toEqual(['DROP TABLE "forgotten";'])
    await database.drop()
  })

  test('leaves no shadow database after comparing the schema with the migrations', async () => {
    const database = await createEmptyDatabase()
    await getSchemaDrift(database.url)
    // Ignores databases that other test files use, which have connections.
    const shadows = await queryRows(
      database.url,
      `SELECT datname FROM pg_database d WHERE datname LIKE 'prisma_migrate_shadow%' AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.datname = d.datname)`,
    )
    expect(shadows).toEqual([])
    await database.drop()
  })

  test('the repository contains every released migration in its original form', () => {
    const checksums = new Map(readMigrations(migrationsFolder).map(({ name, checksum }) => [name, checksum]))
    const released = readFileSync(join(migrationsFolder, 'released.sha256'), 'utf8').trim().split('\n')
    for (const line of released) {
      const [checksum, path] = line.split(/\s+/)
      expect([path, checksums.get(dirname(path!))]).toEqual([path, checksum])
    }
    expect(released[0]).toContain('_baseline/')
  })

  test('the migrations declare PostgreSQL as their database provider', () => {
    expect(readFileSync(join(migrationsFolder, 'migration_lock.toml'), 'utf8')).toContain('postgresql')
  })
})

const statements = (sql: string) => sql.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('--'))

async function waitFor(url: string, question: string): Promise<void> {
  while ((await queryRows(url, question)).length === 0) await sleep(20)
}
