import { readDatabasePlace } from '../platform/config/config.js'
import { migrate, migrateFromPrerelease } from '../platform/db/migrate.js'
import { borrowDatabase } from '../platform/db/open-database.js'
import { tell } from './print-error.js'

// npm run migrate: what a start does to the database, and no more; a release's job runs it with nothing but DATABASE_URL.
// With --from-prerelease, it first converts a database of the last pre-release version.
try {
  const [option, ...more] = process.argv.slice(2)
  if ((option !== undefined && option !== '--from-prerelease') || more.length > 0)
    throw new Error(
      `Unknown argument '${option === '--from-prerelease' ? more[0] : option}'. The only option is --from-prerelease.`,
    )
  const database = await borrowDatabase(readDatabasePlace(), (what) => console.error(what))
  try {
    await database.prove()
    const converted = option ? { converted: await migrateFromPrerelease(database.directUrl) } : {}
    console.log(JSON.stringify({ ...converted, applied: await migrate(database.directUrl) }))
  } finally {
    await database.stop()
  }
} catch (error) {
  tell(error)
  process.exitCode = 1
}
