import type { Pool } from 'pg'
import { eachTenant } from '../../platform/db/each-tenant.js'

// If an outage leaves more paths than this, the sweep deletes the others at the time recorded in the garbage journal.
const maxPaths = 10_000

/**
 * Blobs of failed uploads, which are swept early. Affects only paths in the garbage journal: a commit whose response was lost has removed
 * its path from there, and a commit in progress holds a lock on it.
 */
export class OrphanedUploads {
  readonly #pool: Pool
  readonly #settleMs: number
  /** Path and time of each failure, measured by the monotonic clock of this process. */
  readonly #noted = new Map<string, number>()

  /** `settleMs`: time after a failed `put` during which the bucket may still complete it. */
  constructor(pool: Pool, settleMs: number) {
    this.#pool = pool
    this.#settleMs = settleMs
  }

  /** Marks the blob at `path` as orphaned, unless a commit in progress inserts its row. */
  note(path: string): void {
    if (this.#noted.size < maxPaths) this.#noted.set(path, performance.now())
  }

  /** Makes the paths due immediately in the garbage journal. Locked paths are retried by the next call. */
  async hasten(): Promise<void> {
    if (this.#noted.size === 0) return
    const noted = [...this.#noted]
    const now = performance.now()
    const places = noted.map(([path, at]) => ({
      tenant_id: path.slice(0, path.indexOf('/')),
      path,
      ms: this.#settleMs - (now - at),
    }))
    const rows = await eachTenant(places, async (tenantId, own) => {
      const answer = await this.#pool.query<{ blob_path: string }>(
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
