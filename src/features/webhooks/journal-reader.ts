import type { JournalService } from '../../ledger/journal.service.js'
import { toEventTypes } from '../events/event.types.js'
import type { LeasedWebhook } from './webhook-positions.js'

/** A journal event in the format of a webhook delivery. */
export interface OutgoingEvent {
  sequence: number
  eventId: string
  type: string
  body: Buffer
}

// Maximum number of events in memory per delivery turn. An event has up to 64 KiB.
const eventsAtOnce = 20

/**
 * Returns the next events for a webhook. `through` is the position of the last event read. `atEnd` is true if there are no
 * further events.
 */
export async function readEvents(
  journal: JournalService,
  { tenantId, webhookId, types, contexts }: LeasedWebhook,
  after: number,
): Promise<{ events: OutgoingEvent[]; through: number; atEnd: boolean }> {
  const page = await journal.readPage({
    tenantId,
    after,
    types: toEventTypes(types),
    contexts: contexts.length > 0 ? contexts : null,
    limit: eventsAtOnce,
  })
  const events = page.events.map(({ entry }) => toOutgoingEvent(entry)).filter((event) => !isWebhookCreation(event, webhookId))
  return { events, through: page.through, atEnd: page.through >= page.lastSequence }
}

/**
 * Converts a journal entry to a delivery body, with `type`, `timestamp` and `data` as specified by Standard Webhooks. `data` also
 * contains the `sequence`.
 */
export function toOutgoingEvent(entry: string): OutgoingEvent & { data: Record<string, unknown> } {
  const { type, occurred_at, event_id, sequence, data } = JSON.parse(entry)
  const body = Buffer.from(JSON.stringify({ type, timestamp: occurred_at, data: { ...data, sequence } }))
  return { sequence, eventId: event_id, type, body, data }
}

/** Returns true if the event is the creation of the receiving webhook, which is not sent to it. */
const isWebhookCreation = ({ type, data }: ReturnType<typeof toOutgoingEvent>, webhookId: string): boolean =>
  type === 'webhook.created' && data.webhook_id === webhookId
