import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'

/** A new secret as Standard Webhooks writes it: 256 random bits. Shown once, kept under MASTER_KEY. */
export const newWebhookSecret = (): string => `${prefix}${randomBytes(32).toString('base64')}`

/** What stands in `webhook-signature`: one signature for each secret, the current one's first. */
export function signatureOf(
  secrets: readonly string[],
  { id, timestamp, body }: { id: string; timestamp: number; body: Buffer },
) {
  return secrets
    .map((secret) => {
      const hmac = createHmac('sha256', Buffer.from(secret.slice(prefix.length), 'base64'))
      return `v1,${hmac.update(`${id}.${timestamp}.`).update(body).digest('base64')}`
    })
    .join(' ')
}
