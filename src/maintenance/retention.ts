import type { Pool } from 'pg'
import { firstIdAt } from '../ids.js'
import { dropPartitionsBefore } from '../ledger/partitions.js'

const rowsAtOnce = 10_000

/** Drops what retention has put out of the logs: whole months at once, the rest of a month in batches. Statistics keep what they counted. */
export async function dropExpired(
  pool: Pool,
  horizons: { calls: Date | null; audits: Date | null },
): Promise<{ partitions: string[]; rows: number }> {
  const partitions = horizons.calls ? await dropPartitionsBefore(pool, horizons.calls) : []
  let rows = 0
  if (horizons.calls) rows += await deleteBelow(pool, 'call_logs', 'call_id', firstIdAt('call', horizons.calls))
  if (horizons.audits) rows += await deleteBelow(pool, 'audit_logs', 'audit_id', firstIdAt('aud', horizons.audits))
  return { partitions, rows }
}

// A batch at a time, so that no statement holds its locks for long. Both bounds are known before the DELETE is planned, which
// keeps it out of every partition but the oldest.
async function deleteBelow(pool: Pool, table: string, column: string, horizon: string): Promise<number> {
  for (let deleted = 0; ; ) {
    const { rows } = await pool.query<{ id: string }>(
      `SELECT ${column} AS id FROM ${table} WHERE ${column} < $1 ORDER BY ${column} OFFSET $2 LIMIT 1`,
      [horizon, rowsAtOnce],
    )
    const bound = rows[0]?.id ?? horizon
    const { rowCount } = await pool.query(`DELETE FROM ${table} WHERE ${column} < $1`, [bound])
    deleted += rowCount ?? 0
    if (rows.length === 0) return deleted
  }
}
