import type { Pool } from 'pg'
import { deleteState, loadState, processRowsByTenant, type Queries, saveState } from '../../platform/db/queries.js'
import { reachFaultPoint } from '../../platform/fault-points.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'

const batch = 64
const atOnce = 8
// A sweep ends after this many failures. The store is then probably unavailable, and each further request would wait for the full
// timeout.
const maxFailures = 8

interface ClaimedBlob {
  tenant_id: string
  blob_path: string
}

/**
 * Deletes blobs that are due in the garbage journal. First marks their rows, so that no upload can claim the paths, then deletes
 * the blobs, and finally deletes the rows. If a replica is killed in between, the rows become due again after ten minutes.
 */
export class Sweeper {
  constructor(
    private readonly pool: Pool,
    private readonly storage: Pick<BlobStorage, 'remove'>,
    private readonly onFailed: (path: string, reason: unknown) => void = () => {},
  ) {}

  /** Sweeps in batches until no blob is due, `shouldContinue` returns false, or too many deletions fail. */
  async sweep(shouldContinue: () => boolean | Promise<boolean> = () => true): Promise<{ removed: number; failed: number }> {
    const total = { removed: 0, failed: 0 }
    while (await shouldContinue()) {
      const { removed, failed } = await this.#sweepBatch()
      total.removed += removed
      total.failed += failed
      if (removed + failed < batch || failed >= maxFailures) break
    }
    return total
  }

  async #sweepBatch(): Promise<{ removed: number; failed: number }> {
    const claimed = await this.#claimDueBlobs()
    reachFaultPoint('sweep.taken')
    const removed: ClaimedBlob[] = []
    let failed = 0
    const queue = [...claimed]
    const runWorker = async () => {
      for (let row = queue.shift(); row && failed < maxFailures; row = queue.shift())
        try {
          await this.storage.remove(row.blob_path)
          removed.push(row)
        } catch (error) {
          failed++
          this.onFailed(row.blob_path, error)
        }
    }
    await Promise.all(Array.from({ length: atOnce }, runWorker))
    reachFaultPoint('sweep.removed')
    await this.#updatePerTenant(removed, `DELETE FROM blob_garbage WHERE ${taken}`)
    reachFaultPoint('sweep.forgotten')
    const left = claimed.filter((row) => !removed.includes(row))
    await this.#updatePerTenant(left, `UPDATE blob_garbage SET due_at = now() + interval '1 minute' WHERE ${taken}`)
    return { removed: removed.length, failed }
  }

  /** Claims due blobs, but never blobs that belong to stored or trashed files, even if the journal lists them. */
  async #claimDueBlobs(): Promise<ClaimedBlob[]> {
    const { rows: due } = await this.pool.query<ClaimedBlob>(
      `SELECT d.tenant_id, d.blob_path FROM blob_garbage d WHERE d.due_at <= now() AND ${buildNoFileCondition('d.tenant_id')} ORDER BY d.due_at LIMIT $1`,
      [batch],
    )
    return this.#updatePerTenant<ClaimedBlob>(
      due,
      `UPDATE blob_garbage g SET taken = true, due_at = now() + interval '10 minutes'
       FROM (SELECT d.blob_path FROM blob_garbage d WHERE d.tenant_id = $1 AND d.blob_path = ANY ($2) AND d.due_at <= now() AND ${buildNoFileCondition('$1')} FOR UPDATE OF d SKIP LOCKED) due
       WHERE g.tenant_id = $1 AND g.blob_path = due.blob_path RETURNING g.tenant_id, g.blob_path`,
    )
  }

  #updatePerTenant<Row extends object>(rows: ClaimedBlob[], statement: string): Promise<Row[]> {
    return processRowsByTenant(rows, async (tenantId, own) => {
      const paths = own.map(({ blob_path: path }) => path)
      return (await this.pool.query<Row>(statement, [tenantId, paths])).rows
    })
  }
}

const buildNoFileCondition = (tenant: string) =>
  ['files', 'trash']
    .map((table) => `NOT EXISTS (SELECT 1 FROM ${table} f WHERE f.tenant_id = ${tenant} AND f.blob_path = d.blob_path)`)
    .join(' AND ')
const taken = 'tenant_id = $1 AND blob_path = ANY ($2) AND taken'

const pauseKey = 'sweep_paused'

/** Returns true if the operator has paused the deletion of blobs on all replicas, for example to restore a backup. */
export const isSweepPaused = async (database: Queries): Promise<boolean> => (await loadState(database, pauseKey)) !== undefined
export const pauseSweep = (database: Queries): Promise<void> => saveState(database, pauseKey, { paused: true })
export const resumeSweep = (database: Queries): Promise<void> => deleteState(database, pauseKey)

// Maximum number of paths to remember. The blobs at any further paths are deleted later, at their regular due time in the garbage
// journal.
const maxPaths = 10_000

/**
 * Schedules the blobs of failed uploads for early deletion. Blobs of successful uploads are never deleted, because their paths
 * were removed from the garbage journal.
 */
export class OrphanedUploads {
  /** Paths of failed uploads, and the time of each failure on this process's monotonic clock. */
  readonly #noted = new Map<string, number>()

  /** `settleMs` is the time after a failed write during which the bucket may still complete it. */
  constructor(
    private readonly pool: Pool,
    private readonly settleMs: number,
  ) {}

  scheduleDeletion(path: string): void {
    if (this.#noted.size < maxPaths) this.#noted.set(path, performance.now())
  }

  /**
   * Sets earlier due times for the scheduled paths in the garbage journal. Paths whose rows are locked are retried on the next
   * call.
   */
  async updateDueTimes(): Promise<void> {
    if (this.#noted.size === 0) return
    const noted = [...this.#noted]
    const now = performance.now()
    const places = noted.map(([path, at]) => ({
      tenant_id: path.slice(0, path.indexOf('/')),
      path,
      ms: this.settleMs - (now - at),
    }))
    const rows = await processRowsByTenant(places, async (tenantId, own) => {
      const answer = await this.pool.query<{ blob_path: string }>(
        `WITH noted AS (SELECT path AS blob_path, now() + make_interval(secs => ms / 1000) AS due_at FROM unnest($2::text[], $3::float8[]) AS n(path, ms)),
          free AS (SELECT g.blob_path FROM blob_garbage g JOIN noted n ON g.blob_path = n.blob_path WHERE g.tenant_id = $1 AND NOT g.taken ORDER BY g.blob_path FOR UPDATE OF g SKIP LOCKED),
          hastened AS (UPDATE blob_garbage g SET due_at = least(g.due_at, n.due_at) FROM noted n JOIN free f ON f.blob_path = n.blob_path
            WHERE g.tenant_id = $1 AND g.blob_path = n.blob_path RETURNING g.blob_path)
        SELECT g.blob_path FROM blob_garbage g JOIN noted n ON g.blob_path = n.blob_path
        WHERE g.tenant_id = $1 AND NOT g.taken AND g.blob_path NOT IN (SELECT blob_path FROM hastened)`,
        [tenantId, own.map(({ path }) => path), own.map(({ ms }) => ms)],
      )
      return answer.rows
    })
    const locked = new Set(rows.map((row) => row.blob_path))
    for (const [path] of noted) if (!locked.has(path)) this.#noted.delete(path)
  }
}
