import { readDatabaseConfig } from '../platform/config/config.js'
import { migrate, migrateFromPrerelease } from '../platform/db/migrate.js'
import { openDatabase } from '../platform/db/open-database.js'
import { printError } from './command.js'

// npm run migrate: applies the migrations. Requires only DATABASE_URL. --from-prerelease converts a pre-release database first.
try {
  const [option, ...more] = process.argv.slice(2)
  if ((option !== undefined && option !== '--from-prerelease') || more.length > 0)
    throw new Error(
      `Unknown argument '${option === '--from-prerelease' ? more[0] : option}'. The only option is --from-prerelease.`,
    )
  const database = await openDatabase({ ...readDatabaseConfig(), purpose: 'command' }, console.error)
  try {
    await database.verify()
    const converted = option ? { converted: await migrateFromPrerelease(database.directUrl) } : {}
    console.log(JSON.stringify({ ...converted, applied: await migrate(database.directUrl) }))
  } finally {
    await database.stop()
  }
} catch (error) {
  printError(error)
  process.exitCode = 1
}
