import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import { Batcher } from '../platform/batcher.js'
import { newId } from '../platform/ids.js'

interface ReservedPath {
  path: string
  /** Time until which the path may be used, by the monotonic clock of this process. */
  until: number
}

interface PathPool {
  tenantId: string
  paths: ReservedPath[]
  /** Number of paths to reserve together. It doubles with each reservation. */
  batch: number
  refill: Promise<void> | undefined
}

const maxBatch = 256
const maxFolders = 1_000
// The sweep deletes blobs at reserved paths after this time. Uploads may use a path only during the first half of this time.
const reservedHours = 2
const usableMs = (reservedHours / 2) * 3_600_000

/**
 * Reserves paths for new blobs. Each path is in the garbage journal before its blob is written, so that the sweep finds the blob
 * after a crash. An upload's transaction deletes the journal row. Paths are reserved in batches per folder (context and month),
 * so that uploads do not wait for a commit.
 */
export class ReservedPaths {
  readonly #stocks = new LRUCache<string, PathPool>({ max: maxFolders })
  readonly #journal: Batcher<{ tenantId: string; paths: string[] }, unknown>

  /** `isOneTenantPerCommit` avoids two-phase commits in a distributed database. */
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
    const stock = this.#getPathPool(tenantId, folder)
    for (;;) {
      const now = performance.now()
      while (stock.paths[0] && stock.paths[0].until < now) stock.paths.shift()
      const reserved = stock.paths.shift()
      if (reserved) {
        if (stock.paths.length < stock.batch / 2) void this.#refill(folder, stock).catch(() => {})
        return reserved.path
      }
      await this.#refill(folder, stock)
    }
  }

  /** Discards a folder's reserved paths after a sweep removed them early, for example because the clock changed. */
  discardPaths(folder: string): void {
    this.#stocks.delete(folder)
  }

  /** Deletes the journal rows of unused paths. */
  async close(): Promise<void> {
    const stocks = [...this.#stocks.values()]
    await Promise.allSettled(stocks.map(({ refill }) => refill))
    this.#stocks.clear()
    for (const { tenantId, paths } of stocks)
      if (paths.length > 0)
        await this.pool
          .query('DELETE FROM blob_garbage WHERE tenant_id = $1 AND blob_path = ANY($2) AND NOT taken', [
            tenantId,
            paths.map(({ path }) => path),
          ])
          // Ignore errors, because the sweep deletes the rows when they are due.
          .catch(() => {})
  }

  #getPathPool(tenantId: string, folder: string): PathPool {
    const known = this.#stocks.get(folder)
    if (known) return known
    const stock: PathPool = { tenantId, paths: [], batch: 1, refill: undefined }
    this.#stocks.set(folder, stock)
    return stock
  }

  #refill(folder: string, pathPool: PathPool): Promise<void> {
    pathPool.refill ??= this.#reserve(folder, pathPool).finally(() => {
      pathPool.refill = undefined
    })
    return pathPool.refill
  }

  async #reserve(folder: string, pathPool: PathPool): Promise<void> {
    pathPool.batch = Math.min(maxBatch, pathPool.batch * 2)
    const paths = Array.from({ length: pathPool.batch }, () => `${folder}/${newId('blob')}`)
    const until = performance.now() + usableMs
    await this.#journal.add({ tenantId: pathPool.tenantId, paths })
    pathPool.paths.push(...paths.map((path) => ({ path, until })))
  }
}
