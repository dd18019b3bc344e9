import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'

/** New secret in the format of Standard Webhooks, with 256 random bits. Shown once, stored encrypted under MASTER_KEY. */
export const newWebhookSecret = (): string => `${prefix}${randomBytes(32).toString('base64')}`

/** Value of `webhook-signature`: one signature per secret, the current secret first. */
export function sign(secrets: readonly string[], { id, timestamp, body }: { id: string; timestamp: number; body: Buffer }) {
  return secrets
    .map((secret) => {
      const hmac = createHmac('sha256', Buffer.from(secret.slice(prefix.length), 'base64'))
      return `v1,${hmac.update(`${id}.${timestamp}.`).update(body).digest('base64')}`
    })
    .join(' ')
}
