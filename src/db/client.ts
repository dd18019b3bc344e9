import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { PrismaClient } from './generated/client.js'

/** The part of a logger that the pool needs. */
export interface PoolLogger {
  warn(facts: object, message: string): void
}

/** What runs a statement: the pool, or one connection. */
export interface Queries {
  query<T extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<{ rows: T[]; rowCount: number | null }>
  /** Under a name: planned once on each connection. */
  query<T extends pg.QueryResultRow>(statement: {
    name: string
    text: string
    values: unknown[]
  }): Promise<{ rows: T[]; rowCount: number | null }>
}

export interface Database {
  readonly pool: pg.Pool
  /** On the very same pool: one limit on connections, one place where an outage shows. */
  readonly prisma: PrismaClient
  /**
   * A connection of its own, outside the pool and without a limit on a statement's time: for LISTEN, exports and
   * recounts. The caller handles its 'error' events where it stays open, and ends it.
   */
  dedicated(applicationName: string): Promise<pg.Client>
  close(): Promise<void>
}

export interface DatabaseOptions {
  poolSize: number
  logger: PoolLogger
  /** Longest time for one statement, before both sides give it up. */
  statementTimeoutMs?: number
}

const connectTimeoutMs = 4000

/** Opens nothing yet: connections are made when they are wanted, and a database that is down fails each call within 5 s. */
export function createDatabase(url: string, { poolSize, logger, statementTimeoutMs = 30_000 }: DatabaseOptions): Database {
  const pool = new pg.Pool({
    ...connection(url, 'assay'),
    max: poolSize,
    idleTimeoutMillis: 60_000,
    statement_timeout: statementTimeoutMs,
    // A server that froze never times out by itself; a little later than it would, we do.
    query_timeout: statementTimeoutMs + 2000,
    // A transaction that its process forgot must not hold its locks.
    idle_in_transaction_session_timeout: 60_000,
  })
  // Without a listener, losing an idle connection would end the process.
  // Not the error itself: pg hangs the whole client on it, with every statement that it has prepared.
  const lost = ({ message, code }: Error & { code?: string }) =>
    logger.warn({ reason: message, code }, 'A database connection was lost.')
  pool.on('error', lost)
  pool.on('connect', (client) => client.on('error', () => {}))

  const adapter = new PrismaPg(pool, { statementNameGenerator: statementNames(), onConnectionError: lost })
  const prisma = new PrismaClient({ adapter })
  return {
    pool,
    prisma,
    dedicated: (applicationName) => openDedicated(url, applicationName),
    close: async () => {
      await prisma.$disconnect()
      await pool.end()
    },
  }
}

async function openDedicated(url: string, applicationName: string): Promise<pg.Client> {
  const client = new pg.Client(connection(url, applicationName))
  client.on('error', () => {})
  await client.connect()
  return client
}

function connection(url: string, applicationName: string): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser },
  }
}

const int8 = 20
const int8Array = 1016
const textArray = 1009
const timestamp = 1114

const bigints = pg.types.getTypeParser(textArray as number) as (value: string) => (string | null)[]

// Only for our own statements: Prisma brings parsers of its own with each query.
const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (oid: number, format?: string) => {
  if (format !== 'binary') {
    if (oid === int8) return exactNumber
    if (oid === int8Array) return (value: string) => bigints(value).map((item) => (item === null ? null : exactNumber(item)))
    // pg would read a timestamp without a zone in the machine's own; all of ours are UTC.
    if (oid === timestamp) return (value: string) => new Date(`${value.replace(' ', 'T')}Z`)
  }
  return pg.types.getTypeParser(oid, format as 'text')
}

// Dates as parameters go out as UTC, whatever the machine's time zone.
pg.defaults.parseInputDatesAsUTC = true

/** Contract §4: every count is exact. Beyond 2^53 a Number no longer is, so it is a fault and not a rounded figure. */
function exactNumber(value: string): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number))
    throw new RangeError(`The database holds ${value}, which is beyond the exact numbers of JavaScript (2^53).`)
  return number
}

// Prepared statements stay on the server for a connection's life, so that their number must have an end.
const mostStatements = 500

function statementNames(): (query: { sql: string }) => string {
  const names = new Map<string, string>()
  return ({ sql }) => {
    let name = names.get(sql)
    if (name === undefined && names.size < mostStatements) {
      name = `prisma_${names.size}`
      names.set(sql, name)
    }
    // An empty name is PostgreSQL's unnamed statement: parsed each time, kept nowhere.
    return name ?? ''
  }
}
