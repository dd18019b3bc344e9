import { suspendedTenant } from '../auth/authenticate.js'
import type { Queries } from '../db/client.js'
import { forbidden, quarantined } from '../errors.js'
import type { SignedDownload } from '../storage/signed-url.js'
import type { File } from './file.type.js'
import { fileColumns, fileJoins } from './file-list.js'

type ServedRow = File & { path: string; quarantinedAt: Date | null; tenantStatus: string; isGranted: boolean }

/** What the door that serves local URLs asks: the signature has named tenant, file and credential. */
export class SignedDownloads {
  readonly #database: Queries

  constructor(database: Queries) {
    this.#database = database
  }

  /** Null where the file is gone. Throws 403 where it is quarantined, the tenant is suspended, or the credential that made the URL is no more. */
  async find({ tenantId, fileId, by }: SignedDownload): Promise<ServedRow | null> {
    const { rows } = await this.#database.query<ServedRow>({
      name: 'file-for-download',
      text: `SELECT ${fileColumns}, f.blob_path AS path, f.quarantined_at AS "quarantinedAt", t.status AS "tenantStatus",
          EXISTS (SELECT FROM api_keys k WHERE k.tenant_id = $1 AND k.api_key_id = $3 AND k.status = 'active' AND (k.expires_at IS NULL OR k.expires_at > now()))
          OR EXISTS (SELECT FROM users u WHERE u.tenant_id = $1 AND u.user_id = $3 AND u.status = 'active') AS "isGranted"
        FROM files f ${fileJoins} JOIN tenants t ON t.tenant_id = f.tenant_id
        WHERE f.tenant_id = $1 AND f.file_id = $2`,
      values: [tenantId, fileId, by],
    })
    const file = rows[0]
    if (!file) return null
    if (file.tenantStatus === 'suspended') throw forbidden(suspendedTenant)
    if (!file.isGranted) throw forbidden('The credential that made this download URL was ended; ask for a new URL.')
    if (file.quarantinedAt) throw quarantined(fileId)
    return file
  }

  /** Throws 403 where a URL that is of use once was used. Of several that come at once, one is the first, on whichever replica. */
  async spend({ tenantId, nonce, expires }: SignedDownload): Promise<void> {
    if (nonce === undefined) return
    await this.#database.query('DELETE FROM spent_downloads WHERE tenant_id = $1 AND expires_at < now()', [tenantId])
    const { rowCount } = await this.#database.query(
      'INSERT INTO spent_downloads (tenant_id, nonce, expires_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      [tenantId, nonce, expires],
    )
    if (rowCount === 0) throw forbidden('This download URL was of use once, and was used; ask for a new one.')
  }
}
