import type { Pool } from 'pg'
import { processRowsByTenant } from '../../platform/db/queries.js'

// Blobs at further paths are deleted at the time recorded in the garbage journal.
const maxPaths = 10_000

/**
 * Schedules the blobs of failed uploads for early deletion. A successful upload has removed its path from the garbage journal.
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

  /** Brings forward the due times of scheduled paths in the garbage journal. Locked paths are retried in the next call. */
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
