import type { Pool } from 'pg'
import { now } from '../platform/clock.js'

export interface Count {
  count: number
  resetSeconds: number
}

/** Counts points per key in fixed time windows. */
export interface WindowCounter {
  /** Adds points, which may be negative, and returns the new count. */
  add(key: string, points?: number): Count | Promise<Count>
}

// Maximum number of keys per counter, which limits memory use during request floods from many addresses. Above this number, new
// keys are not counted.
const maxKeys = 100_000
const maxKeysPerStatement = 5_000

/**
 * Keeps counts in the memory of this process. All replicas use the same window boundaries, so that their counts can be added up.
 */
export class ProcessCounter implements WindowCounter {
  #window = 0
  #counts = new Map<string, number>()
  /** Points from this process that are not in the database yet. */
  #unreported = new Map<string, number>()

  constructor(
    private readonly name: string,
    private readonly seconds: number,
    private readonly shared?: SharedCounts,
  ) {
    shared?.addCounter(this)
  }

  add(key: string, points = 1): Count {
    const seconds = now() / 1000
    const window = Math.floor(seconds / this.seconds)
    const resetSeconds = Math.max(1, Math.ceil((window + 1) * this.seconds - seconds))
    if (window !== this.#window) {
      this.#window = window
      this.#counts = new Map()
      this.#unreported = new Map()
    }
    const known = this.#counts.get(key)
    if (known === undefined && this.#counts.size >= maxKeys) return { count: 0, resetSeconds }
    const count = (known ?? 0) + points
    this.#counts.set(key, count)
    if (this.shared && points !== 0) this.#unreported.set(key, (this.#unreported.get(key) ?? 0) + points)
    return { count, resetSeconds }
  }

  /** Adds this process's new points to the database, and reads the totals of all replicas. */
  async exchange(pool: Pool): Promise<void> {
    const window = this.#window
    // Points that arrive during the exchange wait for the next one. Otherwise, an exchange would never end on a busy service.
    // Lock rows in key order, so that two replicas cannot deadlock.
    const changed = [...this.#unreported].filter(([, points]) => points !== 0).sort(([one], [other]) => (one < other ? -1 : 1))
    for (let at = 0; at < changed.length; at += maxKeysPerStatement) {
      const batch = changed.slice(at, at + maxKeysPerStatement)
      const sums = await this.#addToDatabase(pool, batch, window * this.seconds)
      if (window !== this.#window) return
      for (const [key, points] of batch) {
        const unreported = this.#unreported.get(key)! - points
        if (unreported === 0) this.#unreported.delete(key)
        else this.#unreported.set(key, unreported)
        const sum = sums.get(key)
        if (sum !== undefined) this.#counts.set(key, sum + unreported)
      }
    }
  }

  /**
   * Adds the points to the database and returns the new sums. Omits a key if a replica with a faster clock has already started
   * the key's next window, because the sum then belongs to that window.
   */
  async #addToDatabase(pool: Pool, points: [string, number][], start: number): Promise<Map<string, number>> {
    const { rows } = await pool.query<{ key: string; points: string; is_current: boolean }>(
      `insert into rate_limits as r (key, window_start, points, expires_at)
       select $1::text || ':' || key, to_timestamp($4), points, to_timestamp($4 + 2 * $5::float8)
         from unnest($2::text[], $3::bigint[]) as counted (key, points)
       on conflict (key) do update set
         points = case when r.window_start = excluded.window_start then r.points + excluded.points
                       when r.window_start < excluded.window_start then excluded.points else r.points end,
         expires_at = greatest(r.expires_at, excluded.expires_at),
         window_start = greatest(r.window_start, excluded.window_start)
       returning substr(key, length($1::text) + 2) as key, points, window_start = to_timestamp($4) as is_current`,
      [this.name, points.map(([key]) => key), points.map(([, added]) => added), start, this.seconds],
    )
    return new Map(rows.filter((row) => row.is_current).map((row) => [row.key, Number(row.points)]))
  }
}

const exchangeIntervalMs = 1_000
const exchangesPerSweep = 60

/** Synchronizes counts between replicas once a second. While PostgreSQL is unavailable, every replica counts separately. */
export class SharedCounts {
  readonly #counters: ProcessCounter[] = []
  #timer: NodeJS.Timeout | undefined
  #exchanges = 0
  #running: Promise<void> = Promise.resolve()

  constructor(
    private readonly pool: Pool,
    private readonly onError?: (error: Error) => void,
  ) {}

  addCounter(counter: ProcessCounter): void {
    this.#counters.push(counter)
  }

  start(): void {
    this.#timer = setInterval(() => void this.exchange(), exchangeIntervalMs).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  /** Exchanges counts with the database after any exchange in progress has finished. */
  exchange(): Promise<void> {
    this.#running = this.#running.then(() => this.#exchangeAll()).catch((error) => this.onError?.(error as Error))
    return this.#running
  }

  async #exchangeAll(): Promise<void> {
    if (this.#exchanges++ % exchangesPerSweep === 0) await this.pool.query('delete from rate_limits where expires_at < now()')
    for (const counter of this.#counters) await counter.exchange(this.pool)
  }
}
