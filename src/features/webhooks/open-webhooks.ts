import type { Components } from '../components.js'
import { Outbound, type OutboundOptions } from './outbound.js'
import { WebhookService } from './webhook.service.js'
import { WebhookDeliveryService } from './webhook-delivery.service.js'
import { WebhookSender } from './webhook-sender.js'

type Parts = Pick<Components, 'db' | 'ledger' | 'journal' | 'masterKey' | 'serviceEvents' | 'onError'>

/** Creates the webhook services and the webhook sender, which depend on each other. */
export function openWebhooks(parts: Parts & { retrySeconds?: readonly number[] }, options: OutboundOptions) {
  const outbound = new Outbound(options)
  const webhookSender: WebhookSender = new WebhookSender({
    ...parts,
    pool: parts.db.pool,
    outbound,
    onAttempt: (outcome) => parts.serviceEvents.emit('webhookAttempted', outcome),
    disable: (webhook, reason) => webhooks.disable(webhook, reason),
  })
  const webhooks: WebhookService = new WebhookService({
    ...parts,
    outbound,
    onChanged: () => webhookSender.checkForEvents({ changed: true }),
  })
  parts.serviceEvents.on('journaled', (tenantId) => webhookSender.scheduleCheck(tenantId))
  return { webhooks, webhookDeliveries: new WebhookDeliveryService({ ...parts, outbound }), webhookSender }
}
