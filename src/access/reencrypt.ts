import type { Pool } from 'pg'
import type { MasterKey } from './master-key.js'
import { getTotpLabel } from './one-time-codes.js'
import { getWebhookSecretLabel } from './secrets.js'
import { getSigningKeyLabel } from './signing-secrets.js'

interface Sealed {
  id: string
  label: string
  secret: Buffer
}

const places = [
  {
    read: 'select key_id as id, purpose as label, secret_encrypted as secret from signing_keys',
    label: ({ label, id }: Sealed) => getSigningKeyLabel(label, id),
    write: 'update signing_keys set secret_encrypted = $2 where key_id = $1 and secret_encrypted = $3',
  },
  {
    read: 'select user_id as id, totp_secret as secret from users where totp_secret is not null',
    label: ({ id }: Sealed) => getTotpLabel(id),
    write: 'update users set totp_secret = $2 where user_id = $1 and totp_secret = $3',
  },
  {
    read: 'select webhook_id as id, secret_encrypted as secret from webhooks',
    label: ({ id }: Sealed) => getWebhookSecretLabel(id),
    write: 'update webhooks set secret_encrypted = $2 where webhook_id = $1 and secret_encrypted = $3',
  },
  {
    read: 'select webhook_id as id, previous_secret_encrypted as secret from webhooks where previous_secret_encrypted is not null',
    label: ({ id }: Sealed) => getWebhookSecretLabel(id),
    write: 'update webhooks set previous_secret_encrypted = $2 where webhook_id = $1 and previous_secret_encrypted = $3',
  },
]

/** Re-encrypts all stored secrets with the current MASTER_KEY. Returns the number of changed secrets. */
export async function reencryptSecrets(pool: Pool, masterKey: MasterKey): Promise<number> {
  let moved = 0
  for (const { read, label, write } of places) {
    const { rows } = await pool.query<Sealed>(read)
    for (const row of rows) {
      if (masterKey.isCurrent(row.secret)) continue
      await pool.query(write, [row.id, await masterKey.reencrypt(row.secret, label(row)), row.secret])
      moved++
    }
  }
  return moved
}
