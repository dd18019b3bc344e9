import type { Pool } from 'pg'

/** Number of the reconciler's findings. Readiness reads it, so without Prisma, whose engine would be loaded for it. */
export async function storageFindings(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('SELECT count(*)::int AS count FROM storage_findings')
  return rows[0]!.count
}
