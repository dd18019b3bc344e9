import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { Durability } from './durability.js'
import { PrismaClient } from './generated/client.js'
import { createPooledClientClass, ServiceClient } from './pooled-client.js'
import { connectClient, createStatementNamer, type PoolLogger, type Queries } from './queries.js'
import { ReadReplica } from './read-replica.js'
import { limitQueriesPerTenant, type Query, TenantLimitedPool } from './tenant-query-limiter.js'

export interface Database {
  /** Connections for reads, and for small writes that do not wait for locks. Each tenant can use at most half of the connections. */
  readonly pool: pg.Pool
  /** Separate connections for the ledger, so that its waiting transactions do not delay reads. */
  readonly writes: pg.Pool
  /** Connections for lists, logs, statistics and exports, which may run on a replica. Without a replica, identical to `pool`. */
  readonly reads: Queries
  readonly replica: ReadReplica | undefined
  /** Reports whether a database crash could still lose rows that `pool` reads. */
  readonly durability: Durability
  /** Prisma client that uses `pool` for reads and `writes` for transactions. */
  readonly prisma: PrismaClient
  /** Opens a connection without a statement timeout. The caller must close it, and handle its errors if it stays open. */
  connectDedicated(applicationName: string): Promise<pg.Client>
  /** Like `connectDedicated`, but connects to the read replica if the replica has the data that the request needs. */
  connectDedicatedReads(applicationName: string): Promise<pg.Client>
  close(): Promise<void>
}

export interface DatabaseOptions {
  poolSize: number
  logger: PoolLogger
  /** URL of PostgreSQL itself, if `url` points to a pooler in transaction mode. */
  directUrl?: string
  readUrl?: string | undefined
  /** Statement timeout that both the server and the client enforce. */
  statementTimeoutMs?: number
}

const prismaNames = createStatementNamer('prisma')
// Without this setting, PostgreSQL would replan a named statement with an array, LIMIT or OFFSET parameter on every execution.
const genericPlans = '-c plan_cache_mode=force_generic_plan'
const connectTimeoutMs = 4000
// This timeout is short, because the primary serves reads while a replica is unavailable.
const replicaConnectMs = 1000
// Maximum number of concurrent ledger transactions: two move groups, three changes by different tenants, two retries for locked
// tenants, two append groups, and one fold.
const maxWriters = 10
// A transaction that waits longer for a lock is rolled back and retried.
const lockTimeoutMs = 1000

/** Creates the connection pools. Connections are opened on demand. If the database is down, each call fails within 5 seconds. */
export function createDatabase(
  url: string,
  { poolSize, logger, directUrl = url, readUrl, statementTimeoutMs = 30_000 }: DatabaseOptions,
): Database {
  const behindPooler = directUrl !== url
  const limits = {
    statement_timeout: statementTimeoutMs,
    // Ends a transaction that its process has abandoned, so that its locks are released.
    idle_in_transaction_session_timeout: 60_000,
  }
  // Without a listener, the loss of an idle connection would end the process. Log only two fields, because pg attaches the whole
  // client to the error.
  let isClosing = false
  const onConnectionLost = ({ message, code }: Error & { code?: string }) =>
    isClosing || logger.warn({ reason: message, code }, 'A database connection was lost.')
  const addErrorListeners = (openedPool: pg.Pool) =>
    openedPool.on('error', onConnectionLost).on('connect', (client) => client.on('error', () => {}))
  const reading = { limits: { ...limits, options: genericPlans }, max: poolSize }
  const pool = new TenantLimitedPool({ ...createPoolConfig(url, 'assay', { ...reading, behindPooler }), max: poolSize })
  const writing = { limits: { ...limits, lock_timeout: lockTimeoutMs }, max: maxWriters, behindPooler }
  const writes = new pg.Pool(createPoolConfig(url, 'assay writes', writing))
  for (const each of [pool, writes]) addErrorListeners(each)

  const adapter = new PrismaPg(createPrismaPool(pool, writes), {
    ...(!behindPooler && { statementNameGenerator: ({ sql }) => prismaNames(sql) }),
    onConnectionError: onConnectionLost,
  })
  const prisma = new PrismaClient({ adapter })
  const openReplicaPool = (verifyConnection: unknown) =>
    addErrorListeners(new pg.Pool(createReplicaConfig(readUrl!, reading, verifyConnection)))
  const replica = readUrl === undefined ? undefined : new ReadReplica({ primary: pool, pool: openReplicaPool, logger })
  const reads = replica ? { query: limitQueriesPerTenant(replica.query as Query, poolSize) as Queries['query'] } : pool
  const openDedicatedClient = (applicationName: string) => openDedicatedConnection(directUrl, applicationName)
  return {
    pool,
    writes,
    reads,
    replica,
    durability: new Durability(pool, logger),
    prisma,
    connectDedicated: openDedicatedClient,
    connectDedicatedReads: async (applicationName) =>
      (replica && (await connectToReplica(replica, readUrl!, applicationName).catch(() => undefined))) ??
      openDedicatedClient(applicationName),
    close: async () => {
      isClosing = true
      await prisma.$disconnect()
      await replica?.close()
      await Promise.all([pool.end(), writes.end()])
    },
  }
}

