import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { suspendedTenant } from '../../access/authenticate.js'
import { Batcher } from '../../platform/batcher.js'
import type { Queries } from '../../platform/db/queries.js'
import { detectLostCommit } from '../../platform/db/sql-errors.js'
import { createQuarantinedError, forbidden } from '../../platform/errors/errors.js'
import type { SignedDownload } from '../../platform/storage/signed-url.js'
import type { File } from './file.types.js'

type ServedRow = Pick<File, 'fileId' | 'originalFilename' | 'contentType' | 'sizeBytes' | 'checksum' | 'createdAt'> & {
  path: string
  quarantinedAt: Date | null
  tenantStatus: string
  isGranted: boolean
}

/**
 * Finds the files that local download URLs refer to. The URLs contain the signed IDs of the tenant, the file and the credential.
 */
export class SignedDownloads {
  readonly #batches = new Batcher<SignedDownload, ServedRow | null>({
    getGroup: ({ tenantId }) => tenantId,
    maxConcurrent: 2,
    run: (requested) => this.#loadFiles(requested),
  })

  constructor(private readonly database: Queries) {}

  /**
   * Returns null if the file does not exist. Throws 403 if it is quarantined, its tenant is suspended, or the credential that
   * created the URL is no longer active.
   */
  async findFile(signed: SignedDownload): Promise<ServedRow | null> {
    const file = await this.#batches.add(signed)
    if (!file) return null
    if (file.tenantStatus === 'suspended') throw forbidden(suspendedTenant)
    if (!file.isGranted) throw forbidden('The credential that created this download URL is no longer active. Request a new URL.')
    if (file.quarantinedAt) throw createQuarantinedError(file.fileId)
    return file
  }

  /**
   * Marks a single-use download URL as used. Throws 403 if it was already used. If several requests use it concurrently, exactly
   * one succeeds.
   */
  async consumeSingleUseUrl({ tenantId, nonce, expires }: SignedDownload): Promise<void> {
    if (nonce === undefined) return
    await this.database.query('DELETE FROM spent_downloads WHERE tenant_id = $1 AND expires_at < now()', [tenantId])
    const { rowCount } = await detectLostCommit(
      this.database.query(
        'INSERT INTO spent_downloads (tenant_id, nonce, expires_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        [tenantId, nonce, expires],
      ),
    )
    if (rowCount === 0) throw forbidden('This single-use download URL was already used. Request a new one.')
  }

  async #loadFiles(requested: readonly SignedDownload[]): Promise<(ServedRow | null)[]> {
    const { rows } = await this.database.query<ServedRow & { place: number }>({
      name: 'files-for-download',
      text: `SELECT requested.place, f.file_id AS "fileId", f.original_filename AS "originalFilename", f.content_type AS "contentType", f.size_bytes AS "sizeBytes",
          f.checksum, f.created_at AS "createdAt", f.blob_path AS path, f.quarantined_at AS "quarantinedAt", t.status AS "tenantStatus",
          EXISTS (SELECT FROM api_keys k WHERE k.tenant_id = $1 AND k.api_key_id = requested.by AND k.status = 'active' AND (k.expires_at IS NULL OR k.expires_at > now()))
          OR EXISTS (SELECT FROM users u WHERE u.tenant_id = $1 AND u.user_id = requested.by AND u.status = 'active') AS "isGranted"
        FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS requested(file_id, by, place)
          JOIN files f ON f.tenant_id = $1 AND f.file_id = requested.file_id JOIN tenants t ON t.tenant_id = f.tenant_id`,
      values: [requested[0]!.tenantId, requested.map(({ fileId }) => fileId), requested.map(({ by }) => by)],
    })
    const found = new Map(rows.map((row) => [row.place - 1, row]))
    return requested.map((_, place) => found.get(place) ?? null)
  }
}

const checkIntervalMs = 500

type Watched = Pick<SignedDownload, 'tenantId' | 'fileId'> & { abort: () => void }

/** Aborts downloads within a second after their file is quarantined. One query checks all downloads in progress. */
export class DownloadAborter {
  readonly #watched = new Set<Watched>()
  #isChecking = false

  constructor(private readonly pool: Pool) {}

  /** Calls `abort` if the file is quarantined during the download. Returns a function that stops watching. */
  watchQuarantine({ tenantId, fileId }: Pick<SignedDownload, 'tenantId' | 'fileId'>, abort: () => void): () => void {
    const watched = { tenantId, fileId, abort }
    this.#watched.add(watched)
    if (!this.#isChecking) void this.#checkPeriodically()
    return () => this.#watched.delete(watched)
  }

  async #checkPeriodically(): Promise<void> {
    this.#isChecking = true
    while (this.#watched.size > 0) {
      await sleep(checkIntervalMs, undefined, { ref: false })
      // Ignore database errors, because the next check covers the same downloads.
      await this.#abortQuarantinedDownloads().catch(() => {})
    }
    this.#isChecking = false
  }

  async #abortQuarantinedDownloads(): Promise<void> {
    const all = [...this.#watched]
    if (all.length === 0) return
    const { rows } = await this.pool.query<{ id: string }>(
      `SELECT tenant_id || '/' || file_id AS id FROM quarantine WHERE tenant_id = ANY ($1) AND file_id = ANY ($2)`,
      [all.map(({ tenantId }) => tenantId), all.map(({ fileId }) => fileId)],
    )
    const quarantined = new Set(rows.map(({ id }) => id))
    for (const { tenantId, fileId, abort } of all) if (quarantined.has(`${tenantId}/${fileId}`)) abort()
  }
}
