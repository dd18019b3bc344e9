import type { Pool } from 'pg'
import { faultPoint } from '../fault-points.js'
import type { BlobStorage } from '../storage/blob-storage.js'

const batch = 64
const atOnce = 8
// A store that is down is not asked for all of a batch, since each answer may take its whole deadline while the rows stay locked.
const mostFailures = 8

/** Removes the blobs that the garbage journal says are due. Safe on several replicas at once: each takes other rows. */
export class Sweeper {
  readonly #pool: Pool
  readonly #storage: BlobStorage
  readonly #onFailed: (path: string, reason: unknown) => void

  /** `onFailed` is told of each blob that the store did not remove, and why. */
  constructor(pool: Pool, storage: BlobStorage, onFailed: (path: string, reason: unknown) => void = () => {}) {
    this.#pool = pool
    this.#storage = storage
    this.#onFailed = onFailed
  }

  /**
   * Until nothing is due any more, or `goOn` (asked before each batch) says no; gives how many blobs were removed and how many the store
   * refused to remove.
   */
  async sweep(goOn: () => boolean | Promise<boolean> = () => true): Promise<{ removed: number; failed: number }> {
    const total = { removed: 0, failed: 0 }
    for (;;) {
      if (!(await goOn())) return total
      const { removed, failed } = await this.#sweepBatch()
      total.removed += removed
      total.failed += failed
      if (removed + failed < batch || failed >= mostFailures) return total
    }
  }

  // The rows stay locked until their blobs are gone, so that an upload that is just being committed waits, and then finds
  // that its path is no longer its own.
  async #sweepBatch(): Promise<{ removed: number; failed: number }> {
    const client = await this.#pool.connect()
    // With the connection the locks are gone, and nothing more may be removed.
    let lost: Error | undefined
    const onLost = (error: Error) => {
      lost = error
    }
    client.on('error', onLost)
    try {
      await client.query('BEGIN')
      // A store may be slow; the server would take the transaction for forgotten.
      await client.query(`SET LOCAL idle_in_transaction_session_timeout = '30min'`)
      const { rows } = await client.query<{ blob_path: string }>(
        'SELECT blob_path FROM blob_garbage WHERE due_at <= now() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED',
        [batch],
      )
      faultPoint('sweep.taken')
      const removed: string[] = []
      const failed: string[] = []
      const queue = rows.map((row) => row.blob_path)
      const work = async () => {
        for (let path = queue.shift(); path !== undefined && failed.length < mostFailures && !lost; path = queue.shift())
          await this.#storage.remove(path).then(
            () => removed.push(path!),
            (reason: unknown) => {
              failed.push(path!)
              this.#onFailed(path!, reason)
            },
          )
      }
      await Promise.all(Array.from({ length: atOnce }, work))
      faultPoint('sweep.removed')
      await client.query('DELETE FROM blob_garbage WHERE blob_path = ANY($1)', [removed])
      faultPoint('sweep.forgotten')
      await client.query(`UPDATE blob_garbage SET due_at = now() + interval '1 minute' WHERE blob_path = ANY($1)`, [failed])
      await client.query('COMMIT')
      faultPoint('sweep.committed')
      return { removed: removed.length, failed: failed.length }
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {})
      throw error
    } finally {
      client.off('error', onLost)
      client.release(lost)
    }
  }
}
