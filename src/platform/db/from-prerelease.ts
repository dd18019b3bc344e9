import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { type Migration, recordMigration } from './migrations.js'
import { runInTransaction } from './queries.js'

const folder = fileURLToPath(new URL('../../../prisma/from-prerelease', import.meta.url))
const conversion = 'convert.sql'

const firstMigration = '20261120000000_first'
const lastMigration = '20261123015000_uploads_alike'
const baselineName = /_baseline$/

export const conversionCommand = 'npm run migrate -- --from-prerelease'

/** True if the applied migrations are from a version before the baseline. */
export const isPrerelease = (applied: readonly string[]): boolean => applied.includes(firstMigration)

/** Converts a database from the last pre-release version to the baseline. `applied` lists its applied migrations. */
export async function convertPrereleaseDatabase(
  client: pg.Client,
  applied: readonly string[],
  migrations: Migration[],
): Promise<void> {
  const baseline = migrations.find(({ name }) => baselineName.test(name))!
  const later = readdirSync(folder)
    .filter((file) => file !== conversion)
    .sort()
  const laterNames = later.map((file) => basename(file, '.sql'))
  const unknown = applied.find((name) => name > lastMigration && !laterNames.includes(name))
  if (!applied.includes(lastMigration) || unknown)
    throw new Error(
      `This pre-release database cannot be converted (its last migration is '${[...applied].sort().at(-1)}'). First start the last pre-release version with this database, to apply all migrations up to '${laterNames.at(-1) ?? lastMigration}'.`,
    )
  await assertNotInUse(client)
  await runInTransaction(client, async () => {
    for (const file of later) if (!applied.includes(basename(file, '.sql'))) await client.query(readSqlFile(file))
    await client.query(readSqlFile(conversion))
    await client.query(getFunctionDefinitions(baseline))
    await client.query('DELETE FROM _prisma_migrations')
    await recordMigration(client, baseline)
  }).catch((error: Error) => {
    throw new Error(`The database could not be converted and is unchanged: ${error.message}`, { cause: error })
  })
}

/** Throws if a service is running, because it would call functions that no longer exist after the conversion. */
async function assertNotInUse(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ connections: number }>(
    `SELECT count(*)::int AS connections FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'assay%' AND application_name NOT IN ('assay start', 'assay migrate')`,
  )
  const { connections } = rows[0]!
  if (connections > 0)
    throw new Error(
      `The service is still using the database (${connections} connection${connections === 1 ? '' : 's'}). Stop all replicas, then run '${conversionCommand}' again.`,
    )
}

const readSqlFile = (file: string): string => readFileSync(join(folder, file), 'utf8')

/** Returns the baseline's last section, which replaces the existing functions. */
function getFunctionDefinitions({ sql }: Migration): string {
  const section = /^-- =+ Functions =+$(.*)/ms.exec(sql)?.[1]
  if (section === undefined) throw new Error('The baseline migration contains no functions.')
  return section
}
