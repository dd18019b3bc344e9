import type { ReservedPaths } from '../../ledger/reserved-paths.js'
import { reachFaultPoint } from '../../platform/fault-points.js'
import type { Components } from '../components.js'

const maxMoves = 100
const maxPaths = 3

type QuarantinedFileKey = { tenantId: string; fileId: string }

/**
 * Moves quarantined objects in a bucket to another path, so that existing download URLs, which point directly to the bucket, stop
 * working. After a crash at any step, the file row refers to the object at the old or the new path, and the sweep deletes the
 * other object.
 */
export class QuarantineMoves {
  constructor(
    private readonly parts: Pick<Components, 'db' | 'ledger' | 'storage'> & {
      paths: ReservedPaths
      onError: (error: unknown) => void
    },
  ) {}

  /** Completes moves that a killed process or an unavailable store interrupted. Returns the number of moved objects. */
  async completeDueMoves(): Promise<number> {
    if (this.parts.storage.kind === 'local') return 0
    const { rows } = await this.parts.db.pool.query<QuarantinedFileKey>(
      `SELECT tenant_id AS "tenantId", file_id AS "fileId" FROM quarantine WHERE move_due_at <= now() ORDER BY move_due_at LIMIT ${maxMoves}`,
    )
    let moved = 0
    for (const place of rows) if (await this.tryMoveObject(place)) moved++
    return moved
  }

  /** Tries to move an object. Errors are only reported, because `completeDueMoves` retries the move after a minute. */
  async tryMoveObject(key: QuarantinedFileKey): Promise<boolean> {
    try {
      return await this.moveObject(key)
    } catch (error) {
      this.parts.onError(error)
      return false
    }
  }

  /** Moves a quarantined object to a new path. Returns false if it was already moved, or if another replica is moving it. */
  async moveObject({ tenantId, fileId }: QuarantinedFileKey): Promise<boolean> {
    const { rows } = await this.parts.db.pool.query<{ path: string }>(
      `UPDATE quarantine q SET move_due_at = now() + interval '1 minute' FROM files f
       WHERE q.tenant_id = $1 AND q.file_id = $2 AND q.move_due_at <= now() AND f.tenant_id = q.tenant_id AND f.file_id = q.file_id RETURNING f.blob_path AS path`,
      [tenantId, fileId],
    )
    if (!rows[0]) return false
    for (let paths = 1; paths <= maxPaths; paths++) if (await this.#moveToNewPath(rows[0].path, { tenantId, fileId })) return true
    throw new Error(`File '${fileId}' was not moved, because the reservations for ${maxPaths} successive paths expired.`)
  }

  /**
   * Copies the object to a new path and updates the file row. Returns false if the reservation of the path expired, in which case
   * the sweep deletes the copy.
   */
  async #moveToNewPath(fromPath: string, { tenantId, fileId }: QuarantinedFileKey): Promise<boolean> {
    const place = `${tenantId}/quarantine`
    const to = await this.parts.paths.takePath(tenantId, place)
    await this.parts.storage.copy(fromPath, to)
    reachFaultPoint('quarantine.copied')
    const isReserved = await this.parts.ledger.changeTenant(tenantId, async (tx) => {
      const reserved = await tx.$queryRaw<
        object[]
      >`SELECT 1 FROM blob_garbage WHERE tenant_id = ${tenantId} AND blob_path = ${to} AND NOT taken FOR UPDATE`
      if (reserved.length === 0) {
        await tx.$executeRaw`INSERT INTO blob_garbage (tenant_id, blob_path, due_at) VALUES (${tenantId}, ${to}, now())
          ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = excluded.due_at, taken = false`
        return { result: false, entry: {} }
      }
      const renamed =
        await tx.$executeRaw`UPDATE files SET blob_path = ${to} WHERE tenant_id = ${tenantId} AND file_id = ${fileId} AND blob_path = ${fromPath}`
      // If no row was updated, the file was purged in the meantime. The sweep deletes the copy.
      if (renamed === 0) return { result: true, entry: {} }
      await tx.$executeRaw`DELETE FROM blob_garbage WHERE tenant_id = ${tenantId} AND blob_path = ${to}`
      await tx.$executeRaw`INSERT INTO blob_garbage (tenant_id, blob_path, due_at) VALUES (${tenantId}, ${fromPath}, now()) ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = excluded.due_at`
      await tx.$executeRaw`UPDATE quarantine SET move_due_at = NULL WHERE tenant_id = ${tenantId} AND file_id = ${fileId}`
      return { result: true, entry: {} }
    })
    reachFaultPoint('quarantine.moved')
    if (!isReserved) this.parts.paths.discardPaths(place)
    return isReserved
  }
}
