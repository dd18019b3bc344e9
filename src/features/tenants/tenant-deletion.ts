import { setTimeout as sleep } from 'node:timers/promises'
import type { DatabaseError } from 'pg'
import { notifyIdentityChange } from '../../access/identity-listener.js'
import type { Database } from '../../platform/db/client.js'
import { distributedTables } from '../../platform/db/distribution.js'
import { loadState, withTransaction } from '../../platform/db/queries.js'

// Target duration of a batch, which limits how long its locks are held.
const batchMs = 150
const batchRows = { first: 500, min: 50, max: 20_000 }
// Pause after a batch, as a fraction of its duration, so that the database can serve other tenants.
const pauseRatio = 0.5
const maxPasses = 100
const maxWaitMs = 30_000
const foreignKeyViolation = '23503'
const keyPrefix = 'tenant_deletion/'

/**
 * Suspends a tenant, deletes its rows in batches, and then deletes the tenant's own row. The state is stored, so that an
 * interrupted deletion continues after a restart.
 */
export class TenantDeletion {
  /** Numbers of files and rows that the current run has deleted. */
  readonly progress = { files: 0, rows: 0 }
  #stopped = false

  constructor(private readonly db: Pick<Database, 'pool'>) {}

  async startDeletion(tenantId: string): Promise<void> {
    await withTransaction(this.db.pool, async (client) => {
      // Wait for the tenant's lock, so that all earlier changes are committed first.
      await client.query('SELECT 1 FROM tenant_heads WHERE tenant_id = $1 FOR UPDATE', [tenantId])
      await client.query(`UPDATE tenants SET status = 'suspended', updated_at = now() WHERE tenant_id = $1`, [tenantId])
      await client.query(
        `INSERT INTO service_state (key, value, updated_at) VALUES ($1, '{"files": 0}', now()) ON CONFLICT (key) DO NOTHING`,
        [keyPrefix + tenantId],
      )
      await notifyIdentityChange(client, 'tenant', tenantId)
    })
  }

  async isStarted(tenantId: string): Promise<boolean> {
    const state = await this.#loadState(tenantId)
    return state !== undefined && !state.complete
  }

  /** Continues all interrupted tenant deletions. */
  async finishAllDeletions(): Promise<void> {
    await this.db.pool.query(
      `DELETE FROM service_state WHERE starts_with(key, $1) AND value ? 'complete' AND updated_at < now() - interval '1 day'`,
      [keyPrefix],
    )
    const { rows } = await this.db.pool.query<{ key: string }>(
      `SELECT key FROM service_state WHERE starts_with(key, $1) AND NOT value ? 'complete'`,
      [keyPrefix],
    )
    for (const { key } of rows) if (!this.#stopped) await this.finishDeletion(key.slice(keyPrefix.length))
  }

  /**
   * Continues a deletion and returns the number of deleted files. The number is stored for a day, because the service and the CLI
   * may both work on the same deletion.
   */
  async finishDeletion(tenantId: string): Promise<number> {
    for (let pass = 1; !(await this.#runPass(tenantId)); pass++)
      if (this.#stopped || pass === maxPasses) return (await this.#loadState(tenantId))?.files ?? 0
    await this.#waitForOlderTransactions()
    // Delete rows again, because transactions that started while the tenant still existed may have written some.
    await this.#deleteRows(tenantId)
    const { rows } = await this.db.pool.query<{ files: string }>(
      `UPDATE service_state SET updated_at = now(), value = value || '{"complete": true}' WHERE key = $1 RETURNING value->>'files' AS files`,
      [keyPrefix + tenantId],
    )
    return Number(rows[0]?.files ?? 0)
  }

  stop(): void {
    this.#stopped = true
  }

  /** Deletes the tenant's rows and then its own row. Returns true if the tenant's own row was deleted. */
  async #runPass(tenantId: string): Promise<boolean> {
    try {
      await this.#deleteRows(tenantId)
      if (this.#stopped) return false
      await this.db.pool.query('DELETE FROM tenants WHERE tenant_id = $1', [tenantId])
    } catch (error) {
      // A file that was committed in the meantime still refers to the row to delete, so another pass is necessary.
      if ((error as DatabaseError).code !== foreignKeyViolation) throw error
      return false
    }
    await notifyIdentityChange(this.db.pool, 'tenant', tenantId)
    return true
  }

  async #deleteRows(tenantId: string): Promise<void> {
    for (const table of tablesInOrder) await this.#deleteInBatches(tenantId, table)
  }

  async #deleteRange(tenantId: string, table: Table, where: string, bounds: string[]): Promise<void> {
    const values = [tenantId, ...bounds]
    if (table === 'files' || table === 'trash') this.progress.files += await this.#deleteFiles(table, where, values)
    else {
      const statement =
        table === 'upload_parts' ? buildDeletePartsSql(where) : `DELETE FROM ${table} WHERE tenant_id = $1${where}`
      this.progress.rows += (await this.db.pool.query(statement, values)).rowCount ?? 0
    }
  }

  /** Deletes and counts files, and schedules the deletion of their blobs in the same transaction. */
  #deleteFiles(table: 'files' | 'trash', where: string, values: string[]): Promise<number> {
    return withTransaction(this.db.pool, async (client) => {
      const { rowCount } = await client.query(buildDeleteFilesSql(table, where), values)
      // In a distributed database, `service_state` is on another node, so it requires a separate statement.
      await client.query(
        `UPDATE service_state SET updated_at = now(), value = jsonb_build_object('files', (value->>'files')::bigint + $2) WHERE key = $1`,
        [keyPrefix + values[0], rowCount],
      )
      return rowCount ?? 0
    })
  }

  /**
   * Deletes a table's rows in the order of a key column. Each batch starts where the previous one ended, so that no statement
   * scans rows that were already deleted.
   */
  async #deleteInBatches(tenantId: string, table: Table): Promise<void> {
    const column = batchColumns[table]
    let after: string | undefined
    for (let rows = batchRows.first; !this.#stopped; ) {
      const began = performance.now()
      const last = column === null ? undefined : await this.#findBatchEnd(tenantId, { table, column, after, rows })
      const bounds = [after, last].filter((bound) => bound !== undefined)
      const lower = after === undefined ? '' : ` AND ${column} > $2`
      const upper = last === undefined ? '' : ` AND ${column} <= $${bounds.length + 1}`
      await this.#deleteRange(tenantId, table, lower + upper, bounds)
      if (last === undefined) return
      after = last
      const ms = performance.now() - began
      rows = Math.round(Math.min(batchRows.max, Math.max(batchRows.min, rows * Math.min(2, batchMs / ms))))
      await sleep(ms * pauseRatio)
    }
  }

