import type { Pool } from 'pg'
import type { SignedDownload } from '../../platform/storage/signed-url.js'

const everyMs = 500

type Watched = Pick<SignedDownload, 'tenantId' | 'fileId'> & { cut: () => void }

/** Aborts running downloads within a second after their file is quarantined. One query covers all slow downloads. */
export class DownloadAborter {
  readonly #pool: Pool
  readonly #watched = new Set<Watched>()
  #timer: NodeJS.Timeout | undefined
  #asking = false

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Gives what ends the watch. */
  watch({ tenantId, fileId }: Pick<SignedDownload, 'tenantId' | 'fileId'>, cut: () => void): () => void {
    const watched = { tenantId, fileId, cut }
    this.#watched.add(watched)
    this.#timer ??= setInterval(() => void this.#look(), everyMs).unref()
    return () => this.#watched.delete(watched)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    if (this.#watched.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
      return
    }
    if (this.#asking) return
    this.#asking = true
    try {
      const all = [...this.#watched]
      const { rows } = await this.#pool.query<{ place: number }>(
        `SELECT w.place::int FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w(tenant_id, file_id, place)
           JOIN quarantine q ON q.tenant_id = w.tenant_id AND q.file_id = w.file_id`,
        [all.map(({ tenantId }) => tenantId), all.map(({ fileId }) => fileId)],
      )
      for (const { place } of rows) all[place - 1]!.cut()
    } catch {
      // The database is away: the next look finds what this one did not.
    } finally {
      this.#asking = false
    }
  }
}
