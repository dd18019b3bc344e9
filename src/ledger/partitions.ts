import type { Pool, PoolClient } from 'pg'
import { getCurrentTime } from '../platform/clock.js'
import { runInTransaction, withConnection } from '../platform/db/queries.js'
import { getSqlErrorKind } from '../platform/db/sql-errors.js'
import { getFirstId } from '../platform/ids.js'

/** Returns the start of the UTC month that is `monthOffset` months after `time`. */
export const getMonthStart = (time: Date, monthOffset = 0): Date =>
  new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + monthOffset, 1))

/** Returns the name of a month's partition, such as `call_logs_2026_11`, and its range of ids. Ids start with a timestamp. */
export function toPartition(month: Date): { name: string; from: string; to: string } {
  const name = `call_logs_${month.getUTCFullYear()}_${String(month.getUTCMonth() + 1).padStart(2, '0')}`
  return { name, from: getFirstId('call', month), to: getFirstId('call', getMonthStart(month, 1)) }
}

/** Returns the starts of the current month and the next three months. */
const getUpcomingMonths = (now = getCurrentTime()): Date[] => [0, 1, 2, 3].map((ahead) => getMonthStart(now, ahead))

// Arbitrary key for an advisory lock, so that only one replica at a time creates or drops partitions.
const partitionLock = 4_207_001

/** Creates missing partitions. Several replicas can call this concurrently, without blocking reads and writes. */
export async function ensurePartitions(pool: Pool, months = getUpcomingMonths()): Promise<void> {
  await withConnection(pool, (client) => ensurePartitionsWithClient(client, months))
}

/**
 * Creates missing partitions on a connection that is already open, because all other connections may be waiting for these
 * partitions.
 */
export async function ensurePartitionsWithClient(client: PoolClient, months = getUpcomingMonths()): Promise<void> {
  const wanted = [...new Map(months.map((month) => [getMonthStart(month).getTime(), toPartition(getMonthStart(month))])).values()]
  if ((await findMissingPartitions(client, wanted)).length === 0) return
  await withPartitionLock(client, async () => {
    for (const { name, from, to } of await findMissingPartitions(client, wanted)) {
      // Create a table and attach it, because `CREATE … PARTITION OF` would wait for all readers of the log and block all
      // writers.
      await client.query(`CREATE TABLE ${name} (LIKE call_logs INCLUDING DEFAULTS INCLUDING CONSTRAINTS)`)
      await client.query(`ALTER TABLE call_logs ATTACH PARTITION ${name} FOR VALUES FROM ('${from}') TO ('${to}')`)
    }
  })
}

/** Drops the partitions that end before `horizon` and returns their names. Partitions in use are dropped by a later call. */
export async function dropPartitionsBefore(pool: Pool, horizon: Date): Promise<string[]> {
  return withConnection(pool, async (client) => {
    const dropped: string[] = []
    for (const name of (await listPartitions(client)).filter((name) => isPartitionBefore(name, horizon))) {
      const dropPartition = async () => {
        // Readers and writers of the log wait behind this lock request, so it needs a short timeout.
        await client.query(`SET LOCAL lock_timeout = '200ms'`)
        await client.query(`DROP TABLE IF EXISTS ${name}`)
      }
      try {
        await withPartitionLock(client, dropPartition)
        dropped.push(name)
      } catch (error) {
        if (getSqlErrorKind(error) !== 'locked') throw error
      }
    }
    return dropped
  })
}

function isPartitionBefore(name: string, horizon: Date): boolean {
  const [, year, month] = /^call_logs_(\d{4,})_(\d{2})$/.exec(name) ?? []
  return year !== undefined && Date.UTC(Number(year), Number(month), 1) <= horizon.getTime()
}

async function findMissingPartitions<T extends { name: string }>(client: PoolClient, expected: T[]): Promise<T[]> {
  const existing = new Set(await listPartitions(client))
  return expected.filter(({ name }) => !existing.has(name))
}

async function listPartitions(client: PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'call_logs'::regclass`,
  )
  return rows.map(({ name }) => name)
}

async function withPartitionLock(client: PoolClient, work: () => Promise<void>): Promise<void> {
  await runInTransaction(client, async () => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [partitionLock])
    await work()
  })
}
