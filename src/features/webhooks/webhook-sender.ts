import { setMaxListeners } from 'node:events'
import type { Pool } from 'pg'
import { ConcurrencyLimiter } from '../../platform/concurrency-limiter.js'
import type { Queries } from '../../platform/db/queries.js'
import { settlesWithin } from '../../platform/time-limit.js'
import { type DeliveryDependencies, deliverEvents } from './webhook-delivery.js'
import { type WebhookKey, WebhookPositions } from './webhook-positions.js'

const checkIntervalMs = 500
const tenantRefreshIntervalMs = 2_000
// Delay before a check for events, so that the commits of a busy tenant share one query.
const sharedCheckMs = 50
const maxDeliveries = 256
// Maximum number of concurrent deliveries per tenant. It is a sixteenth of the total, so that one tenant's unresponsive receivers
// do not block other tenants.
const maxTenantDeliveries = 16
const maxConnections = 2
const finishMs = 3_000
const maxCloseMs = 6_000
// Pause after a database error.
const pauseMs = 2_000

export type SenderDependencies = Omit<DeliveryDependencies, 'positions' | 'stopping'> & {
  pool: Pool
  onError(error: Error): void
}

/** Delivers events to webhooks on every replica. Needs no queue, because each webhook stores its position in the journal. */
export class WebhookSender {
  readonly #positions: WebhookPositions
  readonly #running = new Map<Promise<void>, WebhookKey>()
  readonly #stopping = new AbortController()
  #tenants: { ids: string[]; at: number } = { ids: [], at: Number.NEGATIVE_INFINITY }
  #looking: Promise<void> | undefined
  #again = false
  #closed = false
  #timer: NodeJS.Timeout | undefined
  #soon: NodeJS.Timeout | undefined
  #restsUntil = 0

  constructor(private readonly parts: SenderDependencies) {
    this.#positions = new WebhookPositions(limitConnections(parts.pool, maxConnections))
    setMaxListeners(maxDeliveries, this.#stopping.signal)
  }

  start(): void {
    this.#timer = setInterval(() => this.checkForEvents(), checkIntervalMs).unref()
    this.checkForEvents()
  }

  /** Checks for undelivered events immediately. `webhooksChanged` means that a webhook was created or changed. */
  checkForEvents(options: { webhooksChanged?: boolean } = {}): void {
    if (options.webhooksChanged) this.#tenants.at = Number.NEGATIVE_INFINITY
    if (!this.#timer || this.#closed || performance.now() < this.#restsUntil) return
    this.#again = true
    this.#looking ??= this.#runRequestedChecks().finally(() => {
      this.#looking = undefined
    })
  }

  /** Schedules a check for events shortly after a commit for the tenant. */
  scheduleCheck(tenantId: string): void {
    if (!this.#timer || this.#soon || !this.#tenants.ids.includes(tenantId)) return
    this.#soon = setTimeout(() => {
      this.#soon = undefined
      this.checkForEvents()
    }, sharedCheckMs).unref()
  }

  /** Waits a few seconds for deliveries in progress and then aborts the remaining ones. Another replica retries them. */
  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#timer)
    clearTimeout(this.#soon)
    if (!(await settlesWithin(maxCloseMs, this.#finishDeliveries())))
      this.parts.onError(new Error(`${this.#running.size} webhook deliveries did not finish within ${maxCloseMs} ms.`))
    this.parts.outbound.close()
  }

  async #finishDeliveries(): Promise<void> {
    const timer = setTimeout(() => this.#stopping.abort(), finishMs)
    await this.#looking
    await Promise.all(this.#running.keys())
    clearTimeout(timer)
  }

  async #runRequestedChecks(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false
      try {
        await this.#startDeliveries()
      } catch (error) {
        this.#restsUntil = performance.now() + pauseMs
        this.parts.onError(error as Error)
        return
      }
    }
  }

  async #startDeliveries(): Promise<void> {
    const tenants = await this.#getTenants()
    if (tenants.length === 0) return
    for (const webhook of await this.#positions.listDueWebhooks(tenants)) {
      const running = [...this.#running.values()]
      if (running.length >= maxDeliveries) return
      const own = running.filter(({ tenantId }) => tenantId === webhook.tenantId)
      if (own.length < maxTenantDeliveries && !own.some(({ webhookId }) => webhookId === webhook.webhookId))
        this.#startDelivery(webhook)
    }
  }

  async #getTenants(): Promise<string[]> {
    if (performance.now() - this.#tenants.at > tenantRefreshIntervalMs)
      this.#tenants = { ids: await this.#positions.listTenants(), at: performance.now() }
    return this.#tenants.ids
  }

  #startDelivery(webhook: WebhookKey): void {
    const running = deliverEvents({ ...this.parts, positions: this.#positions, stopping: this.#stopping.signal }, webhook)
      .catch(this.parts.onError)
      .finally(() => {
        this.#running.delete(running)
        this.checkForEvents()
      })
    this.#running.set(running, webhook)
  }
}

/** Limits queries to a few of the pool's connections, so that webhook deliveries leave the others free for requests. */
function limitConnections(pool: Pool, max: number): Queries {
  const limiter = new ConcurrencyLimiter({ max })
  const query = (...statement: unknown[]) => limiter.run('', () => pool.query(...(statement as [string, unknown[]])))
  return { query } as Queries
}
