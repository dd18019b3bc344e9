import { type DatabaseUrls, redactDatabaseUrl } from './database-url.js'
import { type EmbeddedDatabase, openEmbeddedDatabase } from './embedded/embedded.js'
import { createDiskFullError } from './embedded/server.js'
import { verifyDatabase } from './verify-database.js'

/**
 * The open database that the service or a command uses. For an external database, `stop` does nothing, and `lost` never resolves.
 */
export interface OpenDatabase extends EmbeddedDatabase, DatabaseUrls {
  /** Throws a one-sentence error if an external database lacks a required feature. */
  verify(): Promise<void>
}

export interface OpenDatabaseOptions {
  dataDir: string
  databaseUrl: string | undefined
  /** Required if `databaseUrl` points to a pooler in transaction mode. */
  databaseDirectUrl?: string | undefined
  /** Maximum number of connections that the service opens. The embedded server allows at least 100. */
  connections?: number
  /** A command may use the embedded database of a running service. */
  purpose?: 'service' | 'command'
}

/** Opens the external database, or the embedded one in DATA_DIR. */
export async function openDatabase(
  { dataDir, databaseUrl, databaseDirectUrl, connections = 0, purpose = 'service' }: OpenDatabaseOptions,
  print: (message: string) => void = () => {},
): Promise<OpenDatabase> {
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
