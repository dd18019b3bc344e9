import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { Batcher } from '../batcher.js'
import { cacheUntilFailure } from '../cached-result.js'
import type { PoolLogger, Queries } from './queries.js'

/** Delays before each check of whether the replica has caught up. They add up to 60 ms. */
const recheckDelaysMs = [0, 2, 4, 8, 16, 30]
/** Time for which requests use the primary without checking the replica, after the replica has failed to catch up. */
const lagPauseMs = 1_000
const checkIntervalMs = 1_000
/** Timeout for status queries, so that a frozen replica does not delay requests. */
const statusTimeoutMs = 1_000
const statementTimedOut = '57014'

interface ReplicaStatus {
  replays: boolean
  position: string | null
}

const statusStatement = {
  name: 'replica-standing',
  text: 'SELECT pg_is_in_recovery() AS replays, pg_last_wal_replay_lsn()::text AS position',
  values: [],
  query_timeout: statusTimeoutMs,
}
const identityStatement = {
  text: 'SELECT concat(system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database())) AS id FROM pg_control_system()',
  query_timeout: statusTimeoutMs,
}

/**
 * Reads from a streaming replica if it has replayed every commit that precedes the request, and otherwise from the primary. The
 * check and the read use the same connection, so several replicas may share one address.
 */
export class ReadReplica implements Queries {
  readonly #primary: pg.Pool
  readonly #pool: pg.Pool
  readonly #positions: PrimaryPositions
  readonly #logger: PoolLogger
  readonly #tick: NodeJS.Timeout
  readonly #getIdentity = cacheUntilFailure(() => queryIdentity(this.#primary))
  #ticking = false
  #behindUntil = 0
  /** Error that currently prevents the service from using the replica. */
  #error: string | undefined
  readonly served = { replica: 0, primary: 0 }

  /** `pool` opens connections to the replica and calls `verify` for each of them. */
  constructor(parts: { primary: pg.Pool; pool: (verify: Verify) => pg.Pool; logger: PoolLogger }) {
    this.#primary = parts.primary
    this.#pool = parts.pool((client, done) => void this.#verify(client).then(() => done(), done))
    this.#logger = parts.logger
    this.#positions = new PrimaryPositions(parts.primary)
    this.#tick = setInterval(() => void this.#checkReplica(), checkIntervalMs).unref()
  }

