import type { ClientBase, Pool, QueryConfig } from 'pg'
import { withTransaction } from '../platform/db/queries.js'
import { getSqlErrorKind } from '../platform/db/sql-errors.js'
import { deltaBuckets, usageColumns } from './counters.js'

const foldIntervalMs = 1_000
const foldsPerFullScan = 60
// Each transaction locks all of its tenants until it commits, so this number is low.
const tenantsPerTransaction = 16
// Maximum number of tenants per fold. The remaining tenants wait for later folds. Until then, queries add their unfolded deltas
// to the counters.
const tenantsPerFold = 32
const rowsPerStatement = 20_000
// Arbitrary first part of the advisory lock key. The second part is a hash of the tenant.
export const foldLockSpace = 4_207_004

const sums = usageColumns.map((column) => `coalesce(sum(d.${column}), 0) AS ${column}`).join(', ')
const counts = usageColumns.join(', ')
const additions = usageColumns.map((column) => `${column} = u.${column} + excluded.${column}`).join(', ')

// Citus cannot lock rows of a reference table in a statement that changes another table, so the locks are acquired in separate
// statements.
const lockFolds = `SELECT tenant_id FROM unnest($1::text[]) AS asked(tenant_id) WHERE pg_try_advisory_xact_lock(${foldLockSpace}, hashtext(tenant_id))`
// Skips tenants whose row is being deleted.
const lockTenants = 'SELECT tenant_id FROM tenants WHERE tenant_id = ANY ($1) FOR KEY SHARE SKIP LOCKED'
const existingTenants = 'SELECT tenant_id FROM tenants WHERE tenant_id = ANY ($1)'

// Deletes deltas and adds them to the counters in one statement, so that a crash neither loses a delta nor counts it twice.
const foldUsage = `WITH deltas AS (
  DELETE FROM usage_deltas WHERE tenant_id = $1 AND delta_id IN (SELECT delta_id FROM usage_deltas WHERE tenant_id = $1 LIMIT ${rowsPerStatement}) RETURNING *),
counted AS (
  INSERT INTO usage_counters AS u (tenant_id, subject, grain, bucket, ${counts})
  SELECT $1, s.subject, g.grain, g.bucket, ${sums} FROM deltas d ${deltaBuckets} WHERE s.subject IS NOT NULL
  GROUP BY 2, 3, 4 ORDER BY 2, 3, 4
  ON CONFLICT (tenant_id, subject, grain, bucket) DO UPDATE SET ${additions})
SELECT count(*) AS folded FROM deltas`

// Discards download counts of deleted files. Locks files in the same order as moves, to avoid deadlocks.
const foldDownloads = `WITH deltas AS (
  DELETE FROM download_deltas WHERE tenant_id = $1 AND (file_id, delta_id) IN (SELECT file_id, delta_id FROM download_deltas WHERE tenant_id = $1 LIMIT ${rowsPerStatement}) RETURNING *),
counted AS (SELECT file_id, sum(times) AS times, max(last_at) AS last_at FROM deltas GROUP BY file_id),
locked AS (SELECT c.* FROM files f JOIN counted c ON c.file_id = f.file_id WHERE f.tenant_id = $1 ORDER BY f.file_id FOR NO KEY UPDATE OF f),
kept AS (UPDATE files f SET download_count = f.download_count + l.times, last_downloaded_at = greatest(f.last_downloaded_at, l.last_at)
  FROM locked l WHERE f.tenant_id = $1 AND f.file_id = l.file_id)
SELECT count(*) AS folded FROM deltas`

// Finds the tenants with downloads to fold. Most tenants have none, so this query saves one statement for each of them.
const tenantsWithDownloads = 'SELECT DISTINCT tenant_id FROM download_deltas WHERE tenant_id = ANY ($1)'

/**
 * Adds usage deltas to the counters. Each replica folds the tenants whose deltas it wrote. Once a minute, it folds all tenants
 * that have deltas, including deltas written by crashed replicas.
 */
export class Fold {
  readonly #tenants = new Set<string>()
  #lastFold: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #foldCount = 0

  constructor(
    private readonly pool: Pool,
    private readonly onFailed: (error: unknown) => void = () => {},
  ) {}

  start(): void {
    let running = false
    this.#timer = setInterval(() => {
      if (running) return
      running = true
      void this.foldNow({ everyTenant: this.#foldCount++ % foldsPerFullScan === 0, maxTenants: tenantsPerFold })
        .catch(this.onFailed)
        .finally(() => {
          running = false
        })
    }, foldIntervalMs).unref()
  }

