import type { TestTenant, World } from './world.js'

const hour = 3_600_000
const day = 24 * hour

/** Inserts usage counters for another day, as the ledger does. */
export async function insertUsage(
  world: World,
  tenant: TestTenant,
  days: number,
  columns: Record<string, number>,
): Promise<void> {
  const at = new Date(Math.floor(Date.now() / hour) * hour + days * day).toISOString()
  const names = Object.keys(columns)
  for (const [grain, bucket] of [
    ['hour', at],
    ['day', `${at.slice(0, 10)}T00:00:00Z`],
    ['total', '1970-01-01T00:00:00Z'],
  ])
    await world.database.pool.query(
      `INSERT INTO usage_counters AS u (tenant_id, subject, grain, bucket, ${names.join(', ')}) VALUES ($1, '', $2, $3, ${Object.values(columns).join(', ')})
       ON CONFLICT (tenant_id, subject, grain, bucket) DO UPDATE SET ${names.map((name) => `${name} = u.${name} + excluded.${name}`).join(', ')}`,
      [tenant.tenantId, grain, bucket],
    )
}
