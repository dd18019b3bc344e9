import type { Queries } from '../../platform/db/queries.js'
import type { Turn } from './webhook-queue.js'

/** An active webhook that this process has taken on, as it was then. */
export interface Claimed extends Turn {
  claim: number
  url: string
  types: string[]
  contexts: string[]
  secret: Buffer
  previousSecret: Buffer | null
  /** The last event that it is through with. */
  sequence: number
  /** Of the event that comes next. */
  attempts: number
  /** Until the next attempt is due. */
  waitSeconds: number
}

/** What came of an event, as the log of deliveries has it. */
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

/** How far webhooks have come in the journal. A claim outdates those before it: what their holders write no longer counts. */
export class WebhookPositions {
  readonly #pool: Queries

  constructor(pool: Queries) {
    this.#pool = pool
  }

  /** Tenants that have an active webhook. */
  async tenants(): Promise<string[]> {
    const { rows } = await this.#pool.query<{ tenant_id: string }>(
      `SELECT DISTINCT w.tenant_id FROM webhooks w JOIN tenants t USING (tenant_id) WHERE w.status = 'active' AND t.status = 'active'`,
      [],
    )
    return rows.map(({ tenant_id }) => tenant_id)
  }

  /** Of these tenants, the webhooks that events are waiting for. */
  async behind(tenantIds: readonly string[]): Promise<Turn[]> {
    const { rows } = await this.#pool.query<Turn>({
      name: 'webhooks-behind',
      text: `SELECT p.tenant_id AS "tenantId", p.webhook_id AS "webhookId" FROM webhook_positions p
        JOIN tenant_heads h ON h.tenant_id = p.tenant_id JOIN webhooks w ON w.tenant_id = p.tenant_id AND w.webhook_id = p.webhook_id
        WHERE p.tenant_id = ANY($1) AND w.status = 'active' AND p.sequence < h.journal_length
          AND (p.next_attempt_at IS NULL OR p.next_attempt_at <= now())`,
      values: [tenantIds],
    })
    return rows
  }

  /** Undefined where it is gone or not active. */
  async claim({ tenantId, webhookId }: Turn): Promise<Claimed | undefined> {
    const { rows } = await this.#pool.query<Omit<Claimed, keyof Turn>>({
      name: 'webhook-claim',
      text: `WITH claimed AS (UPDATE webhook_positions SET claim = claim + 1 WHERE tenant_id = $1 AND webhook_id = $2 RETURNING *)
        SELECT p.claim, w.url, w.types, w.contexts, w.secret_encrypted AS secret,
          CASE WHEN w.previous_expires_at > now() THEN w.previous_secret_encrypted END AS "previousSecret",
          p.sequence, p.attempts, greatest(0, coalesce(extract(epoch FROM p.next_attempt_at - now()), 0))::float8 AS "waitSeconds"
        FROM claimed p JOIN webhooks w ON w.tenant_id = $1 AND w.webhook_id = p.webhook_id JOIN tenants t ON t.tenant_id = $1
        WHERE w.status = 'active' AND t.status = 'active'`,
      values: [tenantId, webhookId],
    })
    return rows[0] && { tenantId, webhookId, ...rows[0] }
  }

  /** Through with everything up to `sequence`. False where another has claimed it meanwhile; what was delivered is logged all the same. */
  async advance({ tenantId, webhookId, claim }: Claimed, sequence: number, deliveries: readonly Delivery[]): Promise<boolean> {
    const { rows } = await this.#pool.query<{ mine: boolean }>({
      name: 'webhook-advance',
      text: `WITH moved AS (UPDATE webhook_positions SET sequence = $4, attempts = 0, next_attempt_at = NULL,
          failing_since = CASE WHEN EXISTS (SELECT FROM jsonb_array_elements($5::jsonb) d WHERE d->>'status' = 'delivered') THEN NULL ELSE failing_since END
          WHERE tenant_id = $1 AND webhook_id = $2 AND claim = $3 RETURNING 1),
        logged AS (${logged('$1', '$2', '$5')})
        SELECT EXISTS (SELECT FROM moved) AS mine`,
      values: [tenantId, webhookId, claim, sequence, JSON.stringify(deliveries)],
    })
    return rows[0]!.mine
  }

  /** An attempt failed: `next` is where the webhook stands now. Gives for how many days nothing has been delivered; undefined where another has claimed it. */
  async fail(
    { tenantId, webhookId, claim }: Claimed,
    next: { sequence: number; attempts: number; seconds: number | null },
    delivery: Delivery,
  ): Promise<number | undefined> {
    const { rows } = await this.#pool.query<{ days: number }>({
      name: 'webhook-fail',
      text: `WITH moved AS (UPDATE webhook_positions SET sequence = $4, attempts = $5, next_attempt_at = now() + make_interval(secs => $6),
          failing_since = coalesce(failing_since, now()) WHERE tenant_id = $1 AND webhook_id = $2 AND claim = $3 RETURNING failing_since),
        logged AS (${logged('$1', '$2', '$7')})
        SELECT (extract(epoch FROM now() - failing_since) / 86400)::float8 AS days FROM moved`,
      values: [tenantId, webhookId, claim, next.sequence, next.attempts, next.seconds, JSON.stringify([delivery])],
    })
    return rows[0]?.days
  }

  /** The entry of an event that has been tried before. */
  async pending({ tenantId, webhookId }: Turn): Promise<string | undefined> {
    const { rows } = await this.#pool.query<{ id: string }>(
      `SELECT delivery_id AS id FROM webhook_deliveries WHERE tenant_id = $1 AND webhook_id = $2 AND status = 'pending' ORDER BY delivery_id DESC LIMIT 1`,
      [tenantId, webhookId],
    )
    return rows[0]?.id
  }

  /** A test, which is in no journal. */
  async log({ tenantId, webhookId }: Turn, delivery: Delivery): Promise<void> {
    await this.#pool.query(logged('$1', '$2', '$3'), [tenantId, webhookId, JSON.stringify([delivery])])
  }
}

const logged = (tenant: string, webhook: string, deliveries: string) => `
  INSERT INTO webhook_deliveries (tenant_id, webhook_id, delivery_id, sequence, event_id, type, status, attempts, response_status, error, duration_ms, created_at, attempted_at, next_attempt_at)
  SELECT ${tenant}, ${webhook}, d."deliveryId", d.sequence, d."eventId", d.type, d.status, d.attempts, d."responseStatus", d.error, d."durationMs", d."attemptedAt", d."attemptedAt",
    now() + make_interval(secs => d."nextSeconds")
  FROM jsonb_to_recordset(${deliveries}::jsonb) AS d("deliveryId" text, sequence bigint, "eventId" text, type text, status text, attempts integer, "responseStatus" integer,
    error text, "durationMs" integer, "attemptedAt" timestamptz, "nextSeconds" float8)
  WHERE EXISTS (SELECT 1 FROM webhook_positions p WHERE p.tenant_id = ${tenant} AND p.webhook_id = ${webhook})
  ON CONFLICT (tenant_id, webhook_id, delivery_id) DO UPDATE SET status = EXCLUDED.status, attempts = EXCLUDED.attempts, response_status = EXCLUDED.response_status,
    error = EXCLUDED.error, duration_ms = EXCLUDED.duration_ms, attempted_at = EXCLUDED.attempted_at, next_attempt_at = EXCLUDED.next_attempt_at`
