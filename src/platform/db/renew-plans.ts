import type pg from 'pg'

/** After how many uses a connection plans its statements anew. */
const renewedAfter = new Set([32, 256, 2_048, 16_384])

/**
 * A statement is planned once on a connection. While there is next to nothing to read any index is as good as the right one, and a plan
 * from then reads more and more of a tenant's rows, until statistics are gathered: so a connection that begins with few plans again with more.
 */
export function renewPlans(pool: pg.Pool): void {
  const uses = new WeakMap<pg.PoolClient, number>()
  pool.on('acquire', (client) => {
    const used = (uses.get(client) ?? 0) + 1
    uses.set(client, used)
    // In front of what it was acquired for, and not waited for.
    if (renewedAfter.has(used)) client.query('DISCARD PLANS').catch(() => {})
  })
}
