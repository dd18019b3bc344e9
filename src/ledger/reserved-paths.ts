import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import { Batcher } from '../platform/batcher.js'
import { newId } from '../platform/ids.js'

interface ReservedPath {
  path: string
  /** Time until which the path may be used, by the monotonic clock of this process. */
  until: number
}

interface FolderPaths {
  tenantId: string
  folder: string
  paths: ReservedPath[]
  /**
   * Number of paths in the last reservation. Each reservation reserves twice as many paths as the previous one, up to a maximum.
   */
  batch: number
  refill: Promise<void> | undefined
}

const maxBatch = 256
const maxFolders = 1_000
// The sweep deletes blobs at reserved paths after this time. A path may be taken only during the first half of this time, so that
// the second half remains for the upload itself.
const reservedHours = 2
const usableMs = (reservedHours / 2) * 3_600_000

/**
 * Reserves paths for new blobs. Each path is recorded in the garbage journal before its blob is written, so that the sweep
 * deletes the blob after a crash. The transaction that commits the upload deletes this record. Paths are reserved in batches per
 * folder (context and month), so that uploads do not wait for a commit.
 */
export class ReservedPaths {
  readonly #folders = new LRUCache<string, FolderPaths>({ max: maxFolders })
  readonly #journal: Batcher<{ tenantId: string; paths: string[] }, unknown>

  /**
   * If `isOneTenantPerCommit` is true, each commit reserves paths of only one tenant, which avoids two-phase commits in a
   * distributed database.
   */
  constructor(
    private readonly pool: Pool,
    { isOneTenantPerCommit = false } = {},
  ) {
    this.#journal = new Batcher({
      getGroup: ({ tenantId }) => (isOneTenantPerCommit ? tenantId : ''),
      run: async (batch) => {
        await pool.query({
          name: 'reserve-paths',
          text: 'INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT tenant, path, now() + make_interval(hours => $3) FROM unnest($1::text[], $2::text[]) AS reserved(tenant, path)',
          values: [
            batch.flatMap(({ tenantId, paths }) => paths.map(() => tenantId)),
            batch.flatMap(({ paths }) => paths),
            reservedHours,
          ],
        })
        return batch
      },
    })
  }

  /** Returns a path in `folder` that no other upload receives. */
  async takePath(tenantId: string, folder: string): Promise<string> {
    const reserved = this.#folders.get(folder) ?? { tenantId, folder, paths: [], batch: 1, refill: undefined }
    this.#folders.set(folder, reserved)
    const { paths } = reserved
    for (;;) {
      const now = performance.now()
      while (paths[0] && paths[0].until < now) paths.shift()
      const next = paths.shift()
      if (next) {
        if (paths.length < reserved.batch / 2) void this.#refill(reserved).catch(() => {})
        return next.path
      }
      await this.#refill(reserved)
    }
  }

  /**
   * Discards a folder's reserved paths. Must be called if the sweep has deleted a reservation early, for example because the
   * clock changed.
   */
  discardPaths(folder: string): void {
    this.#folders.delete(folder)
  }

  /** Deletes the garbage journal rows of unused paths. */
  async close(): Promise<void> {
    const folders = [...this.#folders.values()]
    await Promise.allSettled(folders.map(({ refill }) => refill))
    this.#folders.clear()
    const text = 'DELETE FROM blob_garbage WHERE tenant_id = $1 AND blob_path = ANY($2) AND NOT taken'
    for (const { tenantId, paths } of folders)
      if (paths.length > 0)
        // Ignore errors, because the sweep deletes the rows when they are due.
        await this.pool.query(text, [tenantId, paths.map(({ path }) => path)]).catch(() => {})
  }

  #refill(reserved: FolderPaths): Promise<void> {
    reserved.refill ??= this.#reserve(reserved).finally(() => {
      reserved.refill = undefined
    })
    return reserved.refill
  }

  async #reserve(reserved: FolderPaths): Promise<void> {
    reserved.batch = Math.min(maxBatch, reserved.batch * 2)
    const paths = Array.from({ length: reserved.batch }, () => `${reserved.folder}/${newId('blob')}`)
    const until = performance.now() + usableMs
    await this.#journal.add({ tenantId: reserved.tenantId, paths })
    reserved.paths.push(...paths.map((path) => ({ path, until })))
  }
}
