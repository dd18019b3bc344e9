import { randomUUID } from 'node:crypto'
import { getLeaseEndSql, isLeaseFree, releaseLease } from '../../platform/db/lease.js'
import type { Queries } from '../../platform/db/queries.js'

// A lease lasts longer than a delivery turn, so that it needs no renewal.
const leaseSeconds = 30

export interface WebhookKey {
  tenantId: string
  webhookId: string
}

/** An active webhook that this process has leased, with its state at the time of the lease. */
export interface LeasedWebhook extends WebhookKey {
  token: string
  url: string
  types: string[]
  contexts: string[]
  secret: Buffer
  previousSecret: Buffer | null
  /** Sequence number of the last event that was delivered, abandoned or filtered out. */
  sequence: number
  /** Number of failed attempts to deliver the next event. */
  attempts: number
}

export interface Delivery {
  deliveryId: string
  sequence: number | null
  eventId: string
  type: string
  status: 'pending' | 'delivered' | 'failed'
  attempts: number
  responseStatus: number | null
  error: string | null
  durationMs: number
  attemptedAt: Date
  nextSeconds: number | null
}

/** Stores the journal positions of webhooks. After a process has lost a lease, its writes have no effect. */
export class WebhookPositions {
  constructor(private readonly pool: Queries) {}

  async listTenants(): Promise<string[]> {
    const { rows } = await this.pool.query<{ tenant_id: string }>(
      `SELECT DISTINCT w.tenant_id FROM webhooks w JOIN tenants t USING (tenant_id) WHERE w.status = 'active' AND t.status = 'active'`,
      [],
    )
    return rows.map(({ tenant_id }) => tenant_id)
  }

  /** Returns webhooks that have undelivered events and are not leased. Webhooks without failed attempts come first. */
  async listDueWebhooks(tenantIds: readonly string[]): Promise<WebhookKey[]> {
    const { rows } = await this.pool.query<WebhookKey>({
      name: 'webhooks-due',
      text: `SELECT p.tenant_id AS "tenantId", p.webhook_id AS "webhookId" FROM webhook_positions p
        JOIN tenant_heads h ON h.tenant_id = p.tenant_id JOIN webhooks w ON w.tenant_id = p.tenant_id AND w.webhook_id = p.webhook_id
        WHERE p.tenant_id = ANY($1) AND w.status = 'active' AND p.sequence < h.journal_length AND ${isDue}
        ORDER BY p.attempts > 0, p.leased_until`,
      values: [tenantIds],
    })
    return rows
  }

  /** Leases a webhook. Returns undefined if it is leased, deleted, disabled or not due. */
  async lease({ tenantId, webhookId }: WebhookKey): Promise<LeasedWebhook | undefined> {
    const token = randomUUID()
    const { rows } = await this.pool.query<Omit<LeasedWebhook, keyof WebhookKey | 'token'>>({
      name: 'webhook-lease',
      text: `WITH leased AS (UPDATE webhook_positions p SET lease_token = $3, leased_until = ${getLeaseEndSql(leaseSeconds)}
          FROM webhooks w JOIN tenants t ON t.tenant_id = w.tenant_id
          WHERE p.tenant_id = $1 AND p.webhook_id = $2 AND ${isDue} AND w.tenant_id = $1 AND w.webhook_id = $2
            AND w.status = 'active' AND t.status = 'active' RETURNING p.tenant_id, p.webhook_id, p.sequence, p.attempts)
        SELECT w.url, w.types, w.contexts, w.secret_encrypted AS secret,
          CASE WHEN w.previous_expires_at > now() THEN w.previous_secret_encrypted END AS "previousSecret", l.sequence, l.attempts
        FROM leased l JOIN webhooks w ON w.tenant_id = l.tenant_id AND w.webhook_id = l.webhook_id`,
      values: [tenantId, webhookId, token],
    })
    return rows[0] && { tenantId, webhookId, token, ...rows[0] }
  }

  /** Releases a webhook. It cannot be leased again for `seconds`. */
  async release({ tenantId, webhookId, token }: LeasedWebhook, seconds: number): Promise<void> {
    const key = { tenant_id: tenantId, webhook_id: webhookId }
    await releaseLease(this.pool, { table: 'webhook_positions', key, token, seconds: leaseSeconds }, { delaySeconds: seconds })
  }

