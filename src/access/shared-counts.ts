import type { Pool } from 'pg'
import { now } from '../platform/clock.js'

/** A counter whose counts the replicas share. */
export interface SharedCounter {
  readonly name: string
  readonly seconds: number
  addOthers(key: string, window: number, others: number): void
}

interface Pending {
  counter: SharedCounter
  key: string
  window: number
  /** Counted here and not yet reported. */
  unreported: number
  /** What all replicas had counted when last asked, ours included. */
  shared: number
}

const everyMs = 1_000
const maxKeysAtOnce = 5_000
// Finished windows are removed by whichever replica's turn comes round.
const sweepEvery = 60

/**
 * Makes one count of what replicas count: about once a second one statement adds what was counted here to `rate_limits` and
 * brings back the sums. A call never waits for it, and while PostgreSQL is away every replica counts for itself.
 */
export class SharedCounts {
  readonly #entries = new Map<string, Pending>()
  readonly #changed = new Set<Pending>()
  #timer: NodeJS.Timeout | undefined
  #rounds = 0
  #running: Promise<void> = Promise.resolve()
  readonly #pool: Pool
  readonly #onError: ((error: Error) => void) | undefined

  constructor(pool: Pool, onError?: (error: Error) => void) {
    this.#pool = pool
    this.#onError = onError
  }

  start(): void {
    this.#timer = setInterval(() => void this.exchange(), everyMs).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  added(counter: SharedCounter, key: string, window: number, points: number): void {
    const id = `${counter.name}:${key}`
    let entry = this.#entries.get(id)
    if (!entry || entry.window !== window) {
      entry = { counter, key, window, unreported: 0, shared: 0 }
      this.#entries.set(id, entry)
    }
    entry.unreported += points
    this.#changed.add(entry)
  }

  /** One round, after any that is under way. */
  exchange(): Promise<void> {
    this.#running = this.#running.then(() => this.#round()).catch((error) => this.#onError?.(error as Error))
    return this.#running
  }

  async #round(): Promise<void> {
    if (this.#rounds++ % sweepEvery === 0) await this.#sweep()
    // What is counted from here on waits for the next round, or a busy service would never leave this one.
    const batch = [...this.#changed]
    this.#changed.clear()
    for (let at = 0; at < batch.length; at += maxKeysAtOnce) await this.#tell(batch.slice(at, at + maxKeysAtOnce))
  }

  async #tell(batch: Pending[]): Promise<void> {
    // Rows are locked in the order of their keys, so that two replicas never wait for each other in a circle.
    const rows = batch
      .filter((entry) => entry.unreported !== 0 && this.#entries.get(getId(entry)) === entry)
      .map((entry) => ({ entry, id: getId(entry), points: entry.unreported, start: entry.window * entry.counter.seconds }))
      .sort((one, other) => (one.id < other.id ? -1 : 1))
    if (rows.length === 0) return
    const shared = await this.#upsert(rows)
    for (const { entry, id, points, start } of rows) {
      entry.unreported -= points
      const sum = shared.get(id)
      // A later window in the table: another clock is ahead of ours, and what we counted is history there.
      if (sum === undefined || sum.start !== start) continue
      const others = sum.points - entry.shared - points
      entry.shared = sum.points
      entry.counter.addOthers(entry.key, entry.window, others)
    }
  }

  async #upsert(rows: { entry: Pending; id: string; points: number; start: number }[]) {
    const { rows: sums } = await this.#pool.query<{ key: string; points: string; start: string }>(
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

  async #sweep(): Promise<void> {
    const seconds = now() / 1000
    for (const [id, { window, counter }] of this.#entries) if ((window + 1) * counter.seconds < seconds) this.#entries.delete(id)
    await this.#pool.query('delete from rate_limits where expires_at < now()')
  }
}

const getId = ({ counter, key }: Pending) => `${counter.name}:${key}`
