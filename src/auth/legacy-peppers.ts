import { createHmac } from 'node:crypto'
import type { Pool } from 'pg'
import type { MasterKey } from './master-key.js'
import { labelOf } from './signing-secrets.js'

/**
 * Keys that an earlier version made are stored as HMAC-SHA-256 under a pepper. Such a hash becomes a plain one when its key is
 * next used (key-directory.ts); a pepper that no key needs any more is deleted when the service starts.
 */
export class LegacyPeppers {
  #peppers: Buffer[] = []

  /** None are ever made, so that reading them once is enough. */
  async load(pool: Pool, masterKey: MasterKey): Promise<void> {
    await pool.query(
      `delete from signing_keys s where purpose = 'pepper'
       and not exists (select from api_keys where pepper_id = s.key_id or previous_pepper_id = s.key_id)`,
    )
    const { rows } = await pool.query<{ key_id: string; secret_encrypted: Buffer }>(
      "select key_id, secret_encrypted from signing_keys where purpose = 'pepper'",
    )
    this.#peppers = await Promise.all(
      rows.map(({ key_id, secret_encrypted }) => masterKey.decrypt(secret_encrypted, labelOf('pepper', key_id))),
    )
  }

  hashes(secret: string): Buffer[] {
    return this.#peppers.map((pepper) => createHmac('sha256', pepper).update(secret).digest())
  }
}
