import { type DatabaseUrls, redactDatabaseUrl } from './database-url.js'
import { type EmbeddedDatabase, type EmbeddedDatabaseOptions, openEmbeddedDatabase } from './embedded/embedded.js'
import { createDiskFullError } from './embedded/server.js'
import { verifyDatabase } from './verify-database.js'

/** The open database of the service or a command. The service neither stops an external database nor detects its loss. */
export interface OpenDatabase extends EmbeddedDatabase, DatabaseUrls {
  /** Throws an error with a single sentence if an external database lacks a required feature. */
  verify(): Promise<void>
}

export interface OpenDatabaseOptions {
  dataDir: string
  databaseUrl: string | undefined
  /** Required if `databaseUrl` points to a pooler in transaction mode. */
  databaseDirectUrl?: string | undefined
  /** Maximum number of connections that the service opens. The embedded server allows at least 100. */
  connections?: number
}

type PrintMessage = (message: string) => void

/** Opens the service's database: the external one, or the embedded one in a DATA_DIR that no other service uses. */
export const openDatabase = (options: OpenDatabaseOptions, print?: PrintMessage) =>
  openConfiguredDatabase(options, 'service', print)

/** Opens the database for an operator command: the running service's database, or a server that is started for the command. */
export const openCommandDatabase = (options: OpenDatabaseOptions, print?: PrintMessage) =>
  openConfiguredDatabase(options, 'command', print)

async function openConfiguredDatabase(
  options: OpenDatabaseOptions,
  purpose: EmbeddedDatabaseOptions['purpose'],
  print: PrintMessage = () => {},
): Promise<OpenDatabase> {
  const { dataDir, databaseUrl, databaseDirectUrl, connections = 0 } = options
  if (databaseUrl !== undefined) return openExternalDatabase({ url: databaseUrl, directUrl: databaseDirectUrl ?? databaseUrl })
  const database = await openEmbeddedDatabase({ dataDir, purpose, connections, print }).catch((error) => {
    throw error.code === 'ENOSPC' ? createDiskFullError(dataDir, error.message) : error
  })
  return { ...database, directUrl: database.url, verify: async () => {} }
}

function openExternalDatabase(urls: DatabaseUrls): OpenDatabase {
  const { url, directUrl } = urls
  const sessions = url === directUrl ? '' : `, direct connections to ${redactDatabaseUrl(directUrl)}`
  return {
    ...urls,
    description: `PostgreSQL at ${redactDatabaseUrl(url)}${sessions}`,
    verify: () => verifyDatabase(urls),
    stop: async () => {},
    lost: new Promise(() => {}),
    isDiskFull: () => false,
  }
}
