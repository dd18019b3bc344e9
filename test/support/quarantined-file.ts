import type { TestTenant, World } from './world.js'

export async function createQuarantinedFile(world: World, tenant: TestTenant, context: string): Promise<string> {
  const fileId = (await tenant.admin.upload(context, 'infected.txt', 'infected')).body.data.file_id
  const at = [tenant.tenantId, fileId]
  await world.database.pool.query('UPDATE files SET quarantined_at = now() WHERE tenant_id = $1 AND file_id = $2', at)
  await world.database.pool.query(
    `INSERT INTO quarantine (tenant_id, file_id, context_id, quarantined_at, signatures, viruses)
     SELECT tenant_id, file_id, context_id, quarantined_at, 'ClamAV 27900', '["Test.Virus"]' FROM files WHERE tenant_id = $1 AND file_id = $2`,
    at,
  )
  return fileId
}

export async function holdFile(world: World, tenant: TestTenant, fileId: string): Promise<void> {
  await world.database.pool.query(
    `INSERT INTO holds (tenant_id, file_id, reason, held_by, held_by_type, held_at) VALUES ($1, $2, 'Evidence.', 'usr_x', 'user', now())`,
    [tenant.tenantId, fileId],
  )
}
