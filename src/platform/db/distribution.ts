import type { Queries } from './queries.js'

/** Small tables that are read before the tenant is known. Every node has a copy. */
export const referenceTables = ['tenants', 'users', 'sessions', 'api_keys', 'signing_keys', 'file_contexts', 'webhooks'] as const

/** Tables without a tenant. They stay on the coordinator, because reference tables do not support their upserts. */
export const localTables = ['rate_limits', 'service_state'] as const

/** Growing tables, distributed by tenant. All rows of a tenant are on one node, and every key begins with the tenant. */
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
  'upload_links',
  'upload_link_files',
  'resumable_uploads',
  'upload_parts',
  'upload_guards',
  'storage_findings',
  'spent_downloads',
  'webhook_positions',
  'webhook_deliveries',
] as const

/** True if the Citus extension is installed, even if no table is distributed. */
export async function hasCitus(database: Queries): Promise<boolean> {
  return (await database.query("SELECT 1 FROM pg_extension WHERE extname = 'citus'", [])).rows.length > 0
}

/** Returns the Citus type of each table, such as `distributed`. Requires the extension. */
export async function getTableTypes(database: Queries): Promise<Map<string, string>> {
  const { rows } = await database.query<{ name: string; type: string }>(
    'SELECT table_name::text AS name, citus_table_type AS type FROM citus_tables ORDER BY 1',
    [],
  )
  return new Map(rows.map(({ name, type }) => [name, type]))
}

interface ServiceFunction {
  name: string
  immutable: boolean
  /** True if Citus created the function on every node. */
  everywhere: boolean
}

export async function listFunctions(database: Queries, isCitus: boolean): Promise<ServiceFunction[]> {
  const isOnNodes = `EXISTS (SELECT FROM pg_dist_object o WHERE o.classid = 'pg_proc'::regclass AND o.objid = p.oid)`
  const { rows } = await database.query<ServiceFunction>(
    `SELECT p.oid::regprocedure::text AS name, p.provolatile = 'i' AND p.prokind = 'f' AS immutable, ${isCitus ? isOnNodes : 'false'} AS everywhere
     FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e') ORDER BY 1`,
    [],
  )
  return rows
}
