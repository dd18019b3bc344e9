// node test/support/migrate.mjs URL FOLDER: runs migrations in a process that a test can kill.
import { migrate } from '../../dist/platform/db/migrate.js'

const [url, folder] = process.argv.slice(2)
console.log('started')
await migrate(url, folder)
