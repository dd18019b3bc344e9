import { TenantSlots } from '../../access/concurrency.js'
import { getWebhookSecretLabel } from '../../access/secrets.js'
import { listRowsNewestFirst, mapPage, type Page, type PageArgs, toPagePosition } from '../../api/graphql/page.js'
import type { Actor } from '../../platform/actor.js'
import type { WebhookDelivery as DeliveryRow } from '../../platform/db/generated/client.js'
import { getIdTime, newId } from '../../platform/ids.js'
import type { Components } from '../components.js'
import type { OutboundClient } from './outbound.js'
import { findWebhook } from './webhook.service.js'
import type { WebhookDelivery } from './webhook.types.js'
import { attemptDelivery, isSuccessful, toOutgoingEvent } from './webhook-delivery.js'
import { WebhookPositions } from './webhook-positions.js'

const keptDeliveries = 1_000

/** Lists webhook deliveries and sends test deliveries. */
export class WebhookDeliveryService {
  readonly #positions: WebhookPositions
  readonly #tests = new TenantSlots('tests of webhooks', { inAll: 16, byTenant: 2 })

  constructor(private readonly parts: Pick<Components, 'db' | 'masterKey'> & { outbound: OutboundClient }) {
    this.#positions = new WebhookPositions(parts.db.pool)
  }

  /** Sends a test event without retries, even if the webhook is disabled. */
  async sendTestDelivery(actor: Actor, webhookId: string): Promise<WebhookDelivery> {
    const { tenantId } = actor
    const row = await findWebhook(this.parts.db.prisma, tenantId, webhookId)
    return this.#tests.run(tenantId, async () => {
      const event = createTestEvent(webhookId)
      const secret = await this.parts.masterKey.decrypt(Buffer.from(row.secretEncrypted), getWebhookSecretLabel(webhookId))
      const tried = await attemptDelivery(this.parts.outbound, { url: row.url, secrets: [secret.toString()] }, event)
      const status = isSuccessful(tried) ? ('delivered' as const) : ('failed' as const)
      const { eventId, type } = event
      const delivery = { deliveryId: newId('dlv'), sequence: null, eventId, type, attempts: 1, status, ...tried }
      await this.#positions.logDelivery({ tenantId, webhookId }, { ...delivery, nextSeconds: null })
      return { ...delivery, createdAt: tried.attemptedAt, nextAttemptAt: null }
    })
  }

  async list(
    { tenantId }: Actor,
    { webhookId, status, ...args }: PageArgs & { webhookId: string; status?: WebhookDelivery['status'] | null },
  ): Promise<Page<WebhookDelivery>> {
    await findWebhook(this.parts.db.prisma, tenantId, webhookId)
    const position = toPagePosition('dlv', args)
    const where = { tenantId, webhookId, ...(status && { status }) }
    const found = await listRowsNewestFirst(this.parts.db.prisma.webhookDelivery, { key: 'deliveryId', where, position })
    return mapPage(found, toDelivery)
  }

  async deleteOldDeliveries(shouldContinue: () => boolean = () => true): Promise<void> {
    const { pool } = this.parts.db
    for (let after = ['', '']; shouldContinue(); ) {
      const { rows } = await pool.query<{ tenant_id: string; webhook_id: string }>(
        'SELECT tenant_id, webhook_id FROM webhooks WHERE (tenant_id, webhook_id) > ($1, $2) ORDER BY tenant_id, webhook_id LIMIT 100',
        after,
      )
      for (const { tenant_id, webhook_id } of rows)
        await pool.query(
          `DELETE FROM webhook_deliveries WHERE tenant_id = $1 AND webhook_id = $2 AND delivery_id <= (SELECT delivery_id FROM webhook_deliveries
             WHERE tenant_id = $1 AND webhook_id = $2 ORDER BY delivery_id DESC OFFSET ${keptDeliveries} LIMIT 1)`,
          [tenant_id, webhook_id],
        )
      const last = rows.at(-1)
      if (!last) return
      after = [last.tenant_id, last.webhook_id]
    }
  }
}

/** Creates an event in the journal's format. The event is not added to the journal. */
function createTestEvent(webhookId: string) {
  const eventId = newId('evt')
  const facts = { type: 'webhook.test', occurred_at: getIdTime(eventId).toISOString(), event_id: eventId, sequence: null }
  return toOutgoingEvent(JSON.stringify({ ...facts, data: { webhook_id: webhookId } }))
}

const toDelivery = (row: DeliveryRow): WebhookDelivery => ({
  ...row,
  sequence: row.sequence === null ? null : Number(row.sequence),
  status: row.status as WebhookDelivery['status'],
})
