import type { Queries } from './queries.js'

const tenantsAtOnce = 200

export async function* listTenantIds(database: Queries): AsyncGenerator<string> {
  for (let after = ''; ; ) {
    const { rows } = await database.query<{ tenant_id: string }>(
      `SELECT tenant_id FROM tenants WHERE tenant_id > $1 ORDER BY tenant_id LIMIT ${tenantsAtOnce}`,
      [after],
    )
    for (const { tenant_id } of rows) yield tenant_id
    if (rows.length < tenantsAtOnce) return
    after = rows.at(-1)!.tenant_id
  }
}

/** Processes rows tenant by tenant, because a statement in a distributed database can change rows of only one tenant. */
export async function processRowsByTenant<Row extends { tenant_id: string }, Done>(
  rows: readonly Row[],
  work: (tenantId: string, rows: Row[]) => Promise<readonly Done[]>,
): Promise<Done[]> {
  const byTenant = new Map<string, Row[]>()
  for (const row of rows) byTenant.set(row.tenant_id, [...(byTenant.get(row.tenant_id) ?? []), row])
  const done: Done[] = []
  for (const [tenantId, own] of byTenant) done.push(...(await work(tenantId, own)))
  return done
}
