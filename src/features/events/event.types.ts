import { ID, Int } from 'type-graphql'
import { AsNodeId } from '../../api/graphql/node.js'
import { IntegerRange, Rule } from '../../api/graphql/rules.js'
import { JsonObjectScalar, LongScalar } from '../../api/graphql/scalars.js'
import { argsType, extendArgs, field, objectType, optional, withDefault } from '../../api/graphql/type-declarations.js'
import { type EventType, eventTypes } from '../../ledger/event-types.js'

export const Event = objectType('Event', "A change to the tenant's data, or a verdict on an uploaded file.", {
  sequence: field(
    LongScalar,
    'Position of the event in the journal, starting at 1. Positions have no gaps and follow the commit order.',
    AsNodeId(),
  ),
  eventId: field(ID, 'ID of the event: `evt_` followed by a ULID.'),
  type: field(String, 'Type of the event, such as `file.accepted`.'),
  occurredAt: field(Date, 'Time at which the event was committed.'),
  data: field(JsonObjectScalar, 'Event data: the changes and the actor that made them, or the validated file.'),
})
export type Event = InstanceType<typeof Event>

export const EventPage = objectType('EventPage', 'A page of events that follow a journal position.', {
  data: field([Event], 'Events in ascending order of `sequence`.'),
  lastSequence: field(LongScalar, 'Sequence number of the last event in the journal.'),
})
export type EventPage = InstanceType<typeof EventPage>

const known = Object.keys(eventTypes) as EventType[]
const kinds = [...new Set(known.map((type) => `${type.slice(0, type.indexOf('.'))}.*`))]
const maxTypes = 50

const isEventType = (value: unknown): boolean =>
  value === '*' || kinds.includes(value as string) || known.includes(value as EventType)

/** Converts event names and wildcards, such as `file.*`, to event types. Null means all types. */
export const toEventTypes = (names: readonly string[] | null | undefined): EventType[] | null =>
  !names || names.includes('*')
    ? null
    : known.filter((type) => names.includes(type) || names.includes(`${type.slice(0, type.indexOf('.'))}.*`))

/** Validates a list of event types, which may contain wildcards such as `file.*` and `*`. */
export const EventTypes = () =>
  Rule(
    (value) => Array.isArray(value) && value.length > 0 && value.length <= maxTypes && value.every(isEventType),
    `must be a list of event types. Valid types: *, ${[...kinds, ...known].join(', ')}`,
    { minItems: 1, maxItems: maxTypes },
  )

export const EventsArgs = argsType({
  after: withDefault(
    LongScalar,
    0,
    'Journal position after which events are returned. 0 starts at the first event.',
    IntegerRange(0, Number.MAX_SAFE_INTEGER),
  ),
  types: optional(
    [String],
    'Event types to return, such as `file.accepted`, or `file.*` for all file events. Null means all types.',
    EventTypes(),
  ),
})
export type EventsArgs = InstanceType<typeof EventsArgs>

export const EventPageArgs = extendArgs(EventsArgs, {
  limit: withDefault(Int, 100, 'Maximum number of events to return, 1 to 1,000.', IntegerRange(1, 1000)),
})
export type EventPageArgs = InstanceType<typeof EventPageArgs>
