import type { ClientBase } from 'pg'
import { distributedTables, getTableTypes, hasCitus, listFunctions, localTables, referenceTables } from './distribution.js'

/** Report of the `admin distribute --check` command. */
export interface ClusterReport {
  versions: Record<string, string | null>
  settings: Record<string, string | null>
  nodes: object[]
  /** Citus type of each table, such as `distributed`. `missing` lists the tables that `distribute` has not distributed yet. */
  tables: { placed: Record<string, string>; missing: string[]; local: string[] }
  /** Each function of the service, and whether it exists on every node or only on the coordinator. */
  functions: Record<string, 'on every node' | 'coordinator'>
}

const settings = [
  'citus.shard_count',
  'citus.shard_replication_factor',
  'citus.multi_shard_modify_mode',
  'citus.max_adaptive_executor_pool_size',
  'citus.max_shared_pool_size',
  'citus.recover_2pc_interval',
  'citus.enable_unsafe_triggers',
  'citus.use_citus_managed_tables',
  'citus.enable_local_reference_table_foreign_keys',
  'max_connections',
  'max_prepared_transactions',
  'synchronous_commit',
  'wal_level',
]

/** Reads the state of a Citus cluster without changing it. Without the extension, the Citus lists and versions are empty. */
export async function checkCluster(client: ClientBase): Promise<ClusterReport> {
  const isCitus = await hasCitus(client)
  const select = async <Row extends object>(text: string, values: unknown[] = []) => (await client.query<Row>(text, values)).rows
  const [versions] = await select<Record<string, string | null>>(
    `SELECT version() AS postgresql, (SELECT extversion FROM pg_extension WHERE extname = 'citus') AS citus_extension${isCitus ? ', citus_version() AS citus' : ''}`,
  )
  const found = await select<{ name: string; value: string | null }>(
    'SELECT name, current_setting(name, true) AS value FROM unnest($1::text[]) AS asked(name)',
    [settings],
  )
  const placed = Object.fromEntries(isCitus ? await getTableTypes(client) : [])
  const missing = [...referenceTables, ...distributedTables].filter((table) => (placed[table] ?? 'local') === 'local')
  return {
    versions: versions!,
    settings: Object.fromEntries(found.map(({ name, value }) => [name, value])),
    nodes: isCitus
      ? await select(
          'SELECT nodename, nodeport, noderole, isactive, shouldhaveshards, metadatasynced FROM pg_dist_node ORDER BY nodeid',
        )
      : [],
    tables: { placed, missing, local: [...localTables] },
    functions: Object.fromEntries(
      (await listFunctions(client, isCitus)).map(({ name, everywhere }) => [name, everywhere ? 'on every node' : 'coordinator']),
    ),
  }
}
