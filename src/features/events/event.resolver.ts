import type { Call } from '../../access/call.js'
import { Args, Extensions, Query, Resolver, Root, Subscription } from '../../api/graphql/decorators.js'
import { CurrentActor, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import { type EventService, eventsEndpoint } from './event.service.js'
import { Event, EventPage, EventPageArgs, EventsArgs } from './event.types.js'

export interface EventSource {
  events(call: Call, args: Partial<EventsArgs>): Promise<AsyncIterableIterator<Event>>
}

@Resolver()
export class EventResolver {
  constructor(private readonly service: EventService) {}

  @Requires('admin', { tenantWide: true })
  @Query(() => EventPage, "Lists the tenant's events after a journal position, in commit order.")
  events(@CurrentActor() actor: Actor, @Args(() => EventPageArgs) args: EventPageArgs) {
    return this.service.getPage(actor, args)
  }

  @Extensions({ endpoint: eventsEndpoint })
  @Subscription(() => Event, {
    description:
      "Streams the tenant's events after a journal position, then each new event. Use graphql-transport-ws on `/graphql`.",
    name: 'events',
    subscribe: ({ source, args, context }) => (source as EventSource).events(context as Call, args),
  })
  event(@Root() event: Event, @Args(() => EventsArgs) _args: EventsArgs): Event {
    return event
  }
}
