import type { Pool } from 'pg'
import { now } from '../platform/clock.js'

interface PendingCount {
  counter: ProcessCounter
  key: string
  window: number
  /** Counts from this process that are not in the database yet. */
  unreported: number
  /** Sum of the counts from all replicas, including this process, at the last exchange. */
  shared: number
}

const everyMs = 1_000
const maxKeysAtOnce = 5_000
// Number of exchanges after which finished windows are deleted.
const sweepEvery = 60

/**
 * Shares counts between replicas. Once a second, one statement adds the counts of this process to `rate_limits` and returns the
 * sums. Calls do not wait for it. While PostgreSQL is unavailable, every replica counts separately.
 */
export class SharedCounts {
  readonly #entries = new Map<string, PendingCount>()
  readonly #changed = new Set<PendingCount>()
  #timer: NodeJS.Timeout | undefined
  #rounds = 0
  #running: Promise<void> = Promise.resolve()

  constructor(
    private readonly pool: Pool,
    private readonly onError?: (error: Error) => void,
  ) {}

  start(): void {
    this.#timer = setInterval(() => void this.exchange(), everyMs).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  recordPoints(counter: ProcessCounter, key: string, window: number, points: number): void {
    const id = `${counter.name}:${key}`
    let entry = this.#entries.get(id)
    if (!entry || entry.window !== window) {
      entry = { counter, key, window, unreported: 0, shared: 0 }
      this.#entries.set(id, entry)
    }
    entry.unreported += points
    this.#changed.add(entry)
  }

  /** Exchanges counts with the database after any exchange in progress has finished. */
  exchange(): Promise<void> {
    this.#running = this.#running.then(() => this.#exchangeAll()).catch((error) => this.onError?.(error as Error))
    return this.#running
  }

  async #exchangeAll(): Promise<void> {
    if (this.#rounds++ % sweepEvery === 0) await this.#deleteFinishedWindows()
    // Counts that arrive later wait for the next exchange. Otherwise, an exchange would never end on a busy service.
    const batch = [...this.#changed]
    this.#changed.clear()
    for (let at = 0; at < batch.length; at += maxKeysAtOnce) await this.#exchangeBatch(batch.slice(at, at + maxKeysAtOnce))
  }

  async #exchangeBatch(batch: PendingCount[]): Promise<void> {
    // Lock rows in key order, so that two replicas cannot deadlock.
    const rows = batch
      .filter((entry) => entry.unreported !== 0 && this.#entries.get(getCounterId(entry)) === entry)
      .map((entry) => ({ entry, id: getCounterId(entry), points: entry.unreported, start: entry.window * entry.counter.seconds }))
      .sort((one, other) => (one.id < other.id ? -1 : 1))
    if (rows.length === 0) return
    const shared = await this.#upsert(rows)
    for (const { entry, id, points, start } of rows) {
      entry.unreported -= points
      const sum = shared.get(id)
      // Another replica with a faster clock has already started the next window, so these counts are outdated.
      if (sum === undefined || sum.start !== start) continue
      const others = sum.points - entry.shared - points
      entry.shared = sum.points
      entry.counter.addRemotePoints(entry.key, entry.window, others)
    }
  }

  async #upsert(rows: { entry: PendingCount; id: string; points: number; start: number }[]) {
    const { rows: sums } = await this.pool.query<{ key: string; points: string; start: string }>(
      `insert into rate_limits as r (key, window_start, points, expires_at)
       select key, to_timestamp(start), points, to_timestamp(start + 2 * seconds)
         from unnest($1::text[], $2::float8[], $3::bigint[], $4::float8[]) as counted (key, start, points, seconds)
       on conflict (key) do update set
         points = case when r.window_start = excluded.window_start then r.points + excluded.points
                       when r.window_start < excluded.window_start then excluded.points else r.points end,
         expires_at = greatest(r.expires_at, excluded.expires_at),
         window_start = greatest(r.window_start, excluded.window_start)
       returning key, points, extract(epoch from window_start)::bigint as start`,
      [
        rows.map(({ id }) => id),
        rows.map(({ start }) => start),
        rows.map(({ points }) => points),
        rows.map(({ entry }) => entry.counter.seconds),
      ],
    )
    return new Map(sums.map(({ key, points, start }) => [key, { points: Number(points), start: Number(start) }]))
  }

  async #deleteFinishedWindows(): Promise<void> {
    const seconds = now() / 1000
    for (const [id, { window, counter }] of this.#entries) if ((window + 1) * counter.seconds < seconds) this.#entries.delete(id)
    await this.pool.query('delete from rate_limits where expires_at < now()')
  }
}

const getCounterId = ({ counter, key }: PendingCount) => `${counter.name}:${key}`

export interface Count {
  count: number
  resetSeconds: number
}

// Limits memory use during request floods from many addresses. Above this number, new keys are not counted.
const maxKeys = 100_000

/** Counts points per key in fixed time windows. */
export interface WindowCounter {
  /** Adds points, which may be negative, and returns the new count. */
  add(key: string, points?: number): Count | Promise<Count>
}

/** Counts in memory. All replicas use the same window boundaries, so that `shared` can add up their counts. */
export class ProcessCounter implements WindowCounter {
  #window = 0
  #counts = new Map<string, number>()

  constructor(
    readonly name: string,
    readonly seconds: number,
    private readonly shared?: SharedCounts,
  ) {}

  add(key: string, points = 1): Count {
    const seconds = now() / 1000
    const window = Math.floor(seconds / this.seconds)
    const resetSeconds = Math.max(1, Math.ceil((window + 1) * this.seconds - seconds))
    if (window !== this.#window) {
      this.#window = window
      this.#counts = new Map()
    }
    const known = this.#counts.get(key)
    if (known === undefined && this.#counts.size >= maxKeys) return { count: 0, resetSeconds }
    const count = (known ?? 0) + points
    this.#counts.set(key, count)
    this.shared?.recordPoints(this, key, window, points)
    return { count, resetSeconds }
  }

  /** Adds the counts from other replicas since the last exchange. */
  addRemotePoints(key: string, window: number, points: number): void {
    const count = this.#counts.get(key)
    if (window === this.#window && count !== undefined) this.#counts.set(key, count + points)
  }
}
