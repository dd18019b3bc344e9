import { setTimeout as sleep } from 'node:timers/promises'
import type { DatabaseError, Pool } from 'pg'
import { announce } from '../../access/identity-listener.js'
import type { Database } from '../../platform/db/client.js'
import { inTransaction } from '../../platform/db/transaction.js'

const batchRows = 1000
const maxPasses = 100
const maxWaitMs = 30_000
const foreignKeyViolation = '23503'
const keyPrefix = 'tenant_deletion/'

/**
 * Deletes a tenant and its data. The tenant is suspended first, so that its calls are rejected. Then its rows are deleted in batches,
 * each committed separately, and its own row last. Rows that were written in the meantime need another pass.
 * The deletion is stored until it is complete, so that a restart continues it.
 */
export class TenantDeletion {
  readonly #pool: Pool
  #stopped = false

  constructor({ pool }: Pick<Database, 'pool'>) {
    this.#pool = pool
  }

  /** Suspends the tenant and stores the deletion. `finish` does the rest. */
  async begin(tenantId: string): Promise<void> {
    await inTransaction(this.#pool, async (client) => {
      // Takes the tenant's lock, so that all earlier changes are committed first.
      await client.query('SELECT 1 FROM tenant_heads WHERE tenant_id = $1 FOR UPDATE', [tenantId])
      await client.query(`UPDATE tenants SET status = 'suspended', updated_at = now() WHERE tenant_id = $1`, [tenantId])
      await client.query(
        `INSERT INTO service_state (key, value, updated_at) VALUES ($1, '{"files": 0}', now()) ON CONFLICT (key) DO NOTHING`,
        [keyPrefix + tenantId],
      )
      await announce(client, 'tenant', tenantId)
    })
  }

  async isStarted(tenantId: string): Promise<boolean> {
    return (await this.#state(tenantId)) !== undefined
  }

  /** Continues all interrupted deletions. */
  async finishAll(): Promise<void> {
    const { rows } = await this.#pool.query<{ key: string }>('SELECT key FROM service_state WHERE starts_with(key, $1)', [
      keyPrefix,
    ])
    for (const { key } of rows) if (!this.#stopped) await this.finish(key.slice(keyPrefix.length))
  }

  /** Returns the number of deleted files. */
  async finish(tenantId: string): Promise<number> {
    for (let pass = 1; !(await this.#pass(tenantId)); pass++)
      if (this.#stopped || pass === maxPasses) return (await this.#state(tenantId))?.files ?? 0
    await this.#waitForOlderTransactions()
    // These transactions may have written rows, because the tenant existed when they started.
    await this.#deleteRows(tenantId)
    const files = (await this.#state(tenantId))?.files ?? 0
    await this.#pool.query('DELETE FROM service_state WHERE key = $1', [keyPrefix + tenantId])
    return files
  }

  /** Stops after the current batch. */
  stop(): void {
    this.#stopped = true
  }

  /** Returns true if the tenant's own row was deleted. */
  async #pass(tenantId: string): Promise<boolean> {
    try {
      await this.#deleteRows(tenantId)
      if (this.#stopped) return false
      await this.#pool.query('DELETE FROM tenants WHERE tenant_id = $1', [tenantId])
    } catch (error) {
      // A file committed in the meantime refers to a deleted row.
      if ((error as DatabaseError).code !== foreignKeyViolation) throw error
      return false
    }
    await announce(this.#pool, 'tenant', tenantId)
    return true
  }

  async #deleteRows(tenantId: string): Promise<void> {
    await this.#inBatches(tenantId, deleteFiles('files'), [keyPrefix + tenantId])
    await this.#inBatches(tenantId, deleteFiles('trash'), [keyPrefix + tenantId])
    await this.#inBatches(tenantId, deleteParts)
    for (const table of await this.#tables())
      await this.#inBatches(
        tenantId,
        `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE tenant_id = $1 LIMIT ${batchRows}))`,
      )
  }

  async #inBatches(tenantId: string, statement: string, values: unknown[] = []): Promise<void> {
    while (!this.#stopped) {
      const began = performance.now()
      const { rowCount } = await this.#pool.query(statement, [tenantId, ...values])
      if ((rowCount ?? 0) < batchRows) return
      // Other tenants get the same share of time.
      await sleep(performance.now() - began)
    }
  }

  /** Tables and partitions with a tenant id, referenced tables last. The sweep empties `blob_garbage`. */
  async #tables(): Promise<string[]> {
    const { rows } = await this.#pool.query<{ name: string }>(
      `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
       WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.relname NOT IN ('tenants', 'blob_garbage', 'files', 'trash')
       ORDER BY (SELECT count(*) FROM pg_constraint k WHERE k.confrelid = c.oid), 1`,
    )
    return rows.map(({ name }) => name)
  }

  /** Waits at most 30 s for the end of all transactions that ran when the tenant's row was deleted. */
  async #waitForOlderTransactions(): Promise<void> {
    const { rows } = await this.#pool.query<{ latest: string }>('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS latest')
    for (const until = performance.now() + maxWaitMs; performance.now() < until && !this.#stopped; await sleep(50)) {
      const ended = await this.#pool.query('SELECT WHERE pg_snapshot_xmin(pg_current_snapshot()) >= $1::text::xid8', [
        rows[0]!.latest,
      ])
      if (ended.rowCount === 1) return
    }
  }

  async #state(tenantId: string): Promise<{ files: number } | undefined> {
    const { rows } = await this.#pool.query<{ value: { files: number } }>('SELECT value FROM service_state WHERE key = $1', [
      keyPrefix + tenantId,
    ])
    return rows[0]?.value
  }
}

// The transaction that deletes the files also schedules the deletion of their blobs. Its row count is the number of files.
const deleteFiles = (table: 'files' | 'trash') => `
WITH deleted AS (DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE tenant_id = $1 LIMIT ${batchRows})) RETURNING tenant_id, blob_path),
counted AS (UPDATE service_state SET updated_at = now(), value = jsonb_build_object('files', (value->>'files')::bigint + (SELECT count(*) FROM deleted))
  WHERE key = $2)
INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT tenant_id, blob_path, now() FROM deleted ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = now()`

// Schedules the deletion of the received parts of unfinished uploads.
const deleteParts = `
WITH deleted AS (DELETE FROM upload_parts WHERE ctid = ANY (ARRAY(SELECT ctid FROM upload_parts WHERE tenant_id = $1 LIMIT ${batchRows})) RETURNING blob_path)
UPDATE blob_garbage SET due_at = now() WHERE tenant_id = $1 AND blob_path IN (SELECT blob_path FROM deleted)`
