import type { Pool } from 'pg'
import type { MasterKey } from './master-key.js'
import { getTotpLabel, getWebhookSecretLabel } from './secrets.js'
import { getSigningKeyLabel } from './signing-secrets.js'

interface EncryptedRow {
  id: string
  secret: Buffer
  /** Purpose of a signing key. */
  purpose: string
}

/** Columns that contain encrypted secrets. */
const columns: [table: string, idColumn: string, secretColumn: string, getLabel: (row: EncryptedRow) => string][] = [
  ['signing_keys', 'key_id', 'secret_encrypted', ({ purpose, id }) => getSigningKeyLabel(purpose, id)],
  ['users', 'user_id', 'totp_secret', ({ id }) => getTotpLabel(id)],
  ['webhooks', 'webhook_id', 'secret_encrypted', ({ id }) => getWebhookSecretLabel(id)],
  ['webhooks', 'webhook_id', 'previous_secret_encrypted', ({ id }) => getWebhookSecretLabel(id)],
]

/** Re-encrypts all stored secrets with the current MASTER_KEY. Returns the number of changed secrets. */
export async function reencryptSecrets(pool: Pool, masterKey: MasterKey): Promise<number> {
  let moved = 0
  for (const [table, idColumn, secretColumn, getLabel] of columns) {
    const { rows } = await pool.query<EncryptedRow>(
      `select *, ${idColumn} as id, ${secretColumn} as secret from ${table} where ${secretColumn} is not null`,
    )
    for (const row of rows) {
      if (masterKey.isCurrent(row.secret)) continue
      // Update the row only if its secret has not changed since it was read, so that a newer secret is never overwritten.
      await pool.query(`update ${table} set ${secretColumn} = $2 where ${idColumn} = $1 and ${secretColumn} = $3`, [
        row.id,
        await masterKey.reencrypt(row.secret, getLabel(row)),
        row.secret,
      ])
      moved++
    }
  }
  return moved
}
