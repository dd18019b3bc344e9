/** Processes rows tenant by tenant, because a statement on a distributed database can change rows of only one tenant. */
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
