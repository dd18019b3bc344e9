import type { JournalService } from '../../ledger/journal.service.js'
import { typesOf } from '../events/event.types.js'

/** An event of the journal as it is sent. */
export interface OutgoingEvent {
  sequence: number
  eventId: string
  type: string
  body: Buffer
}

interface Reader {
  tenantId: string
  webhookId: string
  types: readonly string[]
  contexts: readonly string[]
  after: number
}

// Each webhook that is being delivered to holds so many of at most 64 KiB.
const eventsAtOnce = 20

/** The next events for a webhook, how far the journal was looked through for them, and whether that is its end. */
export async function readEvents(
  journal: JournalService,
  { tenantId, webhookId, types, contexts, after }: Reader,
): Promise<{ events: OutgoingEvent[]; through: number; atEnd: boolean }> {
  const page = await journal.page({
    tenantId,
    after,
    types: typesOf(types),
    contexts: contexts.length > 0 ? contexts : null,
    limit: eventsAtOnce,
  })
  const events = page.events.map(({ entry }) => outgoing(entry)).filter((event) => !isItsBeginning(event, webhookId))
  return { events, through: page.through, atEnd: page.through >= page.lastSequence }
}

/** What is sent of an event: Standard Webhooks' `type`, `timestamp` and `data`, which has the event's `sequence` too. */
export function outgoing(entry: string): OutgoingEvent & { data: Record<string, unknown> } {
  const { type, occurred_at, event_id, sequence, data } = JSON.parse(entry)
  const body = Buffer.from(JSON.stringify({ type, timestamp: occurred_at, data: { ...data, sequence } }))
  return { sequence, eventId: event_id, type, body, data }
}

/** A webhook begins with what comes after it. */
const isItsBeginning = ({ type, data }: ReturnType<typeof outgoing>, webhookId: string): boolean =>
  type === 'webhook.created' && data.webhook_id === webhookId
