import type { Call } from '../../access/call.js'
import type { Endpoint } from '../../access/endpoint.js'
import { validateArguments } from '../../api/graphql/rules.js'
import type { JournalEvent } from '../../ledger/journal.service.js'
import type { Actor } from '../../platform/actor.js'
import type { Components } from '../components.js'
import { type Event, type EventPage, type EventPageArgs, EventsArgs, toEventTypes } from './event.types.js'

export const eventsEndpoint: Endpoint = { access: 'admin', tenantWide: true }

export class EventService {
  constructor(private readonly parts: Pick<Components, 'journal'>) {}

  async getPage({ tenantId }: Actor, { after, limit, types }: EventPageArgs): Promise<EventPage> {
    const { events, lastSequence } = await this.parts.journal.readPage({ tenantId, after, limit, types: toEventTypes(types) })
    return { data: events.map(toEvent), lastSequence }
  }

  /** Yields batches of committed events until `signal` is aborted. */
  async *follow({ tenantId }: Actor, { after, types }: EventsArgs, signal: AbortSignal): AsyncGenerator<JournalEvent[]> {
    for await (const { events } of this.parts.journal.follow({ tenantId, after, types: toEventTypes(types), signal }))
      if (events.length > 0) yield events
  }

  /** Starts a GraphQL subscription to events. Throws if the call is rejected. */
  subscribe(call: Call, input: Partial<EventsArgs>): Promise<AsyncIterableIterator<Event>> {
    return call.run('events', eventsEndpoint, async ({ actor }) => {
      const args = Object.assign(new EventsArgs(), input)
      validateArguments(call, args, EventsArgs)
      return createAbortableIterator((signal) => flattenBatches(this.follow(actor, args, AbortSignal.any([call.signal, signal]))))
    })
  }
}

function toEvent({ entry }: JournalEvent): Event {
  const { sequence, event_id, type, occurred_at, data } = JSON.parse(entry)
  return { sequence, eventId: event_id, type, occurredAt: new Date(occurred_at), data }
}

/** Aborts the generator before closing it, because `return` would otherwise wait for the next event. */
function createAbortableIterator<T>(start: (signal: AbortSignal) => AsyncGenerator<T>): AsyncIterableIterator<T> {
  const abort = new AbortController()
  const inner = start(abort.signal)
  const abortAndReturn = (value: unknown) => {
    abort.abort()
    return inner.return(value)
  }
  const outer: AsyncIterableIterator<T> = {
    next: () => inner.next(),
    return: abortAndReturn,
    throw: (error) => {
      abort.abort()
      return inner.throw(error)
    },
    [Symbol.asyncIterator]: () => outer,
  }
  return outer
}

async function* flattenBatches(batches: AsyncGenerator<JournalEvent[]>): AsyncGenerator<Event> {
  for await (const batch of batches) for (const event of batch) yield toEvent(event)
}
