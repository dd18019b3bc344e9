import type { Pool } from 'pg'
import { sqlFault } from '../platform/db/sql-errors.js'
import { inTransaction } from '../platform/db/transaction.js'
import { spread, usageColumns } from './counters.js'

const everyMs = 1_000
const everyTenantEvery = 60
// A transaction, which holds the locks of that many.
const tenantsAtOnce = 16
// Of more, the others are folded in the seconds after: readers add what is not folded yet.
const tenantsEachTurn = 32
const rowsAtOnce = 20_000
// Any constant of our own; with a hash of the tenant it keeps two replicas from folding the same tenant at once.
export const foldLockSpace = 4_207_004

const sums = usageColumns.map((column) => `coalesce(sum(d.${column}), 0) AS ${column}`).join(', ')
const counts = usageColumns.join(', ')
const additions = usageColumns.map((column) => `${column} = u.${column} + excluded.${column}`).join(', ')

// What no other process folds just now: a tenant that is being deleted waits until this is over, or has been deleted and is not there.
const mine = `mine AS MATERIALIZED (SELECT 1 FROM tenants WHERE tenant_id = $1 AND pg_try_advisory_xact_lock(${foldLockSpace}, hashtext($1)) FOR KEY SHARE SKIP LOCKED)`
const mayGo = `(EXISTS (SELECT FROM mine) OR NOT EXISTS (SELECT FROM tenants WHERE tenant_id = $1))`

// Deleted and counted by one statement: nothing is counted twice or lost, even when a process dies. Of one tenant, whose rows a
// distributed database has in one place.
const foldUsage = `WITH ${mine},
deltas AS (DELETE FROM usage_deltas WHERE tenant_id = $1 AND delta_id IN (SELECT delta_id FROM usage_deltas WHERE tenant_id = $1 AND ${mayGo} LIMIT ${rowsAtOnce}) RETURNING *),
counted AS (
  INSERT INTO usage_counters AS u (tenant_id, subject, grain, bucket, ${counts})
  SELECT $1, s.subject, g.grain, g.bucket, ${sums} FROM deltas d CROSS JOIN mine ${spread} WHERE s.subject IS NOT NULL
  GROUP BY 2, 3, 4 ORDER BY 2, 3, 4
  ON CONFLICT (tenant_id, subject, grain, bucket) DO UPDATE SET ${additions})
SELECT count(*) AS folded FROM deltas`

// A file that was deleted meanwhile takes its downloads with it. Locked in the order in which moves lock.
const foldDownloads = `WITH ${mine},
deltas AS (DELETE FROM download_deltas WHERE tenant_id = $1 AND (file_id, delta_id) IN (SELECT file_id, delta_id FROM download_deltas WHERE tenant_id = $1 AND ${mayGo} LIMIT ${rowsAtOnce}) RETURNING *),
counted AS (SELECT file_id, sum(times) AS times, max(last_at) AS last_at FROM deltas GROUP BY file_id),
locked AS (SELECT c.* FROM files f JOIN counted c ON c.file_id = f.file_id WHERE f.tenant_id = $1 ORDER BY f.file_id FOR NO KEY UPDATE OF f),
kept AS (UPDATE files f SET download_count = f.download_count + l.times, last_downloaded_at = greatest(f.last_downloaded_at, l.last_at)
  FROM locked l WHERE f.tenant_id = $1 AND f.file_id = l.file_id)
SELECT count(*) AS folded FROM deltas`

// Most calls are none.
const whoseDownloads = 'SELECT DISTINCT tenant_id FROM download_deltas WHERE tenant_id = ANY ($1)'

/**
 * Brings what calls added into the counters: every second, and when the service stops. Each replica folds the tenants that it wrote
 * for, and now and then looks for what another left behind.
 */
export class Fold {
  readonly #pool: Pool
  readonly #onFailed: (error: unknown) => void
  readonly #tenants = new Set<string>()
  #turn: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #turns = 0

  constructor(pool: Pool, onFailed: (error: unknown) => void = () => {}) {
    this.#pool = pool
    this.#onFailed = onFailed
  }

  start(): void {
    let running = false
    this.#timer = setInterval(() => {
      if (running) return
      running = true
      void this.run({ everyTenant: this.#turns++ % everyTenantEvery === 0, most: tenantsEachTurn })
        .catch(this.#onFailed)
        .finally(() => {
          running = false
        })
    }, everyMs).unref()
  }

  /** That something was added for that tenant. */
  note(tenantId: string): void {
    this.#tenants.add(tenantId)
  }

  /** Folds what was noted, of the `most` tenants that have waited longest; with `everyTenant`, what any replica added. */
  run({ everyTenant = false, most = Number.POSITIVE_INFINITY } = {}): Promise<void> {
    this.#turn = this.#turn.catch(() => {}).then(() => this.#run(everyTenant, most))
    return this.#turn
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    // What is left is folded by another replica, or at the next start.
    await this.run().catch(() => {})
  }

  async #run(everyTenant: boolean, most: number): Promise<void> {
    if (everyTenant) {
      for (const tenantId of await this.#withDeltas()) this.#tenants.add(tenantId)
      // What a process that died left pending is never moved any more.
      const old = `created_at < now() - interval '1 minute'`
      const { rows } = await this.#pool.query<{ tenant_id: string }>(`SELECT DISTINCT tenant_id FROM pending_moves WHERE ${old}`)
      for (const { tenant_id: tenantId } of rows)
        await this.#pool.query(`DELETE FROM pending_moves WHERE tenant_id = $1 AND ${old}`, [tenantId])
    }
    const noted = [...this.#tenants].slice(0, most).sort()
    for (const tenantId of noted) this.#tenants.delete(tenantId)
    for (let from = 0; from < noted.length; from += tenantsAtOnce) {
      const tenants = noted.slice(from, from + tenantsAtOnce)
      try {
        await this.#fold(tenants)
      } catch (error) {
        for (const tenantId of tenants) this.#tenants.add(tenantId)
        if (sqlFault(error) !== 'locked' || tenants.length === 1) throw error
        // One of them has a row locked: the others do not wait for it.
        for (const tenantId of tenants)
          await this.#fold([tenantId]).then(
            () => this.#tenants.delete(tenantId),
            () => {},
          )
      }
    }
  }

  /** In one transaction: a commit for each tenant would take longer than all that is folded. */
  async #fold(tenants: string[]): Promise<void> {
    await inTransaction(this.#pool, async (client) => {
      const fold = async (name: string, text: string, tenantId: string) => {
        for (;;) {
          const { rows } = await client.query<{ folded: number }>({ name, text, values: [tenantId] })
          if (Number(rows[0]!.folded) < rowsAtOnce) return
        }
      }
      const { rows } = await client.query<{ tenant_id: string }>(whoseDownloads, [tenants])
      const downloads = new Set(rows.map((row) => row.tenant_id))
      for (const tenantId of tenants) {
        await fold('fold-usage', foldUsage, tenantId)
        if (downloads.has(tenantId)) await fold('fold-downloads', foldDownloads, tenantId)
      }
    })
  }

  async #withDeltas(): Promise<string[]> {
    const { rows } = await this.#pool.query<{ tenant_id: string }>(
      'SELECT tenant_id FROM usage_deltas UNION SELECT tenant_id FROM download_deltas',
    )
    return rows.map((row) => row.tenant_id)
  }
}