  query: Queries['query'] = async (...args: unknown[]) => {
    const runQuery = (queries: { query(...args: never[]): unknown }) => queries.query(...(args as never[])) as never
    const queryPrimary = () => {
      this.served.primary++
      return runQuery(this.#primary)
    }
    const client = await this.#acquireConnection()
    if (!client) return queryPrimary()
    try {
      const answer = await runQuery(client)
      client.release()
      this.served.replica++
      return answer
    } catch (error) {
      client.release(error as Error)
      // Do not retry on the primary, which would probably take as long.
      if ((error as { code?: string }).code === statementTimedOut) throw error
      this.#markUnavailable(error)
      return queryPrimary()
    }
  }

  /** True if the replica behind `client` has the data that the request needs. For callers with a dedicated connection. */
  async hasRequiredData(client: pg.Client): Promise<boolean> {
    await this.#verify(client)
    return this.#hasReplayed(client, await this.#getRequiredPosition())
  }

  /** Returns the maximum lag in milliseconds. Throws if the replica does not respond or does not follow this primary. */
  async getLagMs(): Promise<number> {
    const present = await this.#positions.getPositionSince(performance.now())
    const position = parseReplicaPosition(await this.#pool.query<ReplicaStatus>(statusStatement))
    this.#error = undefined
    return position >= present.lsn ? 0 : this.#positions.getAge(position)
  }

  close(): Promise<void> {
    clearInterval(this.#tick)
    return this.#pool.end()
  }

  async #acquireConnection(): Promise<pg.PoolClient | undefined> {
    const fresh = !replicaReadContext.getStore()?.maxAgeMs
    if (this.#error !== undefined || (fresh && performance.now() < this.#behindUntil)) return undefined
    let client: pg.PoolClient | undefined
    try {
      const required = await this.#getRequiredPosition()
      client = await this.#pool.connect()
      if (await this.#hasReplayed(client, required)) return client
      client.release()
    } catch (error) {
      client?.release(true)
      this.#markUnavailable(error)
    }
    return undefined
  }

  #getRequiredPosition(): Promise<Position> {
    const { arrivedAt = performance.now(), maxAgeMs = 0 } = replicaReadContext.getStore() ?? {}
    return this.#positions.getPositionSince(arrivedAt - maxAgeMs)
  }

  async #hasReplayed(client: pg.ClientBase, required: Position): Promise<boolean> {
    const reading = replicaReadContext.getStore()
    for (const lookMs of reading?.maxAgeMs ? [0] : recheckDelaysMs) {
      if (lookMs > 0) await sleep(lookMs)
      const position = parseReplicaPosition(await client.query<ReplicaStatus>(statusStatement))
      if (position < required.lsn) continue
      const now = performance.now()
      // The stored positions may no longer include the latest position before `position`, so `getAge` may return too high an age.
      // The data is at least as recent as the required position, which limits the age.
      const age = Math.min(this.#positions.getAge(position, now), now - required.at)
      reading?.served(Math.max(0, age - (now - (reading?.arrivedAt ?? 0))))
      return true
    }
    if (!reading?.maxAgeMs) this.#behindUntil = performance.now() + lagPauseMs
    return false
  }

  /** Checks that the replica belongs to this primary, so that reads never return rows of another database. */
  async #verify(client: pg.ClientBase): Promise<void> {
    const [own, required] = await Promise.all([queryIdentity(client), this.#getIdentity()])
    if (own !== required)
      throw new Error(
        'DATABASE_READ_URL points to a different database than DATABASE_URL. It must point to a replica of that database.',
      )
  }

  #markUnavailable(error: unknown): void {
    const { message } = error as Error
    if (this.#error !== message) this.#logger.warn({ reason: message }, 'The read replica is unavailable. Reads use the primary.')
    this.#error = message
  }

  /** Checks the replica periodically, so that its recovery is detected without delaying a request. */
  async #checkReplica(): Promise<void> {
    if (this.#ticking) return
    this.#ticking = true
    await this.getLagMs().catch((error) => this.#markUnavailable(error))
    this.#ticking = false
  }
}

async function queryIdentity(database: pg.Pool | pg.ClientBase): Promise<string> {
  const { rows } = await database.query<{ id: string }>(identityStatement)
  return rows[0]!.id
}

type Verify = (client: pg.ClientBase, done: (error?: Error) => void) => void

function parseReplicaPosition({ rows }: { rows: ReplicaStatus[] }): bigint {
  const { replays, position } = rows[0]!
  if (!replays || position === null)
    throw new Error('DATABASE_READ_URL does not point to a replica: the server does not replay WAL. Use a streaming replica.')
  return parseLsn(position)
}

interface Position {
  /** The write-ahead log up to `lsn` includes all commits before this time. Measured by the monotonic clock of this process. */
  at: number
  lsn: bigint
}

// Together, these limits cover the last minute, which is the maximum data age that a request can allow.
const maxKept = 256
const stepMs = 250

/** Stores log positions of the primary with their times. Concurrent callers share one query. */
class PrimaryPositions {
  /** Known positions, sorted by both log position and time. */
  readonly #known: Position[] = []
  readonly #queries = new Batcher<void, Position>({
    run: async (callers) => {
      const position = await this.#readPosition()
      return callers.map(() => position)
    },
  })

  constructor(private readonly primary: pg.Pool) {}

  /** Returns a position that includes all commits before `time`: the earliest known one or, if none is known, the current one. */
  async getPositionSince(time: number): Promise<Position> {
    const latest = this.#known.at(-1)
    if (!latest || latest.at < time) return this.#queries.add()
    return this.#known.find(({ at }) => at >= time) ?? latest
  }

  /** Returns the maximum age in milliseconds of data at `lsn`: the age of the latest stored position up to `lsn`. */
  getAge(lsn: bigint, now = performance.now()): number {
    const latest = this.#known.findLast((position) => position.lsn <= lsn)
    return latest ? now - latest.at : Number.POSITIVE_INFINITY
  }

  async #readPosition(): Promise<Position> {
    const at = performance.now()
    const { rows } = await this.primary.query<{ lsn: string }>('SELECT pg_current_wal_flush_lsn()::text AS lsn')
    const position = { at, lsn: parseLsn(rows[0]!.lsn) }
    const before = this.#known.at(-2)
    if (before && at - before.at < stepMs) this.#known.pop()
    if (this.#known.push(position) > maxKept) this.#known.shift()
    return position
  }
}

/** Parses a log sequence number (LSN), which PostgreSQL writes as two hexadecimal numbers. */
function parseLsn(text: string): bigint {
  const [high, low] = text.split('/')
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}

export interface ReplicaReadContext {
  /** Arrival time of the request, by the monotonic clock of this process. */
  arrivedAt: number
  /** Maximum age of the data at the start of the request, in milliseconds. */
  maxAgeMs: number
  /** Called after each read from a replica, with the age of the data. */
  served(ageMs: number): void
}

/** Request on whose behalf the current code runs. Undefined if no read replica is configured. */
export const replicaReadContext = new AsyncLocalStorage<ReplicaReadContext>()
