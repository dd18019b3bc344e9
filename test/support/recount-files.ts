import type { Pool } from 'pg'

/** Recounts a tenant's files after a test has inserted rows, because the service counts only through its own statements. */
export async function countFiles(pool: Pick<Pool, 'query'>, tenantId: string): Promise<void> {
  const counts = [
    ['file_groups', 'context_id, uploaded_by, content_type'],
    ['file_totals', 'context_id'],
  ]
  for (const [table, columns] of counts) {
    await pool.query(`UPDATE ${table} SET files = 0 WHERE tenant_id = $1`, [tenantId])
    await pool.query(
      `INSERT INTO ${table} (tenant_id, ${columns}, files) SELECT tenant_id, ${columns}, count(*) FROM files WHERE tenant_id = $1 GROUP BY tenant_id, ${columns}
       ON CONFLICT (tenant_id, ${columns}) DO UPDATE SET files = excluded.files`,
      [tenantId],
    )
  }
}
