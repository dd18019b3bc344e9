import type { MasterKey } from '../../access/master-key.js'
import type { JournalService } from '../../ledger/journal.service.js'
import type { Ledger } from '../../ledger/ledger.js'
import type { Database } from '../../platform/db/client.js'
import type { ServiceEvents } from '../service-events.js'
import { Outbound, type OutboundOptions } from './outbound.js'
import { WebhookService } from './webhook.service.js'
import { WebhookDeliveryService } from './webhook-delivery.service.js'
import { WebhookSender } from './webhook-sender.js'

interface Parts {
  db: Database
  ledger: Ledger
  journal: JournalService
  masterKey: MasterKey
  serviceEvents: ServiceEvents
  onError(error: Error): void
  retrySeconds?: readonly number[]
}

/** Creates the webhook services and the webhook sender, which depend on each other. */
export function openWebhooks(parts: Parts, options: OutboundOptions) {
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
