import type { Ledger } from '../../ledger/ledger.js'
import type { PathLeases } from '../../ledger/path-leases.js'
import type { Database } from '../../platform/db/client.js'
import { faultPoint } from '../../platform/fault-points.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'

const mostAtOnce = 100
const mostPaths = 3

interface Place {
  tenantId: string
  fileId: string
}

/**
 * Moves quarantined objects of a bucket to another path, since URLs that were made before lead to the bucket itself. Copied to a path
 * that the garbage journal has; in one transaction the row names the copy and the journal the old one; a sweep removes that. Killed
 * anywhere, one of the two is swept and the row names the other.
 */
export class QuarantineMoves {
  readonly #db: Database
  readonly #ledger: Ledger
  readonly #paths: PathLeases
  readonly #storage: BlobStorage
  readonly #onError: (error: unknown) => void

  constructor(parts: {
    db: Database
    ledger: Ledger
    paths: PathLeases
    storage: BlobStorage
    onError: (error: unknown) => void
  }) {
    this.#db = parts.db
    this.#ledger = parts.ledger
    this.#paths = parts.paths
    this.#storage = parts.storage
    this.#onError = parts.onError
  }

  /** Goes on with what a process that died, or a store that was away, left to be done. */
  async moveAll(): Promise<number> {
    if (this.#storage.kind !== 'gcs') return 0
    const { rows } = await this.#db.pool.query<Place>(
      `SELECT tenant_id AS "tenantId", file_id AS "fileId" FROM quarantine WHERE move_due_at <= now() ORDER BY move_due_at LIMIT ${mostAtOnce}`,
    )
    let moved = 0
    for (const place of rows) if (await this.tryMove(place)) moved++
    return moved
  }

  /** Like `move`. Reports an error instead of throwing it: `moveAll` repeats the move within a minute. */
  async tryMove(place: Place): Promise<boolean> {
    try {
      return await this.move(place)
    } catch (error) {
      this.#onError(error)
      return false
    }
  }

  /** False where it is done, or another replica is at it. */
  async move({ tenantId, fileId }: Place): Promise<boolean> {
    const { rows } = await this.#db.pool.query<{ path: string }>(
      `UPDATE quarantine q SET move_due_at = now() + interval '1 minute' FROM files f
       WHERE q.tenant_id = $1 AND q.file_id = $2 AND q.move_due_at <= now() AND f.tenant_id = q.tenant_id AND f.file_id = q.file_id RETURNING f.blob_path AS path`,
      [tenantId, fileId],
    )
    if (!rows[0]) return false
    for (let paths = 1; paths <= mostPaths; paths++) if (await this.#moveFrom(rows[0].path, { tenantId, fileId })) return true
    throw new Error(`File '${fileId}' was not moved: the sweep took ${mostPaths} paths that were leased for it.`)
  }

  /** False where the lease of the new path ran out: what was copied there is due for the sweep. */
  async #moveFrom(from: string, { tenantId, fileId }: Place): Promise<boolean> {
    const place = `${tenantId}/quarantine`
    const to = await this.#paths.take(tenantId, place)
    await this.#storage.copy(from, to)
    faultPoint('quarantine.copied')
    const isLeased = await this.#ledger.change(tenantId, async (tx) => {
      const leased = await tx.$queryRaw<
        object[]
      >`SELECT 1 FROM blob_garbage WHERE tenant_id = ${tenantId} AND blob_path = ${to} AND NOT taken FOR UPDATE`
      if (leased.length === 0) {
        await tx.$executeRaw`INSERT INTO blob_garbage (tenant_id, blob_path, due_at) VALUES (${tenantId}, ${to}, now())
          ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = now(), taken = false`
        return { result: false, entry: {} }
      }
      const renamed =
        await tx.$executeRaw`UPDATE files SET blob_path = ${to} WHERE tenant_id = ${tenantId} AND file_id = ${fileId} AND blob_path = ${from}`
      // Purged meanwhile: the journal has the copy, and sweeps it.
      if (renamed === 0) return { result: true, entry: {} }
      await tx.$executeRaw`DELETE FROM blob_garbage WHERE tenant_id = ${tenantId} AND blob_path = ${to}`
      await tx.$executeRaw`INSERT INTO blob_garbage (tenant_id, blob_path, due_at) VALUES (${tenantId}, ${from}, now()) ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = now()`
      await tx.$executeRaw`UPDATE quarantine SET move_due_at = NULL WHERE tenant_id = ${tenantId} AND file_id = ${fileId}`
      return { result: true, entry: {} }
    })
    faultPoint('quarantine.moved')
    if (!isLeased) this.#paths.forget(place)
    return isLeased
  }
}
