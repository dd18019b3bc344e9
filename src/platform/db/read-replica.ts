import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { type Position, PrimaryPositions, parseLsn } from './primary-positions.js'
import type { PoolLogger, Queries } from './queries.js'
import { replicaReadContext } from './replica-read-context.js'

/** Pauses between checks of a replica that lags slightly, about 60 ms in total. */
const looksMs = [0, 2, 4, 8, 16, 30]
/** Time for which requests do not wait again for a replica that lags further behind. */
const restMs = 1_000
const tickMs = 1_000
/** Time-out of queries about the replica itself, so that a frozen replica does not delay requests. */
const answerMs = 1_000
const statementTimedOut = '57014'

interface Standing {
  replays: boolean
  position: string | null
}

const standingStatement = {
  name: 'replica-standing',
  text: 'SELECT pg_is_in_recovery() AS replays, pg_last_wal_replay_lsn()::text AS position',
  values: [],
  query_timeout: answerMs,
}
const identityStatement = {
  text: 'SELECT concat(system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database())) AS id FROM pg_control_system()',
  query_timeout: answerMs,
}

/**
 * Reads from a streaming replica if it has every commit before the request, and otherwise from the primary. A request may allow older data.
 * The check compares positions in the primary's log, so it covers the writes of all replicas of the service. It runs on the same connection
 * as the read, so it is also valid if an address stands for several database replicas.
 */
export class ReadReplica implements Queries {
  readonly #primary: pg.Pool
  readonly #pool: pg.Pool
  readonly #positions: PrimaryPositions
  readonly #logger: PoolLogger
  readonly #tick: NodeJS.Timeout
  #identity: Promise<string> | undefined
  #ticking = false
  #behindUntil = 0
  /** Error because of which the replica is not used at present. */
  #error: string | undefined
  /** Number of statements by the server that executed them. */
  readonly served = { replica: 0, primary: 0 }

  /** `pool` opens the connections to the replica, and calls `verify` for each of them. */
  constructor(parts: { primary: pg.Pool; pool: (verify: Verify) => pg.Pool; logger: PoolLogger }) {
    this.#primary = parts.primary
    this.#pool = parts.pool((client, done) => void this.#verify(client).then(() => done(), done))
    this.#logger = parts.logger
    this.#positions = new PrimaryPositions(async () => {
      const { rows } = await parts.primary.query<{ lsn: string }>('SELECT pg_current_wal_flush_lsn()::text AS lsn')
      return rows[0]!.lsn
    })
    this.#tick = setInterval(() => void this.#look(), tickMs).unref()
  }

  query: Queries['query'] = async (...given: unknown[]) => {
    const ask = (queries: { query(...given: never[]): unknown }) => queries.query(...(given as never[])) as never
    const askPrimary = () => {
      this.served.primary++
      return ask(this.#primary)
    }
    const client = await this.#connection()
    if (!client) return askPrimary()
    try {
      const answer = await ask(client)
      client.release()
      this.served.replica++
      return answer
    } catch (error) {
      client.release(error as Error)
      // The primary would probably take just as long.
      if ((error as { code?: string }).code === statementTimedOut) throw error
      this.#away(error)
      return askPrimary()
    }
  }

  /** True if the replica behind `client` has the data that the request needs. For callers with their own connection. */
  async mayServe(client: pg.Client): Promise<boolean> {
    await this.#verify(client)
    return this.#reaches(client, await this.#wanted())
  }

  /** Maximum lag in milliseconds. Throws if the replica does not respond or does not follow this primary. */
  async behindMs(): Promise<number> {
    const present = await this.#positions.since(performance.now())
    const position = getPosition(await this.#pool.query<Standing>(standingStatement))
    this.#error = undefined
    return position >= present.lsn ? 0 : this.#positions.getAge(position)
  }

  close(): Promise<void> {
    clearInterval(this.#tick)
    return this.#pool.end()
  }

  async #connection(): Promise<pg.PoolClient | undefined> {
    const fresh = !replicaReadContext.getStore()?.maxAgeMs
    if (this.#error !== undefined || (fresh && performance.now() < this.#behindUntil)) return undefined
    let client: pg.PoolClient | undefined
    try {
      const wanted = await this.#wanted()
      client = await this.#pool.connect()
      if (await this.#reaches(client, wanted)) return client
      client.release()
    } catch (error) {
      client?.release(true)
      this.#away(error)
    }
    return undefined
  }

  #wanted(): Promise<Position> {
    const { cameAt = performance.now(), maxAgeMs = 0 } = replicaReadContext.getStore() ?? {}
    return this.#positions.since(cameAt - maxAgeMs)
  }

  async #reaches(client: pg.ClientBase, wanted: Position): Promise<boolean> {
    const reading = replicaReadContext.getStore()
    for (const lookMs of reading?.maxAgeMs ? [0] : looksMs) {
      if (lookMs > 0) await sleep(lookMs)
      const position = getPosition(await client.query<Standing>(standingStatement))
      if (position < wanted.lsn) continue
      const now = performance.now()
      // Later positions may have been discarded, but the replica has every commit before the wanted position.
      const age = Math.min(this.#positions.getAge(position, now), now - wanted.at)
      reading?.served(Math.max(0, age - (now - (reading?.cameAt ?? 0))))
      return true
    }
    if (!reading?.maxAgeMs) this.#behindUntil = performance.now() + restMs
    return false
  }

  /** Checks that the replica belongs to this primary, so that rows of another database are never returned. */
  async #verify(client: pg.ClientBase): Promise<void> {
    this.#identity ??= this.#primary.query<{ id: string }>(identityStatement).then(({ rows }) => rows[0]!.id)
    const { rows } = await client.query<{ id: string }>(identityStatement)
    const ours = await this.#identity.catch((error) => {
      this.#identity = undefined
      throw error
    })
    if (rows[0]!.id !== ours)
      throw new Error(
        'DATABASE_READ_URL points to a different database than DATABASE_URL. It must point to a replica of that database.',
      )
  }

  #away(error: unknown): void {
    const { message } = error as Error
    if (this.#error !== message) this.#logger.warn({ reason: message }, 'The read replica is unavailable. Reads use the primary.')
    this.#error = message
  }

  /** Checks the replica periodically. Requests then do not have to detect its recovery, and older log positions are known. */
  async #look(): Promise<void> {
    if (this.#ticking) return
    this.#ticking = true
    await this.behindMs().catch((error) => this.#away(error))
    this.#ticking = false
  }
}

type Verify = (client: pg.ClientBase, done: (error?: Error) => void) => void

function getPosition({ rows }: { rows: Standing[] }): bigint {
  const { replays, position } = rows[0]!
  if (!replays || position === null)
    throw new Error('DATABASE_READ_URL does not point to a replica: it does not replay a log. Use a streaming replica.')
  return parseLsn(position)
}
