import type { Queries } from './queries.js'

const renewalsPerLease = 5

/**
 * A lease on rows, stored in their columns `lease_token` and `leased_until`. Each acquisition creates a new token, and every statement that
 * writes for the holder requires it. Therefore, a process that was suspended until its lease expired can no longer write. Only the
 * database's clock counts. A row whose token was removed stays leased until its holder releases it or the lease expires.
 */
export interface Lease {
  table: 'idempotency_keys' | 'rescan_queue' | 'resumable_uploads' | 'webhook_positions'
  /** Columns and values that select the rows, with the tenant first. */
  key: { tenant_id: string } & Record<string, string>
  token: string
  seconds: number
}

/** SQL condition: the row is not leased. */
export const isLeaseFree = 'leased_until <= now()'

/** SQL expression: end of a lease that begins now. */
export const leaseEnd = (seconds: number | string): string => `now() + make_interval(secs => ${seconds})`

/** SQL assignments that end a lease. The rows cannot be leased again before `seconds` have passed. */
export const leaseReleased = (seconds: number | string = 0): string => `lease_token = NULL, leased_until = ${leaseEnd(seconds)}`

/** Extends the lease. Returns the columns `returning` of the first row, or undefined if the lease was lost. */
export async function renewLease<Row extends object>(
  database: Queries,
  lease: Lease,
  returning = 'lease_token',
): Promise<Row | undefined> {
  const { where, token, values } = toCondition(lease)
  const { rows } = await database.query<Row>(
    `UPDATE ${lease.table} SET leased_until = ${leaseEnd(lease.seconds)} WHERE ${where} AND lease_token = ${token} RETURNING ${returning}`,
    values,
  )
  return rows[0]
}

/** Calls `renew` periodically until the timer is cleared. If a call fails, the next one retries before the lease expires. */
export const keepLease = ({ seconds }: Pick<Lease, 'seconds'>, renew: () => Promise<unknown>): NodeJS.Timeout =>
  setInterval(() => void renew().catch(() => {}), (seconds * 1000) / renewalsPerLease).unref()

/** Ends the lease. The rows cannot be leased again before `seconds` have passed. `also`: further assignments. */
export async function releaseLease(database: Queries, lease: Lease, { seconds = 0, also = '' } = {}): Promise<void> {
  const { where, token, values } = toCondition(lease)
  await database.query(
    `UPDATE ${lease.table} SET ${leaseReleased(seconds)}${also && `, ${also}`} WHERE ${where} AND coalesce(lease_token, ${token}) = ${token}`,
    values,
  )
}

function toCondition({ key, token }: Lease): { where: string; token: string; values: string[] } {
  const conditions = Object.keys(key).map((column, index) => `${column} = $${index + 1}`)
  return { where: conditions.join(' AND '), token: `$${conditions.length + 1}`, values: [...Object.values(key), token] }
}
