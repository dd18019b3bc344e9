import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

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

/** Reads all migrations of a folder, oldest first. */
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
      `Migration '${name}' is marked '-- assay: ${marker}'. Valid markers: ${Object.keys(markers)
        .map((valid) => `-- assay: ${valid}`)
        .join(', ')}.`,
    )
  return mode
}
