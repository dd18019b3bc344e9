import type { Queries } from './queries.js'

/** Small tables that are read before the tenant is known. Every node has a copy. */
export const referenceTables = ['tenants', 'users', 'sessions', 'api_keys', 'signing_keys', 'file_contexts', 'webhooks'] as const

/**
 * Tables that belong to no tenant. They stay on the coordinator, because reference tables do not support the expressions in their upserts.
 */
export const localTables = ['rate_limits', 'service_state'] as const

/** Growing tables that are distributed by tenant. All rows of a tenant are on one node, and every key begins with the tenant. */
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
