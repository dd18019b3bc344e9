import { createHmac, randomBytes } from 'node:crypto'
import type { MasterKey } from '../../access/master-key.js'
import { getWebhookSecretLabel } from '../../access/secrets.js'
import type { JournalService } from '../../ledger/journal.service.js'
import { now } from '../../platform/clock.js'
import { newId } from '../../platform/ids.js'
import { toEventTypes } from '../events/event.types.js'
import { describeConnectionError, type OutboundClient } from './outbound.js'
import type { Delivery, LeasedWebhook, WebhookKey, WebhookPositions } from './webhook-positions.js'

/**
 * Seconds until the next attempt, by number of failed attempts. If the last attempt also fails, the service abandons the event.
 */
const retrySeconds = [5, 30, 120, 600, 3600, 10_800, 21_600, 43_200, 86_400]
const maxFailingDays = 5
// Time after which a webhook's turn ends, so that other webhooks are served. A turn and one further attempt must end before the
// lease expires.
const turnMs = 10_000
// Deliveries are written to the log in batches. If the process is killed, the events of one batch are delivered again.
const unwrittenMs = 100
const unwrittenEvents = 50
const errorSeconds = 5

export type DisabledReason = 'gone' | 'failing'

export interface DeliveryDependencies {
  journal: JournalService
  positions: WebhookPositions
  masterKey: MasterKey
  outbound: OutboundClient
  onAttempt(status: Delivery['status']): void
  disable(webhook: WebhookKey, reason: DisabledReason): Promise<unknown>
  /** Signal that is aborted when the process stops. No attempt begins after the abort. */
  stopping: AbortSignal
  retrySeconds?: readonly number[]
}

/** Sends the undelivered events of a webhook one by one, until none remain or the turn is over. */
export async function deliverEvents(dependencies: DeliveryDependencies, key: WebhookKey): Promise<void> {
  const webhook = await dependencies.positions.lease(key)
  if (!webhook) return
  let restSeconds = errorSeconds
  try {
    await new DeliveryRun(dependencies, webhook, await decryptSecrets(dependencies.masterKey, webhook)).deliver()
    restSeconds = 0
  } finally {
    await dependencies.positions.release(webhook, restSeconds)
  }
}

class DeliveryRun {
  readonly #until = performance.now() + turnMs
  #sequence: number
  #writtenSequence: number
  #attempts: number
  #unwritten: Delivery[] = []
  #writtenAt = performance.now()

  constructor(
    private readonly parts: DeliveryDependencies,
    private readonly webhook: LeasedWebhook,
    private readonly secrets: string[],
  ) {
    this.#sequence = webhook.sequence
    this.#writtenSequence = webhook.sequence
    this.#attempts = webhook.attempts
  }

