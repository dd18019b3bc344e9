import type { Pool, QueryResultRow } from 'pg'
import type { Queries } from '../../platform/db/queries.js'

/** Limits queries to `maxConnections` of a pool, so that many webhook deliveries leave the other connections to requests. */
export class LimitedConnections implements Queries {
  readonly #pool: Pool
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(pool: Pool, maxConnections: number) {
    this.#pool = pool
    this.#free = maxConnections
  }

  query<T extends QueryResultRow>(...statement: unknown[]): Promise<{ rows: T[]; rowCount: number | null }> {
    return this.#inTurn(
      () =>
        this.#pool.query(...(statement as Parameters<Pool['query']>)) as unknown as Promise<{
          rows: T[]
          rowCount: number | null
        }>,
    )
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free++
    }
  }
}
