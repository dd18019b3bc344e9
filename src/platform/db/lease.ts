import type { Queries } from './queries.js'

const renewalsPerLease = 5

/**
 * A lease on rows, stored in the `lease_token` and `leased_until` columns. Each write by the holder must match the token, so a
 * process that was suspended until its lease expired cannot write. A row without a token is leased until `leased_until`.
 */
export interface Lease {
  table: 'idempotency_keys' | 'rescan_queue' | 'resumable_uploads' | 'webhook_positions'
  /** Columns and values that select the rows. The tenant comes first. */
  key: { tenant_id: string } & Record<string, string>
  token: string
  seconds: number
}

/** SQL condition that is true if the row is not leased. */
export const isLeaseFree = 'leased_until <= now()'

/** Returns the SQL expression for the end of a lease that starts now. */
export const getLeaseEndSql = (seconds: number | string): string => `now() + make_interval(secs => ${seconds})`

/** Returns the SQL assignments that release a lease. The rows can be leased again after `seconds`. */
export const getLeaseReleaseSql = (seconds: number | string = 0): string =>
  `lease_token = NULL, leased_until = ${getLeaseEndSql(seconds)}`

/** Extends the lease. Returns the `returning` columns of the first row, or undefined if the lease was lost. */
export async function renewLease<Row extends object>(
  database: Queries,
  lease: Lease,
  returning = 'lease_token',
): Promise<Row | undefined> {
  const { where, token, values } = toLeaseCondition(lease)
  const { rows } = await database.query<Row>(
    `UPDATE ${lease.table} SET leased_until = ${getLeaseEndSql(lease.seconds)} WHERE ${where} AND lease_token = ${token} RETURNING ${returning}`,
    values,
  )
  return rows[0]
}

/** Calls `renew` periodically until the timer is cleared. If a renewal fails, the next one is due before the lease expires. */
export const startLeaseRenewal = ({ seconds }: Pick<Lease, 'seconds'>, renew: () => Promise<unknown>): NodeJS.Timeout =>
  setInterval(() => void renew().catch(() => {}), (seconds * 1000) / renewalsPerLease).unref()

/** Releases the lease. The rows can be leased again after `delaySeconds`. `alsoSql` contains further SQL assignments. */
export async function releaseLease(database: Queries, lease: Lease, { delaySeconds = 0, alsoSql = '' } = {}): Promise<void> {
  const { where, token, values } = toLeaseCondition(lease)
  await database.query(
    `UPDATE ${lease.table} SET ${getLeaseReleaseSql(delaySeconds)}${alsoSql && `, ${alsoSql}`} WHERE ${where} AND coalesce(lease_token, ${token}) = ${token}`,
    values,
  )
}

function toLeaseCondition({ key, token }: Lease): { where: string; token: string; values: string[] } {
  const conditions = Object.keys(key).map((column, index) => `${column} = $${index + 1}`)
  return { where: conditions.join(' AND '), token: `$${conditions.length + 1}`, values: [...Object.values(key), token] }
}
