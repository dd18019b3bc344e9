import type { Pool } from 'pg'
import { Batcher } from '../batcher.js'
import type { PoolLogger } from './queries.js'

/**
 * Tells whether visible rows are already safe from a crash of the database, and waits until they are. A move is visible shortly before
 * that (see `ledger_groups` in prisma/migrations), but nothing may be signed or sent to others that a crash could still undo.
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

  /** A SQL expression that is true if everything that its statement sees is durable. Tested on the database once, at start. */
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
    try {
      await this.#pool.query(`SELECT ${byLogPosition}`)
      return byLogPosition
    } catch (error) {
      // Without a SQLSTATE, the database did not answer at all.
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

// Commits become durable in the order of the log, so this one waits for all before it. setval writes to the log each time, and holds
// no lock until the commit. Amazon Aurora rejects pg_logical_emit_message under some settings, and the functions below under most.
const waitedCommit = { name: 'flush', text: `SELECT setval('wal_flush', 1)` }

// A standby has only what is durable on the primary. If commits wait for a standby, the local position says too little.
const byLogPosition = `CASE WHEN pg_is_in_recovery() THEN true ELSE current_setting('synchronous_standby_names') = '' AND pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() END`
const unknown = 'pg_is_in_recovery()'
