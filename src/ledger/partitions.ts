import type { Pool } from 'pg'
import { firstIdAt } from '../ids.js'

/** The first moment of a UTC month, `ahead` months from that of `moment`. */
export const monthStart = (moment: Date, ahead = 0): Date =>
  new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth() + ahead, 1))

/** `call_logs_2026_11`, and the bounds of its ids: a ULID begins with its time, so a range of ids is a range of time. */
export function partitionOf(month: Date): { name: string; from: string; to: string } {
  const name = `call_logs_${month.getUTCFullYear()}_${String(month.getUTCMonth() + 1).padStart(2, '0')}`
  return { name, from: firstIdAt('call', month), to: firstIdAt('call', monthStart(month, 1)) }
}

// Any constant of our own; the lock keeps two replicas from making the same partition at once.
const partitionLock = 4_207_001

/** Makes the partitions of this month and the next three (or of `months`) where they are missing. Safe on any replica, at any time. */
export async function ensurePartitions(
  pool: Pool,
  months = [0, 1, 2, 3].map((ahead) => monthStart(new Date(), ahead)),
): Promise<void> {
  const wanted = months.map(partitionOf)
  const existing = await pool.query<{ name: string }>('SELECT relname AS name FROM pg_class WHERE relname = ANY($1)', [
    wanted.map(({ name }) => name),
  ])
  const missing = wanted.filter(({ name }) => !existing.rows.some((row) => row.name === name))
  if (missing.length === 0) return
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await client.query('SELECT pg_advisory_xact_lock($1)', [partitionLock])
    for (const { name, from, to } of missing)
      await client.query(`CREATE TABLE IF NOT EXISTS ${name} PARTITION OF call_logs FOR VALUES FROM ('${from}') TO ('${to}')`)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  } finally {
    client.release()
  }
}

/** Drops the partitions that lie wholly before `horizon`; gives their names. */
export async function dropPartitionsBefore(pool: Pool, horizon: Date): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent WHERE p.relname = 'call_logs'`,
  )
  const expired = rows.filter(({ name }) => {
    const [, year, month] = /^call_logs_(\d{4})_(\d{2})$/.exec(name) ?? []
    return year && month && Date.UTC(Number(year), Number(month), 1) <= horizon.getTime()
  })
  for (const { name } of expired) await pool.query(`DROP TABLE IF EXISTS ${name}`)
  return expired.map(({ name }) => name)
}