  /** Logs the deliveries and advances the position. Returns false if the lease was lost. */
  async advance(
    { tenantId, webhookId, token }: LeasedWebhook,
    sequence: number,
    deliveries: readonly Delivery[],
  ): Promise<boolean> {
    const { rows } = await this.pool.query<{ moved: boolean }>({
      name: 'webhook-advance',
      text: `WITH moved AS (UPDATE webhook_positions SET sequence = $4, attempts = 0, next_attempt_at = NULL,
          failing_since = CASE WHEN $6 THEN NULL ELSE failing_since END
          WHERE tenant_id = $1 AND webhook_id = $2 AND lease_token = $3 RETURNING 1),
        logged AS (${buildInsertDeliveriesSql('$5')})
        SELECT EXISTS (SELECT FROM moved) AS moved`,
      values: [
        tenantId,
        webhookId,
        token,
        sequence,
        JSON.stringify(deliveries),
        deliveries.some(({ status }) => status === 'delivered'),
      ],
    })
    return rows[0]!.moved
  }

  /** Records a failed attempt. Returns the number of days since the first failure, or undefined if the lease was lost. */
  async recordFailure(
    { tenantId, webhookId, token }: LeasedWebhook,
    next: { sequence: number; attempts: number; seconds: number | null },
    delivery: Delivery,
  ): Promise<number | undefined> {
    const { rows } = await this.pool.query<{ days: number }>({
      name: 'webhook-fail',
      text: `WITH moved AS (UPDATE webhook_positions SET sequence = $4, attempts = $5, next_attempt_at = now() + make_interval(secs => $6),
          failing_since = least(failing_since, now()) WHERE tenant_id = $1 AND webhook_id = $2 AND lease_token = $3 RETURNING failing_since),
        logged AS (${buildInsertDeliveriesSql('$7')})
        SELECT (extract(epoch FROM now() - failing_since) / 86400)::float8 AS days FROM moved`,
      values: [tenantId, webhookId, token, next.sequence, next.attempts, next.seconds, JSON.stringify([delivery])],
    })
    return rows[0]?.days
  }

  /** Returns the ID of the delivery that is waiting for its next attempt. */
  async findPendingDelivery({ tenantId, webhookId }: WebhookKey): Promise<string | undefined> {
    const { rows } = await this.pool.query<{ id: string }>(
      `SELECT delivery_id AS id FROM webhook_deliveries WHERE tenant_id = $1 AND webhook_id = $2 AND status = 'pending' ORDER BY delivery_id DESC LIMIT 1`,
      [tenantId, webhookId],
    )
    return rows[0]?.id
  }

  /** Logs a test delivery, whose event is not in the journal. */
  async logDelivery({ tenantId, webhookId }: WebhookKey, delivery: Delivery): Promise<void> {
    await this.pool.query(buildInsertDeliveriesSql('$3'), [tenantId, webhookId, JSON.stringify([delivery])])
  }
}

const isDue = `p.${isLeaseFree} AND (p.next_attempt_at IS NULL OR p.next_attempt_at <= now())`

/** Returns SQL that logs deliveries of webhook $2 of tenant $1. */
const buildInsertDeliveriesSql = (deliveries: string) => `
  INSERT INTO webhook_deliveries (tenant_id, webhook_id, delivery_id, sequence, event_id, type, status, attempts, response_status, error, duration_ms, created_at, attempted_at, next_attempt_at)
  SELECT $1, $2, d."deliveryId", d.sequence, d."eventId", d.type, d.status, d.attempts, d."responseStatus", d.error, d."durationMs", d."attemptedAt", d."attemptedAt",
    now() + make_interval(secs => d."nextSeconds")
  FROM jsonb_to_recordset(${deliveries}::jsonb) AS d("deliveryId" text, sequence bigint, "eventId" text, type text, status text, attempts integer, "responseStatus" integer,
    error text, "durationMs" integer, "attemptedAt" timestamptz, "nextSeconds" float8)
  WHERE EXISTS (SELECT 1 FROM webhook_positions p WHERE p.tenant_id = $1 AND p.webhook_id = $2)
  ON CONFLICT (tenant_id, webhook_id, delivery_id) DO UPDATE SET status = EXCLUDED.status, attempts = EXCLUDED.attempts, response_status = EXCLUDED.response_status,
    error = EXCLUDED.error, duration_ms = EXCLUDED.duration_ms, attempted_at = EXCLUDED.attempted_at, next_attempt_at = EXCLUDED.next_attempt_at`
