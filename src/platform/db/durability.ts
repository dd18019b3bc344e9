import type { Pool } from 'pg'
import { Batcher } from '../batcher.js'
import { hasCitus } from './distribution.js'
import type { PoolLogger } from './queries.js'

/**
 * Reports whether visible rows can still be lost in a crash of the database, and waits until they cannot. A move becomes visible shortly
 * before it is durable (see `ledger_groups` in prisma/migrations). Nothing may be signed or sent to others that a crash could still undo.
 */
export class Durability {
  readonly #pool: Pool
  readonly #logger: PoolLogger
  #expression: Promise<string> | undefined
  readonly #flushes: Batcher<void, void>

  constructor(pool: Pool, logger: PoolLogger) {
    this.#pool = pool
    this.#logger = logger
    this.#flushes = new Batcher({
      run: async (callers) => {
        await pool.query(waitedCommit)
        return callers
      },
    })
  }

  /**
   * Returns a SQL expression that is true if everything that its statement sees is durable. It is tested once on the database, at startup.
   */
  expression(): Promise<string> {
    this.#expression ??= this.#test().catch((error) => {
      this.#expression = undefined
      throw error
    })
    return this.#expression
  }

  /** Resolves when everything that was visible before the call is durable. Concurrent callers share one commit. */
  flush(): Promise<void> {
    return this.#flushes.add()
  }

  async #test(): Promise<string> {
    // The log position of the coordinator says nothing about the workers. Commits are synchronous there, so that visible rows are durable.
    if (await hasCitus(this.#pool)) return 'true'
    try {
      await this.#pool.query(`SELECT ${byLogPosition}`)
      return byLogPosition
    } catch (error) {
      // An error without a SQLSTATE means that the database did not respond at all.
      if (!(error as { code?: string; severity?: string }).severity) throw error
      const { message } = error as Error
      this.#logger.warn(
        { reason: message },
        'The database rejects the functions that report its WAL position. Each read of new events therefore waits for one extra commit.',
      )
      return unknown
    }
  }
}

// Commits become durable in log order, so this commit waits for all earlier ones. setval always writes to the log, and holds no lock until
// the commit. Amazon Aurora rejects pg_logical_emit_message under some settings, and the functions below under most settings.
const waitedCommit = { name: 'flush', text: `SELECT setval('wal_flush', 1)` }

// A standby contains only changes that are durable on the primary. If commits wait for a standby, the local position is not sufficient.
const byLogPosition = `CASE WHEN pg_is_in_recovery() THEN true ELSE current_setting('synchronous_standby_names') = '' AND pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() END`
const unknown = 'pg_is_in_recovery()'
