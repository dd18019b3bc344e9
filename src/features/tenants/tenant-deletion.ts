import { setTimeout as sleep } from 'node:timers/promises'
import type { DatabaseError, Pool } from 'pg'
import { announce } from '../../access/identity-listener.js'
import type { Database } from '../../platform/db/client.js'
import { inTransaction } from '../../platform/db/transaction.js'

const rowsAtOnce = 1000
const mostPasses = 100
const mostWaitMs = 30_000
const foreignKeyViolation = '23503'
const keyPrefix = 'tenant_deletion/'

/**
 * Takes a tenant away with all that names it: suspended and announced first, committed alone, so that its calls are refused; then its
 * rows in batches, each committed by itself; the tenant's own row last. What was under way meanwhile is taken by another pass.
 * A deletion is remembered until it is complete, so that one that was cut off is gone on with.
 */
export class TenantDeletion {
  readonly #pool: Pool
  #stopped = false

  constructor({ pool }: Pick<Database, 'pool'>) {
    this.#pool = pool
  }

  /** From here on the tenant is refused everything, and only what `finish` does is left. */
  async begin(tenantId: string): Promise<void> {
    await inTransaction(this.#pool, async (client) => {
      // The lock of its moves: what was decided before is committed first.
      await client.query('SELECT 1 FROM tenant_heads WHERE tenant_id = $1 FOR UPDATE', [tenantId])
      await client.query(`UPDATE tenants SET status = 'suspended', updated_at = now() WHERE tenant_id = $1`, [tenantId])
      await client.query(
        `INSERT INTO service_state (key, value, updated_at) VALUES ($1, '{"files": 0}', now()) ON CONFLICT (key) DO NOTHING`,
        [keyPrefix + tenantId],
      )
      await announce(client, 'tenant', tenantId)
    })
  }

  async isBegun(tenantId: string): Promise<boolean> {
    return (await this.#state(tenantId)) !== undefined
  }

  /** Goes on with every deletion that was cut off. */
  async finishAll(): Promise<void> {
    const { rows } = await this.#pool.query<{ key: string }>('SELECT key FROM service_state WHERE starts_with(key, $1)', [
      keyPrefix,
    ])
    for (const { key } of rows) if (!this.#stopped) await this.finish(key.slice(keyPrefix.length))
  }

  /** Gives how many files the tenant had. */
  async finish(tenantId: string): Promise<number> {
    for (let pass = 1; !(await this.#pass(tenantId)); pass++)
      if (this.#stopped || pass === mostPasses) return (await this.#state(tenantId))?.files ?? 0
    await this.#olderTransactions()
    // What they wrote for a tenant that was still there when they began.
    await this.#rowsOf(tenantId)
    const files = (await this.#state(tenantId))?.files ?? 0
    await this.#pool.query('DELETE FROM service_state WHERE key = $1', [keyPrefix + tenantId])
    return files
  }

  /** Ends what is under way after its batch. */
  stop(): void {
    this.#stopped = true
  }

  /** True when the tenant's own row is gone. */
  async #pass(tenantId: string): Promise<boolean> {
    try {
      await this.#rowsOf(tenantId)
      if (this.#stopped) return false
      await this.#pool.query('DELETE FROM tenants WHERE tenant_id = $1', [tenantId])
    } catch (error) {
      // A file that was committed meanwhile refers to what was to go.
      if ((error as DatabaseError).code !== foreignKeyViolation) throw error
      return false
    }
    await announce(this.#pool, 'tenant', tenantId)
    return true
  }

  async #rowsOf(tenantId: string): Promise<void> {
    await this.#inBatches(tenantId, filesStatement('files'), [keyPrefix + tenantId])
    await this.#inBatches(tenantId, filesStatement('trash'), [keyPrefix + tenantId])
    await this.#inBatches(tenantId, partsStatement)
    for (const table of await this.#tables())
      await this.#inBatches(
        tenantId,
        `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE tenant_id = $1 LIMIT ${rowsAtOnce}))`,
      )
  }

  async #inBatches(tenantId: string, statement: string, values: unknown[] = []): Promise<void> {
    while (!this.#stopped) {
      const began = performance.now()
      const { rowCount } = await this.#pool.query(statement, [tenantId, ...values])
      if ((rowCount ?? 0) < rowsAtOnce) return
      // As long for the others as for this.
      await sleep(performance.now() - began)
    }
  }

  /** Every table whose rows name a tenant, partitions each by itself; those that others refer to last. Garbage is the sweep's. */
  async #tables(): Promise<string[]> {
    const { rows } = await this.#pool.query<{ name: string }>(
      `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
       WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.relname NOT IN ('tenants', 'blob_garbage', 'files', 'trash')
       ORDER BY (SELECT count(*) FROM pg_constraint k WHERE k.confrelid = c.oid), 1`,
    )
    return rows.map(({ name }) => name)
  }

  /** Waits, but not for ever, until all that was being written when the tenant's row went is committed or undone. */
  async #olderTransactions(): Promise<void> {
    const { rows } = await this.#pool.query<{ latest: string }>('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS latest')
    for (const until = performance.now() + mostWaitMs; performance.now() < until && !this.#stopped; await sleep(50)) {
      const over = await this.#pool.query('SELECT WHERE pg_snapshot_xmin(pg_current_snapshot()) >= $1::text::xid8', [
        rows[0]!.latest,
      ])
      if (over.rowCount === 1) return
    }
  }

  async #state(tenantId: string): Promise<{ files: number } | undefined> {
    const { rows } = await this.#pool.query<{ value: { files: number } }>('SELECT value FROM service_state WHERE key = $1', [
      keyPrefix + tenantId,
    ])
    return rows[0]?.value
  }
}

// The blobs are due in the transaction that takes their files. Its count is that of the files.
const filesStatement = (table: 'files' | 'trash') => `
WITH gone AS (DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE tenant_id = $1 LIMIT ${rowsAtOnce})) RETURNING tenant_id, blob_path),
counted AS (UPDATE service_state SET updated_at = now(), value = jsonb_build_object('files', (value->>'files')::bigint + (SELECT count(*) FROM gone))
  WHERE key = $2)
INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT tenant_id, blob_path, now() FROM gone ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = now()`

// Likewise what has come of uploads that were never finished.
const partsStatement = `
WITH gone AS (DELETE FROM upload_parts WHERE ctid = ANY (ARRAY(SELECT ctid FROM upload_parts WHERE tenant_id = $1 LIMIT ${rowsAtOnce})) RETURNING blob_path)
UPDATE blob_garbage SET due_at = now() WHERE tenant_id = $1 AND blob_path IN (SELECT blob_path FROM gone)`
