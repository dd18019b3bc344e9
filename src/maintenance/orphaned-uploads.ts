import type { Pool } from 'pg'
import type { BlobStorage } from '../storage/blob-storage.js'

// Beyond it, what an outage leaves is swept when the journal said from the start: an hour after its upload began.
const mostPaths = 10_000

/**
 * Blobs of uploads that failed: their rows will never be made, so that the sweeper need not wait until the longest upload
 * would be over. Only what the journal still has is touched: where a commit whose answer was lost did happen, it has the
 * path no more, and one that is still under way holds its entry locked.
 */
export class OrphanedUploads {
  readonly #pool: Pool
  readonly #settleMs: number
  readonly #due = new Map<string, Date>()

  /** `settleMs`: how long after its failure a `put` may still bring a blob (a request that the bucket has, and we gave up). */
  constructor(pool: Pool, settleMs: number) {
    this.#pool = pool
    this.#settleMs = settleMs
  }

  /** The store, its failed uploads noted. */
  watching(storage: Pick<BlobStorage, 'put'>): Pick<BlobStorage, 'put'> {
    return {
      put: (path, content, options) =>
        storage.put(path, content, options).catch((error) => {
          this.note(path)
          throw error
        }),
    }
  }

  /** That nobody will make a row for the blob at `path`, unless a commit under way does. */
  note(path: string): void {
    if (this.#due.size < mostPaths) this.#due.set(path, new Date(Date.now() + this.#settleMs))
  }

  /** Brings the journal's times forward. What the database cannot take now is kept for the next turn. */
  async hasten(): Promise<void> {
    if (this.#due.size === 0) return
    const noted = [...this.#due]
    const { rows } = await this.#pool.query<{ blob_path: string }>(
      `WITH noted AS (SELECT * FROM unnest($1::text[], $2::timestamptz[]) AS n(blob_path, due_at)),
        free AS (SELECT blob_path FROM blob_garbage WHERE blob_path = ANY($1) ORDER BY blob_path FOR UPDATE SKIP LOCKED),
        hastened AS (UPDATE blob_garbage g SET due_at = least(g.due_at, n.due_at) FROM noted n
          WHERE g.blob_path = n.blob_path AND n.blob_path IN (SELECT blob_path FROM free) RETURNING g.blob_path)
      SELECT blob_path FROM blob_garbage WHERE blob_path = ANY($1) AND blob_path NOT IN (SELECT blob_path FROM hastened)`,
      [noted.map(([path]) => path), noted.map(([, dueAt]) => dueAt)],
    )
    const locked = new Set(rows.map((row) => row.blob_path))
    for (const [path] of noted) if (!locked.has(path)) this.#due.delete(path)
  }
}
