import type { ClientBase } from 'pg'
import { foldLockSpace } from '../../ledger/fold.js'
import { runInTransaction } from '../../platform/db/queries.js'
import {
  buildDifferencesSql,
  type Counter,
  countCounterErrors,
  counters,
  getStatementValues,
  type Horizons,
  uploadGap,
} from './counter-drift.js'

/** A corrected counter with its description. */
export interface Repair {
  tenantId: string
  what: string
}

/**
 * Corrects the differences that `countCounterErrors` finds, in one transaction per tenant. The transaction holds the tenant's
 * lock and fold lock, so the tenant's uploads and changes wait. Counters of rows that no longer exist, such as deleted files, are
 * adjusted to match the remaining counters.
 */
export async function repairCounters(client: ClientBase, horizons: Horizons): Promise<Repair[]> {
  const repairs: Repair[] = []
  const { rows: tenants } = await client.query<{ tenant_id: string }>('SELECT tenant_id FROM tenants ORDER BY tenant_id')
  for (const { tenant_id: tenantId } of tenants)
    if ((await countCounterErrors(client, { tenantId, ...horizons })) > 0)
      repairs.push(...(await repairTenant(client, tenantId, horizons)))
  return repairs
}

async function repairTenant(client: ClientBase, tenantId: string, horizons: Horizons): Promise<Repair[]> {
  const repairs: Repair[] = []
  const runRepair = async (statement: string, values: unknown[]) => {
    const { rows } = await client.query<{ what: string }>(statement, values)
    repairs.push(...rows.map(({ what }) => ({ tenantId, what })))
  }
  await runInTransaction(client, async () => {
    await client.query('SELECT pg_advisory_xact_lock($2, hashtext($1))', [tenantId, foldLockSpace])
    await client.query('SELECT 1 FROM tenant_heads WHERE tenant_id = $1 FOR UPDATE', [tenantId])
    // Each repair is a single statement, because calls and their counters change together and must be read in one snapshot.
    for (const counter of counters) await runRepair(buildRepairSql(counter), getStatementValues(tenantId, counter, horizons))
    await runRepair(uploadsRepair, [tenantId])
  })
  return repairs
}

function buildRepairSql(counter: Counter): string {
  const { table, keys, columns, description } = counter
  return `INSERT INTO ${table} AS counter (${['tenant_id', ...keys, ...columns].join(', ')})
    SELECT $1, ${[...keys, ...columns].join(', ')} FROM (${buildDifferencesSql(counter)}) d
    ON CONFLICT (${['tenant_id', ...keys].join(', ')}) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}
    RETURNING ${description} AS what`
}

// The time of the error is unknown, so the difference is added to the current hour.
const uploadsRepair = `
INSERT INTO usage_deltas (tenant_id, hour, files_uploaded, files_deleted, bytes_uploaded, bytes_deleted)
SELECT $1, date_trunc('hour', now(), 'UTC'), greatest(files, 0), greatest(-files, 0), greatest(bytes, 0), greatest(-bytes, 0)
FROM (${uploadGap}) gap
RETURNING 'files that came and went: ' || (files_uploaded - files_deleted) || ' files, ' || (bytes_uploaded - bytes_deleted) || ' bytes' AS what`
