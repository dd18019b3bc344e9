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

/** The room's parts, which know each other: what admins change, and what sends. */
export function openWebhooks(parts: Parts, options: OutboundOptions) {
  const outbound = new Outbound(options)
  const webhookSender: WebhookSender = new WebhookSender({
    ...parts,
    pool: parts.db.pool,
    outbound,
    onTried: (outcome) => parts.serviceEvents.emit('webhookAttempted', outcome),
    disable: (turn, reason) => webhooks.disable(turn, reason),
  })
  const webhooks: WebhookService = new WebhookService({
    ...parts,
    outbound,
    hasten: (turn) => webhookSender.hasten(turn).catch(parts.onError),
  })
  parts.serviceEvents.on('journaled', (tenantId) => webhookSender.committed(tenantId))
  return { webhooks, webhookDeliveries: new WebhookDeliveryService({ ...parts, outbound }), webhookSender }
}
