import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { conversionCommand, convertPrereleaseDatabase, isPrerelease } from './from-prerelease.js'
import { applyMigration, createMigrationTable, type Migration, readMigrations } from './migrations.js'
import { withClient } from './verify-database.js'

const serviceMigrations = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url))

// Advisory lock key used by `prisma migrate deploy`, so that both commands never run at the same time.
const lockKey = 72_707_369
const lockPollMs = 200
const config = { application_name: 'assay migrate', variable: 'DATABASE_URL' }

/**
 * Applies all pending migrations, and records them as `prisma migrate deploy` does. One replica migrates while the others wait.
 * Returns the names of the applied migrations.
 */
export async function migrate(url: string, folder = serviceMigrations): Promise<string[]> {
  const migrations = readMigrations(folder)
  return withClient(url, config, async (client) => {
    // Check without the lock first, so that an ordinary start does not wait for other replicas.
    if ((await getPendingMigrations(client, migrations)).length === 0) return []
    await acquireMigrationLock(client)
    await createMigrationTable(client)
    const missing = await getPendingMigrations(client, migrations)
    for (const migration of missing) await applyMigration(client, migration)
    return missing.map(({ name }) => name)
  })
}

/** Converts a database from the last pre-release version. Returns false for any other database. */
export async function migrateFromPrerelease(url: string): Promise<boolean> {
  return withClient(url, config, async (client) => {
    await acquireMigrationLock(client)
    const applied = (await getAppliedMigrations(client)).filter(({ finished_at }) => finished_at).map((row) => row.migration_name)
    if (!isPrerelease(applied)) return false
    await convertPrereleaseDatabase(client, applied, readMigrations(serviceMigrations))
    return true
  })
}

// Polls for the lock. A session that waits in pg_advisory_lock would hold a snapshot, which blocks CREATE INDEX CONCURRENTLY.
async function acquireMigrationLock(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [lockKey])
    if (rows[0]!.taken) return
    await sleep(lockPollMs)
  }
}

interface AppliedMigration {
  migration_name: string
  checksum: string
  finished_at: Date | null
}

async function getAppliedMigrations(client: pg.Client): Promise<AppliedMigration[]> {
  const { rows } = await client.query<{ exists: boolean }>(`SELECT to_regclass('_prisma_migrations') IS NOT NULL AS exists`)
  if (!rows[0]?.exists) return []
  const known = await client.query<AppliedMigration>(
    'SELECT migration_name, checksum, finished_at FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY migration_name',
  )
  return known.rows
}

/** Returns the pending migrations. Throws if another version of Assay created or migrated the database. */
async function getPendingMigrations(client: pg.Client, migrations: Migration[]): Promise<Migration[]> {
  const known = await getAppliedMigrations(client)
  if (isPrerelease(known.map(({ migration_name }) => migration_name)))
    throw new Error(
      `A pre-release version of Assay created this database. Stop every replica, back up the database, then run '${conversionCommand}' once.`,
    )
  const names = new Set(migrations.map(({ name }) => name))
  const newer = known.find(({ migration_name }) => !names.has(migration_name))
  if (newer)
    throw new Error(
      `A newer version of Assay created or migrated this database (migration '${newer.migration_name}' is unknown). Start that version, or restore a backup from before the upgrade.`,
    )
  const finished = new Map(known.filter((row) => row.finished_at).map((row) => [row.migration_name, row.checksum]))
  // Reject a migration that was edited after it was applied, because this database would differ from every new one.
  for (const { name, checksum } of migrations)
    if (finished.has(name) && finished.get(name) !== checksum)
      throw new Error(
        `Migration '${name}' was changed after it was applied to this database. Restore the file, and add a new migration for the change.`,
      )
  return migrations.filter(({ name }) => !finished.has(name))
}
