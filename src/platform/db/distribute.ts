import type { ClientBase } from 'pg'
import { distributedTables, getTableTypes, hasCitus, listFunctions, localTables, referenceTables } from './distribution.js'
import { retryIfLocked, runInTransaction } from './queries.js'

/** A foreign key or trigger that the distribution removes temporarily, with the definition to restore. */
interface Dependency {
  table: string
  name: string
  definition: string
}

/** Remaining work. All lists are empty if the tables are already distributed. */
export interface DistributionPlan {
  reference: string[]
  distributed: string[]
  functions: string[]
  foreignKeys: Dependency[]
  triggers: Dependency[]
}

// While an attempt waits for its table locks, the service's calls wait too. The attempt therefore ends after this time.
const lockTimeout = '5s'
const lockAttempts = 20
const lockPauseMs = 3_000

/** Determines which tables are not distributed yet. Throws if the Citus extension is missing. */
export async function planDistribution(client: ClientBase): Promise<DistributionPlan> {
  if (!(await hasCitus(client)))
    throw new Error('The citus extension is not installed in the database. Run CREATE EXTENSION citus on a Citus cluster first.')
  const types = await getTableTypes(client)
  // Citus lists a table as `local` if it merely has a foreign key to another table in the cluster.
  const listUndistributedTables = (tables: readonly string[]) =>
    tables.filter((table) => (types.get(table) ?? 'local') === 'local')
  const [reference, distributed] = [listUndistributedTables(referenceTables), listUndistributedTables(distributedTables)]
  const tables = [...reference, ...distributed]
  const select = async (text: string) => (await client.query<Dependency>(text, [tables])).rows
  return {
    reference,
    distributed,
    // Statements on a node may call IMMUTABLE functions, so every node needs them. Citus propagates only functions that are
    // created after its extension.
    functions: (await listFunctions(client, true))
      .filter(({ immutable, everywhere }) => immutable && !everywhere)
      .map(({ name }) => name),
    foreignKeys: await select(selectForeignKeys),
    triggers: await select(selectTriggers),
  }
}

// Citus rejects ON UPDATE CASCADE on the tenant id of a distributed table. The option is not needed, because ids never change.
const selectForeignKeys = `
SELECT conrelid::regclass::text AS table, quote_ident(conname) AS name, replace(pg_get_constraintdef(oid), ' ON UPDATE CASCADE', '') AS definition
FROM pg_constraint WHERE contype = 'f' AND conparentid = 0 AND (conrelid::regclass::text = ANY ($1) OR confrelid::regclass::text = ANY ($1)) ORDER BY 1, 2`

const selectTriggers = `
SELECT tgrelid::regclass::text AS table, quote_ident(tgname) AS name, pg_get_triggerdef(oid) AS definition
FROM pg_trigger WHERE NOT tgisinternal AND tgparentid = 0 AND tgrelid::regclass::text = ANY ($1) ORDER BY 1, 2`

const isDistributed = ({ reference, distributed, functions }: DistributionPlan): boolean =>
  reference.length + distributed.length + functions.length === 0

/**
 * Distributes the tables across the nodes of a Citus cluster, in one transaction. In the meantime, calls to a running service
 * wait or fail with 503. Returns the executed plan.
 */
export const distributeDatabase = (client: ClientBase, print: (message: string) => void): Promise<DistributionPlan> =>
  retryIfLocked(() => runInTransaction(client, () => distributeAll(client, print)), {
    attempts: lockAttempts,
    pauseMs: lockPauseMs,
    onRetry: (attempt) =>
      print(
        `Other transactions are using the tables. Retrying in ${lockPauseMs / 1000} s (attempt ${attempt} of ${lockAttempts}).`,
      ),
  })

async function distributeAll(client: ClientBase, print: (message: string) => void): Promise<DistributionPlan> {
  const found = await planDistribution(client)
  if (isDistributed(found)) return found
  const tables = [...found.reference, ...found.distributed]
  await client.query(`SET LOCAL lock_timeout = '${lockTimeout}'`)
  // Lock all tables first. If a lock failed later, the copied data would be discarded, and two transactions could deadlock.
  if (tables.length > 0) await client.query(`LOCK TABLE ${tables.join(', ')} IN ACCESS EXCLUSIVE MODE`)
  const plan = await planDistribution(client)
  // Use one connection per node, because Citus rejects parallel access to tables with foreign keys to a reference table.
  await client.query(`SET LOCAL citus.multi_shard_modify_mode TO 'sequential'`)
  if (plan.triggers.length > 0) await client.query('SET LOCAL citus.enable_unsafe_triggers TO on')
  for (const { table, name } of plan.foreignKeys) await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`)
  for (const { table, name } of plan.triggers) await client.query(`DROP TRIGGER ${name} ON ${table}`)
  print(`Temporarily removed ${plan.foreignKeys.length} foreign keys and ${plan.triggers.length} triggers.`)
  await distributeTables(client, plan, print)
  for (const { table, name, definition } of plan.foreignKeys)
    await client.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`)
  for (const { definition } of plan.triggers) await client.query(definition)
  for (const name of plan.functions) await client.query('SELECT create_distributed_function($1)', [name])
  print(`Restored foreign keys and triggers. Created ${plan.functions.length} functions on every node.`)
  return plan
}

async function distributeTables(client: ClientBase, plan: DistributionPlan, print: (message: string) => void): Promise<void> {
  // The first table determines the placement of tenants. All other tables are colocated with it.
  const firstTable = distributedTables[0]
  const distributeTable = (table: string) =>
    client.query("SELECT create_distributed_table($1::regclass, 'tenant_id', colocate_with => $2)", [
      table,
      table === firstTable ? 'none' : firstTable,
    ])
  const copyTable = (table: string) => client.query('SELECT create_reference_table($1::regclass)', [table])
  const steps = [
    ...plan.reference.map((table) => ({ table, kind: 'reference table', run: copyTable })),
    ...plan.distributed.map((table) => ({ table, kind: 'distributed by tenant', run: distributeTable })),
  ]
  for (const [at, { table, kind, run }] of steps.entries()) {
    const began = performance.now()
    await run(table)
    print(`${at + 1} of ${steps.length}: ${table}, ${kind}, in ${((performance.now() - began) / 1000).toFixed(1)} s.`)
  }
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

/** Reads the state of a Citus cluster for `admin distribute --check`. `missing` lists the tables that are not distributed yet. */
export async function checkCluster(client: ClientBase) {
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