  /** Marks the tenant for the next fold. Must be called after the tenant's deltas have been written. */
  markForFold(tenantId: string): void {
    this.#tenants.add(tenantId)
  }

  /**
   * Folds up to `maxTenants` marked tenants. If `everyTenant` is true, first marks all tenants that have deltas, including deltas
   * written by other replicas.
   */
  foldNow({ everyTenant = false, maxTenants = Number.POSITIVE_INFINITY } = {}): Promise<void> {
    this.#lastFold = this.#lastFold.catch(() => {}).then(() => this.#foldMarkedTenants(everyTenant, maxTenants))
    return this.#lastFold
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    // Ignore errors, because another replica, or this one after a restart, folds the remaining deltas.
    await this.foldNow().catch(() => {})
  }

  async #foldMarkedTenants(everyTenant: boolean, maxTenants: number): Promise<void> {
    if (everyTenant) {
      const deltas = 'SELECT tenant_id FROM usage_deltas UNION SELECT tenant_id FROM download_deltas'
      for (const row of (await this.pool.query<{ tenant_id: string }>(deltas)).rows) this.#tenants.add(row.tenant_id)
      // Condition for rows that a crashed process left behind. They can be deleted, because the move lane ignores rows of this
      // age.
      const old = `created_at < now() - interval '1 minute'`
      const { rows } = await this.pool.query<{ tenant_id: string }>(`SELECT DISTINCT tenant_id FROM pending_moves WHERE ${old}`)
      for (const { tenant_id: tenantId } of rows)
        await this.pool.query(`DELETE FROM pending_moves WHERE tenant_id = $1 AND ${old}`, [tenantId])
    }
    const noted = [...this.#tenants].slice(0, maxTenants).sort()
    for (const tenantId of noted) this.#tenants.delete(tenantId)
    for (let from = 0; from < noted.length; from += tenantsPerTransaction) {
      const tenants = noted.slice(from, from + tenantsPerTransaction)
      try {
        await this.#foldInTransaction(tenants)
      } catch (error) {
        for (const tenantId of tenants) this.#tenants.add(tenantId)
        if (getSqlErrorKind(error) !== 'locked' || tenants.length === 1) throw error
        // One of the tenants has a locked row. Fold each tenant separately, so that the others do not wait for it.
        for (const tenantId of tenants)
          await this.#foldInTransaction([tenantId]).then(
            () => this.#tenants.delete(tenantId),
            () => {},
          )
      }
    }
  }

  /**
   * Folds several tenants in one transaction, because a separate commit for each tenant would take longer than the fold itself.
   */
  #foldInTransaction(tenants: string[]): Promise<void> {
    return withTransaction(this.pool, (client) => foldTenants(client, tenants))
  }
}

/** Folds the tenants that no other transaction is folding or deleting. Discards deltas of deleted tenants. */
export async function foldTenants(client: ClientBase, tenants: readonly string[]): Promise<void> {
  const selectTenantIds = async (text: string, ids: readonly string[]) => {
    const { rows } = await client.query<{ tenant_id: string }>(text, [ids])
    return new Set(rows.map((row) => row.tenant_id))
  }
  const free = [...(await selectTenantIds(lockFolds, tenants))]
  const locked = await selectTenantIds(lockTenants, free)
  const existing = locked.size === free.length ? locked : await selectTenantIds(existingTenants, free)
  const downloads = await selectTenantIds(tenantsWithDownloads, free)
  for (const tenantId of free) {
    if (locked.has(tenantId)) {
      await foldAllDeltas(client, { name: 'fold-usage', text: foldUsage, values: [tenantId] })
      if (downloads.has(tenantId))
        await foldAllDeltas(client, { name: 'fold-downloads', text: foldDownloads, values: [tenantId] })
    } else if (!existing.has(tenantId)) {
      await client.query('DELETE FROM usage_deltas WHERE tenant_id = $1', [tenantId])
      await client.query('DELETE FROM download_deltas WHERE tenant_id = $1', [tenantId])
    }
  }
}

async function foldAllDeltas(client: ClientBase, statement: QueryConfig): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ folded: number }>(statement)
    if (Number(rows[0]!.folded) < rowsPerStatement) return
  }
}
