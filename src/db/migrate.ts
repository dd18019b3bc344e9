import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { applyMigration, createMigrationTable } from './apply-migration.js'
import { type Migration, readMigrations } from './migrations.js'
import { unreached } from './prove-database.js'

const ours = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))

// The one that `prisma migrate deploy` takes, so that neither runs beside the other.
const lockKey = 72_707_369
const lockPollMs = 200

/**
 * Brings the database to the newest migration; files and table are those of `prisma migrate deploy`. Of several replicas
 * that start at once, one does it and the others wait. Killed anywhere, the next start goes on from there.
 * Gives the names of the migrations that it applied.
 */
export async function migrate(url: string, folder = ours): Promise<string[]> {
  const migrations = readMigrations(folder)
  const client = new pg.Client({ connectionString: url, application_name: 'assay migrate', connectionTimeoutMillis: 5000 })
  client.on('error', () => {})
  await client.connect().catch((error: Error) => {
    throw unreached(error, url, 'DATABASE_URL')
  })
  try {
    // Before the lock, so that an ordinary start waits for no other.
    if ((await pending(client, migrations)).length === 0) return []
    await lock(client)
    await createMigrationTable(client)
    const missing = await pending(client, migrations)
    for (const migration of missing) await applyMigration(client, migration)
    return missing.map(({ name }) => name)
  } finally {
    await client.end().catch(() => {})
  }
}

// Asked again and again: a session that waits inside pg_advisory_lock holds a snapshot, which CREATE INDEX CONCURRENTLY waits for.
async function lock(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [lockKey])
    if (rows[0]!.taken) return
    await sleep(lockPollMs)
  }
}

interface Known {
  migration_name: string
  checksum: string
  finished_at: Date | null
}

/** The migrations that the database lacks. Throws where it is not a database for this version. */
async function pending(client: pg.Client, migrations: Migration[]): Promise<Migration[]> {
  const { rows } = await client.query<{ there: boolean }>(`SELECT to_regclass('_prisma_migrations') IS NOT NULL AS there`)
  if (!rows[0]?.there) return migrations
  const known = await client.query<Known>(
    'SELECT migration_name, checksum, finished_at FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY migration_name',
  )
  const names = new Set(migrations.map(({ name }) => name))
  const newer = known.rows.find(({ migration_name }) => !names.has(migration_name))
  if (newer)
    throw new Error(
      `The database is of a newer version of Assay (migration '${newer.migration_name}', which this one does not have); start that version, or restore a backup from before it.`,
    )
  const finished = new Map(known.rows.filter((row) => row.finished_at).map((row) => [row.migration_name, row.checksum]))
  // Migrations only go forward: an edited one would leave this database different from every new one.
  for (const { name, checksum } of migrations)
    if (finished.has(name) && finished.get(name) !== checksum)
      throw new Error(
        `Migration '${name}' was changed after it had been applied to this database; restore it, and write what is new as another migration.`,
      )
  return migrations.filter(({ name }) => !finished.has(name))
}