interface PoolOptions {
  limits: { statement_timeout: number; lock_timeout?: number; options?: string }
  max: number
  /** True if the URL points to a pooler in transaction mode, which rejects startup options. */
  behindPooler?: boolean
}

function createPoolConfig(url: string, name: string, { limits, max, behindPooler }: PoolOptions): pg.PoolConfig {
  const { options: _startupOptions, ...perTransaction } = limits
  return {
    ...createClientConfig(url, name),
    idleTimeoutMillis: 60_000,
    // A frozen server cannot enforce its own timeout, so the client enforces a slightly longer one.
    query_timeout: limits.statement_timeout + 2000,
    max,
    ...(behindPooler ? { Client: createPooledClientClass(perTransaction) } : { Client: ServiceClient, ...limits }),
  }
}

// Add `verify` with `Object.assign`, because pg's types do not declare it. pg-pool calls it for each new connection.
const createReplicaConfig = (url: string, options: PoolOptions, verifyConnection: unknown): pg.PoolConfig =>
  Object.assign(createPoolConfig(url, 'assay reads', options), {
    connectionTimeoutMillis: replicaConnectMs,
    verify: verifyConnection,
  })

async function connectToReplica(replica: ReadReplica, url: string, name: string): Promise<pg.Client | undefined> {
  const client = await openDedicatedConnection(url, name, replicaConnectMs)
  if (await replica.hasRequiredData(client).catch(() => false)) return client
  await client.end()
  return undefined
}

/** Returns a pool for Prisma that runs transactions on `writePool`. Prisma calls `connect` only for transactions. */
function createPrismaPool(pool: pg.Pool, writePool: pg.Pool): pg.Pool {
  return new Proxy(pool, {
    get(target, name) {
      if (name === 'connect') return () => writePool.connect()
      const value = Reflect.get(target, name, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

const openDedicatedConnection = (url: string, applicationName: string, timeoutMs = connectTimeoutMs): Promise<pg.Client> =>
  connectClient({ ...createClientConfig(url, applicationName), connectionTimeoutMillis: timeoutMs })

function createClientConfig(url: string, applicationName: string): pg.ClientConfig {
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

// Type parsers for this service's statements. Prisma passes its own parsers with each query.
const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (oid: number, format?: string) => {
  if (format !== 'binary') {
    if (oid === int8) return parseExactNumber
    if (oid === int8Array) return (value: string) => bigints(value).map((item) => (item === null ? null : parseExactNumber(item)))
    // pg would interpret a timestamp without a time zone as local time. The service stores all timestamps in UTC.
    if (oid === timestamp) return (value: string) => new Date(`${value.replace(' ', 'T')}Z`)
  }
  return pg.types.getTypeParser(oid, format as 'text')
}

// Send Date parameters in UTC, regardless of the machine's time zone.
pg.defaults.parseInputDatesAsUTC = true

/** Throws if a number exceeds 2^53, because rounding would make a count inexact. */
function parseExactNumber(value: string): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number))
    throw new RangeError(
      `The database contains the number ${value}, which JavaScript cannot represent exactly. The limit is 2^53.`,
    )
  return number
}
