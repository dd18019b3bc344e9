import type { Pool } from 'pg'

/**
 * In a statement: whether all that it sees is durable. Moves are seen a moment before (see `ledger_groups_1` in prisma/migrations), which
 * is too early for what is signed or sent to others. A standby has nothing that is not durable; whether one has it yet that commits
 * wait for is not asked here.
 */
export const seenIsDurable = `CASE WHEN pg_is_in_recovery() THEN true ELSE current_setting('synchronous_standby_names') = '' AND pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() END`

/** Resolves when everything that was committed before is durable: commits become so in their order. */
export async function flushed(pool: Pool): Promise<void> {
  await pool.query({ name: 'flush', text: `SELECT pg_logical_emit_message(true, 'ledger', '')` })
}
