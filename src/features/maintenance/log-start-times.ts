import type { Pool } from 'pg'
import { now, startOfDay, startOfHour } from '../../platform/clock.js'
import { loadState } from '../../platform/db/queries.js'

interface SavedStartTimes {
  calls: string | null
  audits: string | null
}

interface RetentionDays {
  calls: number | undefined
  audits: number | undefined
}

const stateKey = 'logs_dropped_until'

/**
 * Start times of the retained logs, at which totals and recounts begin. They follow the retention settings. After a retention
 * period was increased, they are still later than all deleted rows.
 */
export class LogStartTimes {
  #saved: SavedStartTimes = { calls: null, audits: null }

  private constructor(
    private readonly pool: Pool,
    private readonly days: RetentionDays,
  ) {}

  static async open(pool: Pool, days: RetentionDays): Promise<LogStartTimes> {
    const horizons = new LogStartTimes(pool, days)
    await horizons.refresh()
    return horizons
  }

  /**
   * Returns the start of the retained call log, or null if retention is unlimited. The start is a full hour, so that counters
   * match the remaining rows.
   */
  readonly calls = (): Date | null => getLaterTime(getRetentionStart(this.days.calls, startOfHour), this.#saved.calls)

  /** Returns the start of the retained audit log, or null if retention is unlimited. The start is the beginning of a day. */
  readonly audits = (): Date | null => getLaterTime(getRetentionStart(this.days.audits, startOfDay), this.#saved.audits)

  async refresh(): Promise<void> {
    this.#saved = (await loadState<SavedStartTimes>(this.pool, stateKey)) ?? this.#saved
  }

  /** Saves the start times before rows are deleted, so that no total includes deleted rows. */
  async saveStartTimes(): Promise<void> {
    const { rows } = await this.pool.query<{ value: SavedStartTimes }>(
      `INSERT INTO service_state AS s (key, value, updated_at) VALUES ($1, jsonb_build_object('calls', $2::text, 'audits', $3::text), now())
       ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at,
         value = jsonb_build_object('calls', greatest(s.value->>'calls', $2::text), 'audits', greatest(s.value->>'audits', $3::text)) RETURNING value`,
      [stateKey, this.calls()?.toISOString() ?? null, this.audits()?.toISOString() ?? null],
    )
    this.#saved = rows[0]!.value
  }
}

const getRetentionStart = (days: number | undefined, floor: (time: Date) => Date): Date | null =>
  days === undefined ? null : floor(new Date(now() - days * 86_400_000))

const getLaterTime = (a: Date | null, b: string | null): Date | null => {
  const other = b === null ? null : new Date(b)
  return !a ? other : !other || a > other ? a : other
}
