import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { PrismaClient } from './generated/client.js'
import { pooledClient } from './pooled-client.js'
import { statementNames } from './statement-names.js'
import { TenantShares } from './tenant-shares.js'

export interface PoolLogger {
  warn(facts: object, message: string): void
}

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
  /** For reading, and for small writes that wait for no lock; one tenant's hold half of it at most. */
  readonly pool: pg.Pool
  /** The ledger's own connections: whatever its transactions wait for, readers do not. */
  readonly writes: pg.Pool
  /** Reads on the one, transactions on the other. */
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
  /** PostgreSQL itself, where `url` is a pooler in transaction mode. */
  directUrl?: string
  /** Longest time for one statement, before both sides give it up. */
  statementTimeoutMs?: number
}

const prismaNames = statementNames('prisma')
const connectTimeoutMs = 4000
// Five groups or changes of different tenants, two more of tenants that are locked, two that only add, and the fold.
const mostWriters = 10
// A transaction that waits longer for a lock makes room for others, and is tried again.
const lockTimeoutMs = 1000

/** Opens nothing yet: connections are made when they are wanted, and a database that is down fails each call within 5 s. */
export function createDatabase(
  url: string,
  { poolSize, logger, directUrl = url, statementTimeoutMs = 30_000 }: DatabaseOptions,
): Database {
  const behindPooler = directUrl !== url
  const limits = {
    statement_timeout: statementTimeoutMs,
    // A transaction that its process forgot must not hold its locks.
    idle_in_transaction_session_timeout: 60_000,
  }
  const pooled = (applicationName: string, more: { max: number; lock_timeout?: number }): pg.PoolConfig => ({
    ...connection(url, applicationName),
    idleTimeoutMillis: 60_000,
    // A server that froze never times out by itself; a little later than it would, we do.
    query_timeout: statementTimeoutMs + 2000,
    max: more.max,
    ...(behindPooler ? { Client: pooledClient({ ...limits, lock_timeout: more.lock_timeout }) } : { ...limits, ...more }),
  })
  const pool = new pg.Pool(pooled('assay', { max: poolSize }))
  new TenantShares(poolSize).limit(pool)
  const writes = new pg.Pool(pooled('assay writes', { max: mostWriters, lock_timeout: lockTimeoutMs }))
  // Without a listener, losing an idle connection would end the process.
  // Not the error itself: pg hangs the whole client on it, with every statement that it has prepared.
  const lost = ({ message, code }: Error & { code?: string }) =>
    logger.warn({ reason: message, code }, 'A database connection was lost.')
  for (const each of [pool, writes]) each.on('error', lost).on('connect', (client) => client.on('error', () => {}))

  const adapter = new PrismaPg(withTransactionsOn(pool, writes), {
    ...(!behindPooler && { statementNameGenerator: ({ sql }) => prismaNames(sql) }),
    onConnectionError: lost,
  })
  const prisma = new PrismaClient({ adapter })
  return {
    pool,
    writes,
    prisma,
    dedicated: (applicationName) => openDedicated(directUrl, applicationName),
    close: async () => {
      await prisma.$disconnect()
      await Promise.all([pool.end(), writes.end()])
    },
  }
}

/** For Prisma, which queries the pool itself and takes a connection out of it for a transaction alone. */
function withTransactionsOn(pool: pg.Pool, writes: pg.Pool): pg.Pool {
  return new Proxy(pool, {
    get(target, name) {
      if (name === 'connect') return () => writes.connect()
      const value = Reflect.get(target, name, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
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
