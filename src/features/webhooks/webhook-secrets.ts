import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'

/**
 * Creates a secret with 256 random bits in the format of Standard Webhooks. The secret is returned once, and is stored encrypted
 * with MASTER_KEY.
 */
export const createWebhookSecret = (): string => `${prefix}${randomBytes(32).toString('base64')}`

/** Returns the value of the `webhook-signature` header: one signature per secret, starting with the current secret. */
export function signEvent(secrets: readonly string[], { id, timestamp, body }: { id: string; timestamp: number; body: Buffer }) {
  return secrets
    .map((secret) => {
      const hmac = createHmac('sha256', Buffer.from(secret.slice(prefix.length), 'base64'))
      return `v1,${hmac.update(`${id}.${timestamp}.`).update(body).digest('base64')}`
    })
    .join(' ')
}
