import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { readMigrations } from '../../src/platform/db/migrations.js'

const prisma = fileURLToPath(new URL('../../prisma', import.meta.url))
const ownMigrations = join(prisma, 'migrations')

/** Runs `prisma migrate deploy` and returns the names of applied migrations. */
export const runPrismaDeploy = async (url: string, folder = ownMigrations): Promise<string[]> =>
  (await runSchemaEngine('apply', url, folder)).applied!

/**
 * Returns the SQL that changes the migrated schema to prisma/schema.prisma, or an empty string if both are equal. Creates a
 * shadow database.
 */
export const getSchemaDrift = async (url: string, folder = ownMigrations): Promise<string> =>
  (await runSchemaEngine('diff', url, folder)).diff!

interface Answer {
  applied?: string[]
  diff?: string
  fault?: string
}

async function runSchemaEngine(action: 'apply' | 'diff', url: string, folder: string): Promise<Answer> {
  const migrationDirectories = readMigrations(folder).map(({ name, sql }) => ({
    path: name,
    migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: sql } },
  }))
  const lockfile = { path: 'migration_lock.toml', content: readFileSync(join(ownMigrations, 'migration_lock.toml'), 'utf8') }
  const migrationsList = { baseDir: folder, lockfile, shadowDbInitScript: '', migrationDirectories }
  const schema = { path: 'schema.prisma', content: readFileSync(join(prisma, 'schema.prisma'), 'utf8') }
  const worker = new Worker(new URL('./schema-engine.mjs', import.meta.url), {
    workerData: { action, url, schema, migrationsList },
  })
  const response = await new Promise<Answer>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject)
    worker.once('exit', (code) => reject(new Error(`Prisma's schema engine exited without a response (exit status ${code}).`)))
  })
  if (response.fault !== undefined) throw new Error(response.fault)
  return response
}
