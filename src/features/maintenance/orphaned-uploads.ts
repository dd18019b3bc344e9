import type { Pool } from 'pg'
import { eachTenant } from '../../platform/db/each-tenant.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'

// Beyond it, what an outage leaves is swept when the journal said from the start.
const mostPaths = 10_000

/**
 * Blobs of uploads that failed: their rows will never be made, so that the sweeper need not wait until the longest upload
 * would be over. Only what the journal still has is touched: where a commit whose answer was lost did happen, it has the
 * path no more, and one that is still under way holds its entry locked.
 */
export class OrphanedUploads {
  readonly #pool: Pool
  readonly #settleMs: number
  /** When each was noted, by this process's own steady clock: the database's says when it is due. */
  readonly #noted = new Map<string, number>()

  /** `settleMs`: how long after its failure a `put` may still bring a blob (a request that the bucket has, and we gave up). */
  constructor(pool: Pool, settleMs: number) {
    this.#pool = pool
    this.#settleMs = settleMs
  }

  /** The store, its failed uploads noted. */
  watching(storage: Pick<BlobStorage, 'put' | 'remove'>): Pick<BlobStorage, 'put' | 'remove'> {
    return {
      remove: (path) => storage.remove(path),
      put: (path, content, options) =>
        storage.put(path, content, options).catch((error) => {
          this.note(path)
          throw error
        }),
    }
  }

  /** That no row will be made for the blob at `path`, unless a commit under way makes it. */
  note(path: string): void {
    if (this.#noted.size < mostPaths) this.#noted.set(path, performance.now())
  }

  /** Brings the journal's times forward. What the database cannot take now is kept for the next turn. */
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
