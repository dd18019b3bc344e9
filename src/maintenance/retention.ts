import type { Pool } from 'pg'
import { firstIdAt } from '../ids.js'
import { dropPartitionsBefore } from '../ledger/partitions.js'
import type { LogHorizons } from './log-horizons.js'

const rowsAtOnce = 10_000

/** Drops what retention has put out of the logs: whole months at once, the rest of a month in batches. Statistics keep what they counted. */
export async function dropExpired(pool: Pool, horizons: LogHorizons): Promise<{ partitions: string[]; rows: number }> {
  await horizons.refresh()
  const [calls, audits] = [horizons.calls(), horizons.audits()]
  if (!calls && !audits) return { partitions: [], rows: 0 }
  await horizons.announce()
  const partitions = calls ? await dropPartitionsBefore(pool, calls) : []
  let rows = 0
  if (calls) rows += await deleteBelow(pool, 'call_logs', 'call_id', firstIdAt('call', calls))
  if (audits) rows += await deleteBelow(pool, 'audit_logs', 'audit_id', firstIdAt('aud', audits))
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
