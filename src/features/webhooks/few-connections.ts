import type { Pool, QueryResultRow } from 'pg'
import type { Queries } from '../../platform/db/queries.js'

type Asked = Parameters<Pool['query']>

/** A few of a pool's connections: however many webhooks are delivered to at once, readers have the rest. */
export class FewConnections implements Queries {
  readonly #pool: Pool
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(pool: Pool, most: number) {
    this.#pool = pool
    this.#free = most
  }

  query<T extends QueryResultRow>(...asked: unknown[]): Promise<{ rows: T[]; rowCount: number | null }> {
    return this.#inTurn(() => this.#pool.query(...(asked as Asked)) as unknown as Promise<{ rows: T[]; rowCount: number | null }>)
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
