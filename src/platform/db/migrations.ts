import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, DatabaseError } from 'pg'
import { retryIfLocked, runInTransaction } from './queries.js'

// A statement that waits for a table lock blocks later statements on that table, so it waits only briefly and is retried.
const lockTimeoutMs = 2_000
const lockAttempts = 100
const batchRows = 5_000

export async function createMigrationTable(client: Client): Promise<void> {
  await client.query(`CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum VARCHAR(64) NOT NULL,
    finished_at TIMESTAMPTZ,
    migration_name VARCHAR(255) NOT NULL,
    logs TEXT,
    rolled_back_at TIMESTAMPTZ,
    started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count INTEGER NOT NULL DEFAULT 0
  )`)
}

/** Applies one migration, or continues an interrupted migration. */
export async function applyMigration(client: Client, migration: Migration): Promise<void> {
  try {
    // If this process is killed, its statement holds the migration lock until the server detects the lost connection. Let the
    // server check the connection every second.
    await client.query('SET client_connection_check_interval = 1000').catch(() => {})
    await retryIfLocked(() => run[migration.mode](client, migration), { attempts: lockAttempts, pauseMs: lockTimeoutMs })
  } catch (error) {
    const { message, detail, where } = error as DatabaseError
    const words = [message, detail, where].filter((text) => text).join('; ')
    throw new Error(`Database migration '${migration.name}' failed: ${words}`, { cause: error })
  }
}

const run: Record<MigrationMode, (client: Client, migration: Migration) => Promise<void>> = {
  transaction: async (client, migration) => {
    await runInTransaction(client, async () => {
      await client.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`)
      // Use one connection per node, because Citus cannot change a reference table after a change that used parallel connections.
      // Plain PostgreSQL ignores this setting.
      await client.query(`SET LOCAL citus.multi_shard_modify_mode TO 'sequential'`)
      await client.query(migration.sql)
      await recordMigration(client, migration)
    })
  },
  alone: async (client, migration) => {
    await dropInvalidIndexes(client, migration)
    await client.query(migration.sql)
    await recordMigration(client, migration)
  },
  batches: async (client, migration) => {
    await client.query(`SET assay.batch_rows = ${batchRows}`)
    for (let changed = 1; changed > 0; ) {
      const began = performance.now()
      const { rowCount } = await client.query(migration.sql)
      changed = rowCount ?? 0
      if (changed > 0) await sleep(performance.now() - began)
    }
    await recordMigration(client, migration)
  },
}

/** Records a finished migration. Replaces the row that an interrupted attempt may have left behind. */
export async function recordMigration(client: Client, { name, checksum }: Migration): Promise<void> {
  await client.query('DELETE FROM _prisma_migrations WHERE migration_name = $1 AND finished_at IS NULL', [name])
  await client.query(
    `INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, started_at, applied_steps_count)
     VALUES ($1, $2, clock_timestamp(), $3, now(), 1)`,
    [randomUUID(), checksum, name],
  )
}

/** Drops invalid indexes that an interrupted CREATE INDEX CONCURRENTLY left behind, because IF NOT EXISTS would keep them. */
async function dropInvalidIndexes(client: Client, { sql }: Migration): Promise<void> {
  const { rows } = await client.query<{ index: string; name: string }>(
    `SELECT i.indexrelid::regclass::text AS index, c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
     WHERE NOT i.indisvalid AND c.relkind = 'i' AND c.relnamespace = current_schema()::regnamespace`,
  )
  for (const { index, name } of rows)
    if (new RegExp(`\\b${name}\\b`).test(sql)) await client.query(`DROP INDEX CONCURRENTLY ${index}`)
}

/**
 * Execution mode of a migration. `transaction`: all statements and the migration's row in one transaction. `alone`: one statement that
 * PostgreSQL does not allow in a transaction. `batches`: one statement that is repeated and committed until it changes no row.
 */
export type MigrationMode = 'transaction' | 'alone' | 'batches'

export interface Migration {
  name: string
  sql: string
  checksum: string
  mode: MigrationMode
}

/** Reads all migrations in a folder, oldest first. */
export function readMigrations(folder: string): Migration[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, 'migration.sql')))
    .map((entry) => entry.name)
    .sort()
    .map((name) => {
      const sql = readFileSync(join(folder, name, 'migration.sql'), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex'), mode: parseMode(name, sql) }
    })
}

const markers: Record<string, MigrationMode> = { 'outside a transaction': 'alone', 'in batches': 'batches' }

// The mode is in an SQL comment, so that Prisma's command line accepts the file. See prisma/migrations/README.md.
function parseMode(name: string, sql: string): MigrationMode {
  const marker = /^-- assay: *(.*)$/m.exec(sql)?.[1]?.trim()
  if (marker === undefined) return 'transaction'
  const mode = markers[marker]
  if (!mode)
    throw new Error(
      `Migration '${name}' has the invalid marker '-- assay: ${marker}'. Valid markers: ${Object.keys(markers)
        .map((valid) => `-- assay: ${valid}`)
        .join(', ')}.`,
    )
  return mode
}
