import type { Pool, PoolClient } from 'pg'
import { currentTime } from '../platform/clock.js'
import { inTransactionOn, withConnection } from '../platform/db/transaction.js'
import { firstIdAt } from '../platform/ids.js'

/** The first moment of a UTC month, `ahead` months from that of `moment`. */
export const monthStart = (moment: Date, ahead = 0): Date =>
  new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth() + ahead, 1))

/** `call_logs_2026_11`, and the bounds of its ids: a ULID begins with its time, so a range of ids is a range of time. */
export function partitionOf(month: Date): { name: string; from: string; to: string } {
  const name = `call_logs_${month.getUTCFullYear()}_${String(month.getUTCMonth() + 1).padStart(2, '0')}`
  return { name, from: firstIdAt('call', month), to: firstIdAt('call', monthStart(month, 1)) }
}

/** This month and the next three. */
const monthsAhead = (now = currentTime()): Date[] => [0, 1, 2, 3].map((ahead) => monthStart(now, ahead))

// Any constant of our own; the lock keeps two replicas from making, or dropping, the same partition at once.
const partitionLock = 4_207_001

/** Makes the partitions of `months` where they are missing. Safe on any replica, at any time, beside any reader. */
export async function ensurePartitions(pool: Pool, months = monthsAhead()): Promise<void> {
  await withConnection(pool, (client) => ensurePartitionsOn(client, months))
}

/** The same on a connection at hand: for a group whose month has no partition, since the pool may be exhausted just then. */
export async function ensurePartitionsOn(client: PoolClient, months = monthsAhead()): Promise<void> {
  const wanted = [...new Map(months.map((month) => [monthStart(month).getTime(), partitionOf(monthStart(month))])).values()]
  if ((await missingOf(client, wanted)).length === 0) return
  await locked(client, async () => {
    for (const { name, from, to } of await missingOf(client, wanted)) {
      // Made first and attached then: CREATE … PARTITION OF would wait for every reader of the log, and hold up every writer.
      await client.query(`CREATE TABLE ${name} (LIKE call_logs INCLUDING DEFAULTS INCLUDING CONSTRAINTS)`)
      await client.query(`ALTER TABLE call_logs ATTACH PARTITION ${name} FOR VALUES FROM ('${from}') TO ('${to}')`)
    }
  })
}

/** Drops the partitions that lie wholly before `horizon`; gives their names. One that is being read is left to the next turn. */
export async function dropPartitionsBefore(pool: Pool, horizon: Date): Promise<string[]> {
  return withConnection(pool, async (client) => {
    const dropped: string[] = []
    for (const name of (await partitions(client)).filter((name) => endsBefore(name, horizon))) {
      const drop = async () => {
        // Readers and writers of the whole log queue up behind a lock that waits: it must not wait for long.
        await client.query(`SET LOCAL lock_timeout = '200ms'`)
        await client.query(`DROP TABLE IF EXISTS ${name}`)
      }
      const done = await locked(client, drop).then(
        () => true,
        (error: { code?: string }) => {
          if (error.code !== '55P03') throw error
          return false
        },
      )
      if (done) dropped.push(name)
    }
    return dropped
  })
}

function endsBefore(name: string, horizon: Date): boolean {
  const [, year, month] = /^call_logs_(\d{4,})_(\d{2})$/.exec(name) ?? []
  return year !== undefined && Date.UTC(Number(year), Number(month), 1) <= horizon.getTime()
}

async function missingOf<T extends { name: string }>(client: PoolClient, wanted: T[]): Promise<T[]> {
  const existing = new Set(await partitions(client))
  return wanted.filter(({ name }) => !existing.has(name))
}

async function partitions(client: PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'call_logs'::regclass`,
  )
  return rows.map(({ name }) => name)
}

async function locked(client: PoolClient, work: () => Promise<void>): Promise<void> {
  await inTransactionOn(client, async () => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [partitionLock])
    await work()
  })
}
