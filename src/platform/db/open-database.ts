import { type DatabaseUrls, withoutSecrets } from './database-url.js'
import { type EmbeddedDatabase, type EmbeddedUse, openEmbedded } from './embedded/embedded.js'
import { diskFull } from './embedded/server.js'
import { proveDatabase } from './prove-database.js'

/** The open database of the service or of a command. The service neither stops an external database nor detects its loss. */
export interface OpenDatabase extends EmbeddedDatabase, DatabaseUrls {
  /** Throws an error with one sentence if an external database lacks a required feature. */
  prove(): Promise<void>
}

export interface DatabasePlace {
  dataDir: string
  databaseUrl: string | undefined
  /** Required if `databaseUrl` points to a pooler in transaction mode. */
  databaseDirectUrl?: string | undefined
  /** Maximum number of connections that the service opens. The embedded server allows at least 100. */
  connections?: number
}

type Say = (message: string) => void

/** Opens the database of the service: the external one, or the embedded one in a DATA_DIR that no other service uses. */
export const openDatabase = (place: DatabasePlace, say?: Say) => open(place, 'service', say)

/** Opens the database for an operator command: that of the running service, or a server that is started for the command. */
export const borrowDatabase = (place: DatabasePlace, say?: Say) => open(place, 'command', say)

async function open(place: DatabasePlace, purpose: EmbeddedUse['purpose'], say: Say = () => {}): Promise<OpenDatabase> {
  const { dataDir, databaseUrl, databaseDirectUrl, connections = 0 } = place
  if (databaseUrl !== undefined) return external({ url: databaseUrl, directUrl: databaseDirectUrl ?? databaseUrl })
  const database = await openEmbedded({ dataDir, purpose, connections, say }).catch((error) => {
    throw error.code === 'ENOSPC' ? diskFull(dataDir, error.message) : error
  })
  return { ...database, directUrl: database.url, prove: async () => {} }
}

function external(urls: DatabaseUrls): OpenDatabase {
  const { url, directUrl } = urls
  const sessions = url === directUrl ? '' : `, direct connections to ${withoutSecrets(directUrl)}`
  return {
    ...urls,
    description: `PostgreSQL at ${withoutSecrets(url)}${sessions}`,
    prove: () => proveDatabase(urls),
    stop: async () => {},
    lost: new Promise(() => {}),
    isDiskFull: () => false,
  }
}
