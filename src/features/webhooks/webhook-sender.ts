import { setMaxListeners } from 'node:events'
import type { Pool } from 'pg'
import { settlesWithin } from '../../platform/time-limit.js'
import { FewConnections } from './few-connections.js'
import { type DeliveryParts, deliver } from './webhook-delivery.js'
import { WebhookPositions } from './webhook-positions.js'
import { expirySeconds, type Turn, WebhookQueue } from './webhook-queue.js'

const lookEveryMs = 500
const tenantsEveryMs = 2_000
// A busy tenant's commits share a look.
const sharedLookMs = 50
const maxDeliveries = 256
// A tenant whose receivers do not answer holds at most a sixteenth of the slots; its other webhooks wait for each other.
const maxTenantDeliveries = 16
const tenantWaitSeconds = 1
const mostConnections = 2
const finishMs = 3_000
const maxCloseMs = 6_000
const errorSeconds = 5
// While the database is away there is nothing to find.
const restMs = 2_000

export type SenderParts = Omit<DeliveryParts, 'positions' | 'stopping'> & { pool: Pool; onError(error: Error): void }

/**
 * Delivers events to webhooks, on every replica. What is to be delivered is what the journal has beyond a webhook's position, so that
 * nothing has to be handed over when an event is committed, and a process that dies leaves it as it was.
 */
export class WebhookSender {
  readonly #parts: SenderParts
  readonly #pool: FewConnections
  readonly #positions: WebhookPositions
  readonly #running = new Map<Promise<void>, Turn>()
  readonly #stopping = new AbortController()
  #queue: Promise<WebhookQueue> | undefined
  #tenants: { ids: string[]; at: number } = { ids: [], at: Number.NEGATIVE_INFINITY }
  #looking: Promise<void> | undefined
  #again = false
  #closed = false
  #timer: NodeJS.Timeout | undefined
  #soon: NodeJS.Timeout | undefined
  #restsUntil = 0

  constructor(parts: SenderParts) {
    this.#parts = parts
    this.#pool = new FewConnections(parts.pool, mostConnections)
    this.#positions = new WebhookPositions(this.#pool)
    setMaxListeners(maxDeliveries, this.#stopping.signal)
  }

  start(): void {
    this.#timer = setInterval(() => this.wake(), lookEveryMs).unref()
    this.wake()
  }

  /** Events were committed, or a webhook was changed: looks now instead of in a moment. */
  wake(options: { changed?: boolean } = {}): void {
    if (options.changed) this.#tenants.at = Number.NEGATIVE_INFINITY
    if (!this.#timer || this.#closed || performance.now() < this.#restsUntil) return
    this.#again = true
    this.#looking ??= this.#lookAround().finally(() => {
      this.#looking = undefined
    })
  }

  /** A transaction of this process that may have written events of the tenant is committed. */
  committed(tenantId: string): void {
    if (!this.#timer || this.#soon || !this.#tenants.ids.includes(tenantId)) return
    this.#soon = setTimeout(() => {
      this.#soon = undefined
      this.wake()
    }, sharedLookMs).unref()
  }

  /** A webhook need not wait for its next attempt any more. */
  async hasten(turn: Turn): Promise<void> {
    await (await this.#opened()).hasten(turn)
    this.wake({ changed: true })
  }

  /** Gives deliveries `finishMs` to finish, then aborts them. Resolves after `maxCloseMs` in any case: another replica repeats the rest. */
  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#timer)
    clearTimeout(this.#soon)
    if (!(await settlesWithin(maxCloseMs, this.#finish())))
      this.#parts.onError(new Error(`${this.#running.size} webhook deliveries did not end within ${maxCloseMs} ms.`))
    this.#parts.outbound.close()
  }

  async #finish(): Promise<void> {
    const timer = setTimeout(() => this.#stopping.abort(), finishMs)
    await this.#looking
    await Promise.all(this.#running.keys())
    clearTimeout(timer)
    if (this.#queue) await this.#queue.then((queue) => queue.close()).catch(this.#parts.onError)
  }

  async #lookAround(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false
      try {
        await this.#look()
      } catch (error) {
        this.#restsUntil = performance.now() + restMs
        this.#parts.onError(error as Error)
        return
      }
    }
  }

  async #look(): Promise<void> {
    const tenants = await this.#tenantsNow()
    if (tenants.length === 0) return
    const queue = await this.#opened()
    const behind = await this.#positions.behind(tenants)
    const running = new Set(this.#turns().map(({ webhookId }) => webhookId))
    const waiting = behind.filter(({ webhookId }) => !running.has(webhookId))
    if (waiting.length > 0) await queue.add(waiting)
    const free = maxDeliveries - this.#running.size
    const taken = free > 0 ? await queue.take(free) : []
    const excess = taken.filter((turn) => {
      const own = this.#turns().filter(({ tenantId }) => tenantId === turn.tenantId)
      if (own.length < maxTenantDeliveries) this.#run(queue, turn)
      return own.length >= maxTenantDeliveries
    })
    await Promise.all(excess.map((turn) => queue.putOff(turn, tenantWaitSeconds)))
  }

  #turns(): Turn[] {
    return [...this.#running.values()]
  }

  async #tenantsNow(): Promise<string[]> {
    if (performance.now() - this.#tenants.at > tenantsEveryMs)
      this.#tenants = { ids: await this.#positions.tenants(), at: performance.now() }
    return this.#tenants.ids
  }

  #opened(): Promise<WebhookQueue> {
    this.#queue ??= WebhookQueue.open(this.#pool, this.#parts.onError).catch((error) => {
      this.#queue = undefined
      throw error
    })
    return this.#queue
  }

  #run(queue: WebhookQueue, turn: Turn): void {
    const running = this.#deliver(queue, turn)
      .catch(this.#parts.onError)
      .finally(() => {
        this.#running.delete(running)
        this.wake()
      })
    this.#running.set(running, turn)
  }

  async #deliver(queue: WebhookQueue, turn: Turn): Promise<void> {
    const takenAt = performance.now()
    const outcome = await deliver({ ...this.#parts, positions: this.#positions, stopping: this.#stopping.signal }, turn).catch(
      (error) => {
        this.#parts.onError(error)
        return { afterSeconds: errorSeconds }
      },
    )
    // After that it may be another's already.
    if (performance.now() - takenAt > (expirySeconds - 1) * 1000) return
    if (outcome === 'nothing waits' || outcome.afterSeconds === 0) await queue.done(turn)
    else await queue.putOff(turn, outcome.afterSeconds)
  }
}
