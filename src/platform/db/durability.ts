import type { Pool } from 'pg'
import { Batcher } from '../batcher.js'
import { cacheUntilFailure } from '../cached-result.js'
import { hasCitus } from './distribution.js'
import type { PoolLogger } from './queries.js'

/**
 * Reports whether a database crash could still lose visible rows. A move is visible shortly before it is durable. The service
 * must not sign or send data that a crash could undo.
 */
export class Durability {
  readonly #flushes = new Batcher<void, void>({
    run: async (callers) => {
      await this.pool.query(waitedCommit)
      return callers
    },
  })

  constructor(
    private readonly pool: Pool,
    private readonly logger: PoolLogger,
  ) {}

  /** Returns an SQL expression that is true if all rows visible to its statement are durable. */
  readonly getExpression = cacheUntilFailure(() => this.#chooseExpression())

  /** Resolves when all rows that were visible before the call are durable. Concurrent callers share one commit. */
  flush(): Promise<void> {
    return this.#flushes.add()
  }

  async #chooseExpression(): Promise<string> {
    // On Citus, the coordinator's log position does not cover the workers. Commits are synchronous, so visible rows are durable.
    if (await hasCitus(this.pool)) return 'true'
    try {
      await this.pool.query(`SELECT ${byLogPosition}`)
      return byLogPosition
    } catch (error) {
      // PostgreSQL's own errors have a severity. An error without one means that the database did not respond.
      if (!(error as { code?: string; severity?: string }).severity) throw error
      const { message } = error as Error
      this.logger.warn(
        { reason: message },
        'The database rejects the functions that report its WAL position. Each read of new events therefore waits for one extra commit.',
      )
      return unknown
    }
  }
}

// Commits become durable in order, so waiting for this commit also waits for all earlier ones. `setval` is used, because it
// always writes to the write-ahead log and needs no lock.
const waitedCommit = { name: 'flush', text: `SELECT setval('wal_flush', 1)` }

// A standby contains only changes that are durable on the primary. The local log position is not sufficient if commits wait for a standby.
const byLogPosition = `CASE WHEN pg_is_in_recovery() THEN true ELSE current_setting('synchronous_standby_names') = '' AND pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() END`
const unknown = 'pg_is_in_recovery()'
