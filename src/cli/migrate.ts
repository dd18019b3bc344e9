import { readDatabasePlace } from '../config/config.js'
import { borrowDatabase } from '../db/embedded/embedded.js'
import { migrate } from '../db/migrate.js'
import { tell } from './tell.js'

// npm run migrate: what a start does to the database, and no more; a release's job runs it with nothing but DATABASE_URL.
try {
  const database = await borrowDatabase(readDatabasePlace(), (what) => console.error(what))
  try {
    await database.prove()
    console.log(JSON.stringify({ applied: await migrate(database.directUrl) }))
  } finally {
    await database.stop()
  }
} catch (error) {
  tell(error)
  process.exitCode = 1
}
