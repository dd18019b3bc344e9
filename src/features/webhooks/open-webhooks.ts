import type { Components } from '../components.js'
import { OutboundClient, type OutboundOptions } from './outbound.js'
import { WebhookService } from './webhook.service.js'
import { WebhookDeliveryService } from './webhook-delivery.service.js'
import { WebhookSender } from './webhook-sender.js'

type Dependencies = Pick<Components, 'db' | 'ledger' | 'journal' | 'masterKey' | 'serviceEvents' | 'onError'>

/** Creates the webhook services and the webhook sender, which depend on each other. */
export function openWebhooks(dependencies: Dependencies & { retrySeconds?: readonly number[] }, options: OutboundOptions) {
  const outbound = new OutboundClient(options)
  const webhookSender: WebhookSender = new WebhookSender({
    ...dependencies,
    pool: dependencies.db.pool,
    outbound,
    onAttempt: (outcome) => dependencies.serviceEvents.emit('webhookAttempted', outcome),
    disable: (webhook, reason) => webhooks.disable(webhook, reason),
  })
  const webhooks: WebhookService = new WebhookService({
    ...dependencies,
    outbound,
    onChanged: () => webhookSender.checkForEvents({ webhooksChanged: true }),
  })
  dependencies.serviceEvents.on('journaled', (tenantId) => webhookSender.scheduleCheck(tenantId))
  return { webhooks, webhookDeliveries: new WebhookDeliveryService({ ...dependencies, outbound }), webhookSender }
}
