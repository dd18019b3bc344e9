import type { MasterKey } from '../../access/master-key.js'
import { webhookSecretLabel } from '../../access/secrets.js'
import type { JournalService } from '../../ledger/journal.service.js'
import { newId } from '../../platform/ids.js'
import { type OutgoingEvent, readEvents } from './journal-reader.js'
import type { Outbound } from './outbound.js'
import { type Attempt, attempt, succeeded } from './webhook-attempt.js'
import type { Claimed, Delivery, WebhookPositions } from './webhook-positions.js'
import type { Turn } from './webhook-queue.js'

/** Seconds until the next attempt after each that failed; after the last the event is given up. */
const retrySeconds = [5, 30, 120, 600, 3600, 10_800, 21_600, 43_200, 86_400]
const mostFailingDays = 5
// Then others have their turn. With the longest attempt it must stay below what the queue waits for (expirySeconds).
const turnMs = 10_000
// What was delivered is written down together: a process that dies in between repeats so much of it.
const unwrittenMs = 100
const unwrittenEvents = 50

/** What is to come of a webhook after its turn. */
export type Outcome = 'nothing waits' | { afterSeconds: number }
export type DisabledReason = 'gone' | 'failing'

export interface DeliveryParts {
  journal: JournalService
  positions: WebhookPositions
  masterKey: MasterKey
  outbound: Outbound
  /** Called after each attempt with how the delivery stands. */
  onTried(status: Delivery['status']): void
  disable(turn: Turn, reason: DisabledReason): Promise<unknown>
  /** Of the process: no further attempt begins. */
  stopping: AbortSignal
  retrySeconds?: readonly number[]
}

/** Sends a webhook what waits for it, event by event, for a while. */
export async function deliver(parts: DeliveryParts, turn: Turn): Promise<Outcome> {
  const claimed = await parts.positions.claim(turn)
  if (!claimed) return 'nothing waits'
  if (claimed.waitSeconds > 0) return { afterSeconds: claimed.waitSeconds }
  return new DeliveryTurn(parts, claimed, await secretsOf(parts.masterKey, claimed)).run()
}

class DeliveryTurn {
  readonly #parts: DeliveryParts
  readonly #webhook: Claimed
  readonly #secrets: string[]
  readonly #until = performance.now() + turnMs
  #sequence: number
  #writtenSequence: number
  #attempts: number
  #unwritten: Delivery[] = []
  #writtenAt = performance.now()

  constructor(parts: DeliveryParts, webhook: Claimed, secrets: string[]) {
    this.#parts = parts
    this.#webhook = webhook
    this.#secrets = secrets
    this.#sequence = webhook.sequence
    this.#writtenSequence = webhook.sequence
    this.#attempts = webhook.attempts
  }

  async run(): Promise<Outcome> {
    for (;;) {
      const { events, through, atEnd } = await readEvents(this.#parts.journal, { ...this.#webhook, after: this.#sequence })
      for (const event of events) {
        if (this.#isOver()) return this.#leave()
        const outcome = await this.#deliver(event)
        if (outcome !== 'next') return outcome
      }
      this.#sequence = through
      if ((atEnd || this.#isDue()) && !(await this.#write())) return { afterSeconds: 0 }
      if (atEnd) return 'nothing waits'
      if (this.#isOver()) return this.#leave()
    }
  }

  #isOver(): boolean {
    return this.#parts.stopping.aborted || performance.now() > this.#until
  }

  /** `next` where the turn goes on behind this event. */
  async #deliver(event: OutgoingEvent): Promise<Outcome | 'next'> {
    const { outbound, stopping } = this.#parts
    const { url } = this.#webhook
    const tried = await attempt(outbound, { url, secrets: this.#secrets, signal: stopping }, event)
    // It may have arrived or not: it is sent again, and the attempt does not count.
    if (stopping.aborted && tried.responseStatus === null) return this.#leave()
    const delivery = await this.#deliveryOf(event, tried)
    if (!succeeded(tried)) return this.#fail(event, delivery)
    this.#parts.onTried('delivered')
    this.#unwritten.push(delivery)
    this.#sequence = event.sequence
    this.#attempts = 0
    return this.#isDue() && !(await this.#write()) ? { afterSeconds: 0 } : 'next'
  }

  async #deliveryOf({ eventId, type, sequence }: OutgoingEvent, tried: Attempt): Promise<Delivery> {
    const known = this.#attempts > 0 ? await this.#parts.positions.pending(this.#webhook) : undefined
    return {
      deliveryId: known ?? newId('dlv'),
      sequence,
      eventId,
      type,
      status: 'delivered',
      attempts: this.#attempts + 1,
      nextSeconds: null,
      ...tried,
    }
  }

  async #fail(event: OutgoingEvent, delivery: Delivery): Promise<Outcome> {
    if (!(await this.#write())) return { afterSeconds: 0 }
    const { positions, disable, retrySeconds: schedule = retrySeconds } = this.#parts
    const isGone = delivery.responseStatus === 410
    const wait = isGone ? undefined : schedule[this.#attempts]
    const next = {
      // It is there for when the webhook is enabled again.
      sequence: wait === undefined && !isGone ? event.sequence : this.#sequence,
      attempts: wait === undefined ? 0 : delivery.attempts,
      seconds: wait ?? null,
    }
    const failed: Delivery = { ...delivery, status: wait === undefined ? 'failed' : 'pending', nextSeconds: next.seconds }
    this.#parts.onTried(failed.status)
    const days = await positions.fail(this.#webhook, next, failed)
    if (days === undefined) return { afterSeconds: 0 }
    if (isGone || days >= mostFailingDays) {
      await disable(this.#webhook, isGone ? 'gone' : 'failing')
      return 'nothing waits'
    }
    return { afterSeconds: wait ?? 0 }
  }

  async #leave(): Promise<Outcome> {
    await this.#write()
    return { afterSeconds: 0 }
  }

  #isDue(): boolean {
    return performance.now() - this.#writtenAt > unwrittenMs || this.#unwritten.length >= unwrittenEvents
  }

  /** False where the webhook is another's by now. */
  async #write(): Promise<boolean> {
    const deliveries = this.#unwritten
    this.#unwritten = []
    this.#writtenAt = performance.now()
    if (this.#sequence === this.#writtenSequence) return true
    this.#writtenSequence = this.#sequence
    return this.#parts.positions.advance(this.#webhook, this.#sequence, deliveries)
  }
}

async function secretsOf(masterKey: MasterKey, { webhookId, secret, previousSecret }: Claimed): Promise<string[]> {
  const label = webhookSecretLabel(webhookId)
  const sealed = previousSecret ? [secret, previousSecret] : [secret]
  return Promise.all(sealed.map(async (each) => (await masterKey.decrypt(each, label)).toString()))
}
