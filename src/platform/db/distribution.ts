import type pg from 'pg'

/** Small tables that are read before the tenant is known. Each node has a copy. */
export const referenceTables = [
  'tenants',
  'users',
  'sessions',
  'api_keys',
  'signing_keys',
  'file_contexts',
  'webhooks',
  'rate_limits',
  'service_state',
] as const

/** Growing tables. All rows of a tenant are on one node, and every key begins with the tenant. */
export const distributedTables = [
  'tenant_heads',
  'files',
  'file_groups',
  'context_versions',
  'trash',
  'holds',
  'quarantine',
  'rescans',
  'rescan_queue',
  'journal',
  'journal_nodes',
  'validation_reports',
  'call_logs',
  'audit_logs',
  'usage_counters',
  'usage_deltas',
  'download_deltas',
  'pending_moves',
  'file_totals',
  'audit_counters',
  'blob_garbage',
  'idempotency_keys',
  'log_shares',
  'resumable_uploads',
  'upload_parts',
  'upload_guards',
  'storage_findings',
  'spent_downloads',
  'webhook_positions',
  'webhook_deliveries',
] as const

/** Tables that this run distributed. Empty if all were distributed before. */
export interface Distributed {
  reference: string[]
  distributed: string[]
}

/** Distributes the tables to the nodes of a Citus cluster. Skips distributed tables. Throws if the extension is missing. */
export async function distribute(client: pg.ClientBase): Promise<Distributed> {
  const { rowCount } = await client.query("SELECT 1 FROM pg_extension WHERE extname = 'citus'")
  if (rowCount === 0)
    throw new Error(
      'The database has no extension citus, so that there is nothing to distribute to: run CREATE EXTENSION citus on a Citus cluster first.',
    )
  const { rows } = await client.query<{ name: string }>('SELECT logicalrelid::regclass::text AS name FROM pg_dist_partition')
  const done = new Set(rows.map(({ name }) => name))
  const missing = <T extends string>(tables: readonly T[]) => tables.filter((table) => !done.has(table))
  const [reference, distributed] = [missing(referenceTables), missing(distributedTables)]
  for (const table of reference) await client.query('SELECT create_reference_table($1::regclass)', [table])
  for (const table of distributed)
    await client.query("SELECT create_distributed_table($1::regclass, 'tenant_id', colocate_with => $2)", [
      table,
      table === distributedTables[0] ? 'default' : distributedTables[0],
    ])
  return { reference, distributed }
}
