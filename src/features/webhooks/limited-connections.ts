import type { Pool, QueryResultRow } from 'pg'
import type { Queries } from '../../platform/db/queries.js'

/** Limits queries to `free` connections of a pool, so that many webhook deliveries leave the other connections to requests. */
export class LimitedConnections implements Queries {
  readonly #waiting: (() => void)[] = []

  constructor(
    private readonly pool: Pool,
    private free: number,
  ) {}

  async query<T extends QueryResultRow>(...statement: unknown[]): Promise<{ rows: T[]; rowCount: number | null }> {
    if (this.free > 0) this.free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await this.pool.query<T>(...(statement as [string, unknown[]]))
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.free++
    }
  }
}