  /** Returns the key of the last row in the batch, or undefined if at most `rows` rows remain. */
  async #findBatchEnd(
    tenantId: string,
    { table, column, after, rows: count }: { table: Table; column: string; after: string | undefined; rows: number },
  ): Promise<string | undefined> {
    const { rows } = await this.db.pool.query<{ last: string }>(
      `SELECT ${column}::text AS last FROM ${table} WHERE tenant_id = $1${after === undefined ? '' : ` AND ${column} > $2`}
       ORDER BY ${column} OFFSET ${count} LIMIT 1`,
      [tenantId, ...(after === undefined ? [] : [after])],
    )
    return rows[0]?.last
  }

  /** Waits up to 30 seconds for all transactions that were running when the tenant's row was deleted. */
  async #waitForOlderTransactions(): Promise<void> {
    const { rows } = await this.db.pool.query<{ latest: string }>(
      'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS latest',
    )
    for (const until = performance.now() + maxWaitMs; performance.now() < until && !this.#stopped; await sleep(50)) {
      const ended = await this.db.pool.query('SELECT WHERE pg_snapshot_xmin(pg_current_snapshot()) >= $1::text::xid8', [
        rows[0]!.latest,
      ])
      if (ended.rowCount === 1) return
    }
  }

  #loadState(tenantId: string): Promise<State | undefined> {
    return loadState(this.db.pool, keyPrefix + tenantId)
  }
}

interface State {
  files: number
  complete?: true
}

type Table = (typeof distributedTables)[number]

/**
 * Key column by which the rows of a table are deleted in batches. Null means that the table is small enough for one statement.
 * The sweep empties `blob_garbage`.
 */
const batchColumns: Record<Table, string | null> = {
  files: 'file_id',
  trash: 'file_id',
  upload_parts: 'upload_id',
  blob_garbage: null,
  validation_reports: 'file_id',
  journal: 'sequence',
  call_logs: 'call_id',
  audit_logs: 'audit_id',
  usage_counters: 'subject',
  usage_deltas: 'delta_id',
  download_deltas: 'file_id',
  holds: 'file_id',
  quarantine: 'file_id',
  rescan_queue: 'file_id',
  storage_findings: 'blob_path',
  spent_downloads: 'nonce',
  resumable_uploads: 'upload_id',
  // Batches use `key` instead of the actor, because a single actor may have too many rows for one batch.
  idempotency_keys: 'key',
  webhook_deliveries: 'webhook_id',
  context_versions: 'context_id',
  audit_counters: 'bucket',
  journal_nodes: null,
  file_groups: null,
  file_totals: null,
  pending_moves: null,
  rescans: null,
  upload_links: 'link_id',
  upload_link_files: 'file_id',
  log_shares: null,
  upload_guards: null,
  webhook_positions: null,
  tenant_heads: null,
}

// Rows in reference tables are deleted together with the tenant's own row. `tenant_heads` comes last, because its row is the
// tenant's lock.
const [first, last] = [['files', 'trash', 'upload_parts'] as const, 'tenant_heads' as const]
const others = distributedTables.filter((table) => ![...first, last, 'blob_garbage'].includes(table))
const tablesInOrder: Table[] = [...first, ...others, last]

const buildDeleteFilesSql = (table: 'files' | 'trash', where: string) => `
WITH deleted AS (DELETE FROM ${table} WHERE tenant_id = $1${where} RETURNING blob_path)
INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT $1, blob_path, now() FROM deleted
ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = excluded.due_at`

// Schedules the deletion of blobs that belong to unfinished uploads.
const buildDeletePartsSql = (where: string) => `
WITH deleted AS (DELETE FROM upload_parts WHERE tenant_id = $1${where} RETURNING blob_path)
UPDATE blob_garbage SET due_at = now() WHERE tenant_id = $1 AND blob_path IN (SELECT blob_path FROM deleted)`