  async deliver(): Promise<void> {
    for (;;) {
      const { events, lastReadSequence, atEnd } = await readEvents(this.parts.journal, this.webhook, this.#sequence)
      for (const event of events) {
        if (this.#isTimeUp()) return void (await this.#writeDeliveries())
        if (!(await this.#deliverEvent(event))) return
      }
      this.#sequence = lastReadSequence
      const isOver = atEnd || this.#isTimeUp()
      if ((isOver || this.#isWriteDue()) && !(await this.#writeDeliveries())) return
      if (isOver) return
    }
  }

  #isTimeUp(): boolean {
    return this.parts.stopping.aborted || performance.now() > this.#until
  }

  /** Attempts to deliver an event. Returns true if the turn continues with the next event. */
  async #deliverEvent(event: OutgoingEvent): Promise<boolean> {
    const { outbound, stopping } = this.parts
    const { url } = this.webhook
    const tried = await attemptDelivery(outbound, { url, secrets: this.secrets, signal: stopping }, event)
    // An attempt that was interrupted by the shutdown does not count. The event is sent again, although the receiver may have
    // processed it.
    const isCut = stopping.aborted && tried.responseStatus === null
    const delivery = isCut ? undefined : await this.#toDelivery(event, tried)
    if (!delivery || !isSuccessful(tried)) {
      if ((await this.#writeDeliveries()) && delivery) await this.#recordFailure(event, delivery)
      return false
    }
    this.parts.onAttempt('delivered')
    this.#unwritten.push(delivery)
    this.#sequence = event.sequence
    this.#attempts = 0
    return !this.#isWriteDue() || this.#writeDeliveries()
  }

  async #toDelivery({ eventId, type, sequence }: OutgoingEvent, attempt: Attempt): Promise<Delivery> {
    const known = this.#attempts > 0 ? await this.parts.positions.findPendingDelivery(this.webhook) : undefined
    return {
      deliveryId: known ?? newId('dlv'),
      sequence,
      eventId,
      type,
      status: 'delivered',
      attempts: this.#attempts + 1,
      nextSeconds: null,
      ...attempt,
    }
  }

  async #recordFailure(event: OutgoingEvent, delivery: Delivery): Promise<void> {
    const { positions, disable, retrySeconds: schedule = retrySeconds } = this.parts
    const isGone = delivery.responseStatus === 410
    const wait = isGone ? undefined : schedule[this.#attempts]
    const next = {
      // A 410 response disables the webhook. Keep the position, so that the event is sent again when the webhook is re-enabled.
      sequence: wait === undefined && !isGone ? event.sequence : this.#sequence,
      attempts: wait === undefined ? 0 : delivery.attempts,
      seconds: wait ?? null,
    }
    const failed: Delivery = { ...delivery, status: wait === undefined ? 'failed' : 'pending', nextSeconds: next.seconds }
    this.parts.onAttempt(failed.status)
    const days = await positions.recordFailure(this.webhook, next, failed)
    if (days !== undefined && (isGone || days >= maxFailingDays)) await disable(this.webhook, isGone ? 'gone' : 'failing')
  }

  #isWriteDue(): boolean {
    return performance.now() - this.#writtenAt > unwrittenMs || this.#unwritten.length >= unwrittenEvents
  }

  /** Writes deliveries to the log. Returns false if the lease was lost. */
  async #writeDeliveries(): Promise<boolean> {
    const deliveries = this.#unwritten
    this.#unwritten = []
    this.#writtenAt = performance.now()
    if (this.#sequence === this.#writtenSequence) return true
    this.#writtenSequence = this.#sequence
    return this.parts.positions.advance(this.webhook, this.#sequence, deliveries)
  }
}

async function decryptSecrets(masterKey: MasterKey, { webhookId, secret, previousSecret }: LeasedWebhook): Promise<string[]> {
  const label = getWebhookSecretLabel(webhookId)
  const sealed = previousSecret ? [secret, previousSecret] : [secret]
  return Promise.all(sealed.map(async (each) => (await masterKey.decrypt(each, label)).toString()))
}

/** A journal event in the format of a webhook delivery. */
export interface OutgoingEvent {
  sequence: number
  eventId: string
  type: string
  body: Buffer
}

// Maximum number of events in memory per delivery turn. An event can be up to 64 KiB.
const eventsAtOnce = 20

/**
 * Returns the next events for a webhook. `lastReadSequence` is the position of the last event that was read, even if it was
 * filtered out.
 */
async function readEvents(
  journal: JournalService,
  { tenantId, webhookId, types, contexts }: LeasedWebhook,
  after: number,
): Promise<{ events: OutgoingEvent[]; lastReadSequence: number; atEnd: boolean }> {
  const page = await journal.readPage({
    tenantId,
    after,
    types: toEventTypes(types),
    contexts: contexts.length > 0 ? contexts : null,
    limit: eventsAtOnce,
  })
  const events = page.events.map(({ entry }) => toOutgoingEvent(entry)).filter((event) => !isWebhookCreation(event, webhookId))
  return { events, lastReadSequence: page.through, atEnd: page.through >= page.lastSequence }
}

/** Converts a journal entry to a delivery body as specified by Standard Webhooks. */
export function toOutgoingEvent(entry: string): OutgoingEvent & { data: Record<string, unknown> } {
  const { type, occurred_at, event_id, sequence, data } = JSON.parse(entry)
  const body = Buffer.from(JSON.stringify({ type, timestamp: occurred_at, data: { ...data, sequence } }))
  return { sequence, eventId: event_id, type, body, data }
}

/** Returns true for the event that reports the creation of this webhook. The webhook itself does not receive it. */
const isWebhookCreation = ({ type, data }: ReturnType<typeof toOutgoingEvent>, webhookId: string): boolean =>
  type === 'webhook.created' && data.webhook_id === webhookId

export interface Attempt {
  responseStatus: number | null
  error: string | null
  durationMs: number
  attemptedAt: Date
}

const responseTimeoutMs = 15_000

export const isSuccessful = ({ responseStatus }: Attempt): boolean =>
  responseStatus !== null && responseStatus >= 200 && responseStatus < 300

/** Sends one event, signed according to Standard Webhooks (https://www.standardwebhooks.com). Never rejects. */
export async function attemptDelivery(
  outbound: OutboundClient,
  { url, secrets, signal }: { url: string; secrets: readonly string[]; signal?: AbortSignal },
  { eventId, body }: { eventId: string; body: Buffer },
): Promise<Attempt> {
  const began = performance.now()
  const attemptedAt = new Date(now())
  const timestamp = Math.floor(attemptedAt.getTime() / 1000)
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Assay-Webhooks/1',
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signEvent(secrets, { id: eventId, timestamp, body }),
  }
  const ending = new AbortController()
  const abortRequest = () => ending.abort()
  const timer = setTimeout(abortRequest, responseTimeoutMs)
  signal?.addEventListener('abort', abortRequest)
  if (signal?.aborted) abortRequest()
  const toAttempt = (result: Pick<Attempt, 'responseStatus' | 'error'>): Attempt => ({
    ...result,
    durationMs: Math.round(performance.now() - began),
    attemptedAt,
  })
  try {
    const status = await outbound.post(url, headers, body, ending.signal)
    return toAttempt({ responseStatus: status, error: getStatusError(status) })
  } catch (error) {
    return toAttempt({ responseStatus: null, error: describeConnectionError(error) })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abortRequest)
  }
}

function getStatusError(status: number): string | null {
  if (status === 101) return 'protocol upgrades are not supported'
  return status >= 300 && status < 400 ? 'redirects are not followed' : null
}

const prefix = 'whsec_'

/** Creates a secret in the format of Standard Webhooks, with 256 random bits. */
export const createWebhookSecret = (): string => `${prefix}${randomBytes(32).toString('base64')}`

/** Returns the value of the `webhook-signature` header: one signature per secret, starting with the current secret. */
function signEvent(secrets: readonly string[], { id, timestamp, body }: { id: string; timestamp: number; body: Buffer }) {
  return secrets
    .map((secret) => {
      const hmac = createHmac('sha256', Buffer.from(secret.slice(prefix.length), 'base64'))
      return `v1,${hmac.update(`${id}.${timestamp}.`).update(body).digest('base64')}`
    })
    .join(' ')
}
