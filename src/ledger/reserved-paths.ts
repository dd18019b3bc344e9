import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import { Batcher } from '../platform/batcher.js'
import { newId } from '../platform/ids.js'

interface Lease {
  path: string
  /** By this process's steady clock: until then it may be given out. */
  until: number
}

interface Stock {
  tenantId: string
  paths: Lease[]
  /** How many are leased at once: doubled whenever they run out. */
  batch: number
  refill: Promise<void> | undefined
}

const mostBatch = 256
const maxPlaces = 1_000
// In the database's time a path is safe from the sweep for so long; in this process's it is given out for half of that.
const leaseHours = 2
const givenOutMs = (leaseHours / 2) * 3_600_000

/**
 * Paths for blobs that are to come, in the garbage journal before anything is written there: whatever happens, a sweep finds them.
 * They are leased ahead, in batches for each place (a tenant's context in a month), so that no upload waits for that commit. An
 * upload's move claims its path; what is never claimed is swept when the database's clock says so.
 */
export class PathLeases {
  readonly #pool: Pool
  readonly #stocks = new LRUCache<string, Stock>({ max: maxPlaces })
  readonly #journal: Batcher<{ tenantId: string; paths: string[] }, unknown>

  constructor(pool: Pool) {
    this.#pool = pool
    this.#journal = new Batcher({
      run: async (leased) => {
        await pool.query({
          name: 'lease-paths',
          text: 'INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT tenant, path, now() + make_interval(hours => $3) FROM unnest($1::text[], $2::text[]) AS leased(tenant, path)',
          values: [
            leased.flatMap(({ tenantId, paths }) => paths.map(() => tenantId)),
            leased.flatMap(({ paths }) => paths),
            leaseHours,
          ],
        })
        return leased
      },
    })
  }

  /** A path below `place` that no other upload has or will have. */
  async take(tenantId: string, place: string): Promise<string> {
    const stock = this.#stockOf(tenantId, place)
    for (;;) {
      const now = performance.now()
      while (stock.paths[0] && stock.paths[0].until < now) stock.paths.shift()
      const lease = stock.paths.shift()
      if (lease) {
        if (stock.paths.length < stock.batch / 2) void this.#refill(place, stock).catch(() => {})
        return lease.path
      }
      await this.#refill(place, stock)
    }
  }

  /** Forgets what is leased ahead there: a sweep that came early (a clock that was set) has taken it. */
  forget(place: string): void {
    this.#stocks.delete(place)
  }

  /** What was never given out is no garbage. */
  async close(): Promise<void> {
    const stocks = [...this.#stocks.values()]
    await Promise.allSettled(stocks.map(({ refill }) => refill))
    this.#stocks.clear()
    for (const { tenantId, paths } of stocks)
      if (paths.length > 0)
        await this.#pool
          .query('DELETE FROM blob_garbage WHERE tenant_id = $1 AND blob_path = ANY($2) AND NOT taken', [
            tenantId,
            paths.map(({ path }) => path),
          ])
          // They are swept when they are due.
          .catch(() => {})
  }

  #stockOf(tenantId: string, place: string): Stock {
    const known = this.#stocks.get(place)
    if (known) return known
    const stock: Stock = { tenantId, paths: [], batch: 1, refill: undefined }
    this.#stocks.set(place, stock)
    return stock
  }

  #refill(place: string, stock: Stock): Promise<void> {
    stock.refill ??= this.#lease(place, stock).finally(() => {
      stock.refill = undefined
    })
    return stock.refill
  }

  async #lease(place: string, stock: Stock): Promise<void> {
    stock.batch = Math.min(mostBatch, stock.batch * 2)
    const paths = Array.from({ length: stock.batch }, () => `${place}/${newId('blob')}`)
    const until = performance.now() + givenOutMs
    await this.#journal.add({ tenantId: stock.tenantId, paths })
    stock.paths.push(...paths.map((path) => ({ path, until })))
  }
}
