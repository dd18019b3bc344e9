import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { MigrationList } from '@prisma/schema-engine-wasm'
import pg from 'pg'
import { withoutSecrets } from './embedded/embedded.js'
import type { EngineAnswer, EngineTask } from './migrate-worker.js'

const prismaFolder = fileURLToPath(new URL('../../prisma', import.meta.url))

// Any number that is ours alone; Prisma's engine takes 72707369 for itself.
const lockKey = 4_052_026

/**
 * Brings the database to the newest migration, with Prisma's own engine: what it leaves behind is what
 * `prisma migrate deploy` leaves. Of several replicas that start at once, one does it and the others wait.
 * Gives the names of the migrations that it applied.
 */
export async function migrate(url: string, folder = join(prismaFolder, 'migrations')): Promise<string[]> {
  const list = readMigrations(folder)
  const client = new pg.Client({ connectionString: url, application_name: 'assay migrate', connectionTimeoutMillis: 5000 })
  client.on('error', () => {})
  await client.connect().catch((error: Error) => {
    throw new Error(`The database ${withoutSecrets(url)} cannot be reached (${error.message}); check DATABASE_URL.`, {
      cause: error,
    })
  })
  try {
    // Before the lock, so that an ordinary start does not wait for anybody.
    if (await isCurrent(client, list)) return []
    await client.query('SELECT pg_advisory_lock($1)', [lockKey])
    if (await isCurrent(client, list)) return []
    return await applyAll(url, list)
  } finally {
    await client.end()
  }
}

/** What SQL would bring the migrations' outcome to what prisma/schema.prisma says: for the test that finds drift. Needs the right to create databases. */
export async function schemaDrift(url: string, folder = join(prismaFolder, 'migrations')): Promise<string> {
  const answer = await runEngine({ action: 'diff', url, schema: readSchema(), migrationsList: readMigrations(folder) })
  return 'diff' in answer ? answer.diff : ''
}

async function applyAll(url: string, migrationsList: MigrationList): Promise<string[]> {
  const answer = await runEngine({ action: 'apply', url, schema: readSchema(), migrationsList })
  return 'applied' in answer ? answer.applied : []
}

// Threads run compiled code: under jest this file is src/db/migrate.ts.
const workerFile = new URL(import.meta.url.replace('/src/db/', '/dist/db/').replace(/migrate\.[jt]s/, 'migrate-worker.js'))

/** In a thread of its own, whose end gives back the engine's memory: needed at a migration, a burden ever after. */
async function runEngine(task: EngineTask): Promise<EngineAnswer> {
  const worker = new Worker(workerFile, { workerData: task })
  const answer = await new Promise<EngineAnswer>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject)
    worker.once('exit', (code) => reject(new Error(`Prisma's schema engine ended without an answer (exit status ${code}).`)))
  })
  if ('fault' in answer) throw new Error(`The database could not be migrated${sentence(answer.fault)}`)
  return answer
}

/** The engine's words without its call stack, which is where it names the migration. */
function sentence(fault: string): string {
  const name = /migration_name="([^"]+)"/.exec(fault)?.[1]
  const words = fault.replace(/\n\s*0: [\s\S]*/, '').replace(/^external connector error\n/i, '')
  return `${name === undefined ? '' : ` (migration '${name}')`}: ${words.trim()}`
}

/** True where every migration of ours has been applied: then the engine (2 MB of WebAssembly) need not even be loaded. */
async function isCurrent(client: pg.Client, list: MigrationList): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>(`SELECT to_regclass('_prisma_migrations') IS NOT NULL AS there`)
  if (!rows[0]?.there) return false
  const applied = await client.query<{ migration_name: string; checksum: string }>(
    'SELECT migration_name, checksum FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL',
  )
  const checksums = new Map(applied.rows.map((row) => [row.migration_name, row.checksum]))
  return list.migrationDirectories.every(({ path, migrationFile }) => {
    const known = checksums.get(path)
    if (known !== undefined && migrationFile.content.tag === 'ok')
      refuseEdited(path, { known, text: migrationFile.content.value })
    return known !== undefined
  })
}

/** Migrations only go forward: an edited one would leave this database different from every new one. */
function refuseEdited(name: string, { known, text }: { known: string; text: string }) {
  const checksum = createHash('sha256').update(text).digest('hex')
  if (checksum === known) return
  throw new Error(
    `Migration '${name}' was changed after it had been applied to this database; restore it, and write what is new as another migration.`,
  )
}

const readSchema = () => ({ path: 'schema.prisma', content: readFileSync(join(prismaFolder, 'schema.prisma'), 'utf8') })

function readMigrations(folder: string): MigrationList {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, 'migration.sql')))
    .map((entry) => entry.name)
    .sort()
  return {
    baseDir: folder,
    lockfile: { path: 'migration_lock.toml', content: readFileSync(join(folder, 'migration_lock.toml'), 'utf8') },
    shadowDbInitScript: '',
    migrationDirectories: names.map((name) => ({
      path: name,
      migrationFile: {
        path: 'migration.sql',
        content: { tag: 'ok', value: readFileSync(join(folder, name, 'migration.sql'), 'utf8') },
      },
    })),
  }
}
