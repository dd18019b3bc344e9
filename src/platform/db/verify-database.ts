import type pg from 'pg'
import { type DatabaseUrls, redactDatabaseUrl } from './database-url.js'
import { connectClient } from './queries.js'

const minVersion = 15
const supported = `Assay supports PostgreSQL ${minVersion} or newer, including Amazon Aurora and Citus`

const config = { application_name: 'assay start', query_timeout: 5000 }

/** Checks that an external database is a recent, writable PostgreSQL server, and that each session stays on one connection. */
export async function verifyDatabase({ url, directUrl }: DatabaseUrls): Promise<void> {
  const pooled = url !== directUrl
  const name = pooled ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL'
  // Connect with statement_timeout as a startup parameter, so that a pooler that rejects such parameters is detected here.
  await withClient(directUrl, { ...config, variable: name, statement_timeout: 30_000 }, async (client) => {
    await assertSupportedProduct(client, directUrl)
    const server = await identifyServer(client)
    assertServerSettings(server, directUrl)
    await withClient(directUrl, { ...config, variable: name }, (other) => assertStableSessions(client, other, name))
    if (!pooled) return
    await withClient(url, { ...config, variable: 'DATABASE_URL' }, async (through) => {
      if ((await identifyServer(through)).place === server.place) return
      throw new Error(
        `DATABASE_URL (${redactDatabaseUrl(url)}) and DATABASE_DIRECT_URL (${redactDatabaseUrl(directUrl)}) point to different databases. Both must point to the same one.`,
      )
    })
  })
}

interface Server {
  version: number
  encoding: string
  standby: boolean
  place: string
}

/** Databases that implement PostgreSQL's protocol and report a recent version, but on which a migration would fail. */
const unsupported: Record<string, RegExp> = {
  CockroachDB: /cockroach/i,
  YugabyteDB: /yugabyte|-YB-/i,
  // PostgreSQL names its compiler, as in "PostgreSQL 16.4, compiled by gcc". PGAdapter returns only "PostgreSQL 14.1".
  'an unknown database that emulates PostgreSQL': /^(?!PostgreSQL .*, compiled by )/,
}

async function assertSupportedProduct(client: pg.Client, url: string): Promise<void> {
  const { rows } = await client.query<{ version: string }>('SELECT version()')
  const { version } = rows[0]!
  const product = Object.keys(unsupported).find((name) => unsupported[name]!.test(version))
  if (product) throw new Error(`The database ${redactDatabaseUrl(url)} is ${product} (version '${version}'). ${supported}.`)
}

async function identifyServer(client: pg.Client): Promise<Server> {
  const { rows } = await client.query<Server>(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding,
       pg_is_in_recovery() OR current_setting('transaction_read_only')::bool AS standby,
       concat(pg_postmaster_start_time(), ' ', (SELECT oid FROM pg_database WHERE datname = current_database())) AS place`,
  )
  return rows[0]!
}

function assertServerSettings({ version, encoding, standby }: Server, url: string): void {
  const place = `The database ${redactDatabaseUrl(url)}`
  if (version < minVersion * 10_000) throw new Error(`${place} is PostgreSQL ${Math.floor(version / 10_000)}. ${supported}.`)
  if (encoding !== 'UTF8')
    throw new Error(`${place} has the encoding ${encoding}. Create it with ENCODING 'UTF8', which is required for file names.`)
  if (standby) throw new Error(`${place} is read-only or a standby. Use the primary.`)
}

/** Throws if a pooler in transaction mode lets two clients share a connection. */
async function assertStableSessions(first: pg.Client, second: pg.Client, name: string): Promise<void> {
  const processIds: number[] = []
  for (const client of [first, second, first, second]) processIds.push(await getProcessId(client))
  if (processIds[0] === processIds[2] && processIds[1] === processIds[3] && processIds[0] !== processIds[1]) return
  throw new Error(
    name === 'DATABASE_URL'
      ? 'DATABASE_URL points to a pooler in transaction mode, but some features require a session. Keep DATABASE_URL, and set DATABASE_DIRECT_URL to a URL that connects directly to PostgreSQL.'
      : 'DATABASE_DIRECT_URL points to a pooler in transaction mode. It must point directly to PostgreSQL, or to a pooler in session mode.',
  )
}

async function getProcessId(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return rows[0]!.pid
}

/** Runs `work` with a dedicated connection. If the connection fails, throws an error that names the `variable` to check. */
export async function withClient<T>(
  url: string,
  { variable, ...config }: pg.ClientConfig & { variable: string },
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await connectClient({ ...config, connectionString: url, connectionTimeoutMillis: 5000 }).catch(
    (error: Error) => {
      throw createConnectionError(error, url, variable)
    },
  )
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}

function createConnectionError(error: Error & { code?: string }, url: string, name: string): Error {
  const refused = /unsupported startup parameter(?: in options)?: (\S+)/.exec(error.message)?.[1]
  const message = refused
    ? `${name} points to a pooler that rejects the startup parameter '${refused}'. ${name === 'DATABASE_URL' ? 'Keep it, and set DATABASE_DIRECT_URL to a URL that connects directly to PostgreSQL.' : 'It must point directly to PostgreSQL.'}`
    : `The database ${redactDatabaseUrl(url)} is unreachable (${error.message || error.code}). Check ${name}.`
  return new Error(message, { cause: error })
}
