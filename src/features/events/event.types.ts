import { ArgsType, Field, ID, Int, NullableField, OutputType } from '../../api/graphql/decorators.js'
import { AsNodeId } from '../../api/graphql/node.js'
import { IntegerRange, Rule } from '../../api/graphql/rules.js'
import { JsonObjectScalar, LongScalar } from '../../api/graphql/scalars.js'
import { type EventType, eventTypes } from '../../ledger/event-types.js'

@OutputType("A change to the tenant's data, or a verdict on an uploaded file.")
export class Event {
  @AsNodeId()
  @Field(
    () => LongScalar,
    'Position of the event in the journal, starting at 1. Positions have no gaps and follow the commit order.',
  )
  sequence!: number
  @Field(() => ID, 'ID of the event: `evt_` followed by a ULID.')
  eventId!: string
  @Field(() => String, 'Type of the event, such as `file.accepted`.')
  type!: string
  @Field(() => Date, 'Time at which the event was committed.')
  occurredAt!: Date
  @Field(() => JsonObjectScalar, 'Event data: the changes and the actor that made them, or the validated file.')
  data!: Record<string, unknown>
}

@OutputType('A page of events that follow a journal position.')
export class EventPage {
  @Field(() => [Event], 'Events in ascending order of `sequence`.')
  data!: Event[]
  @Field(() => LongScalar, 'Sequence number of the last event in the journal.')
  lastSequence!: number
}

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

@ArgsType()
export class EventsArgs {
  @Field(() => LongScalar, 'Journal position after which events are returned. 0 starts at the first event.', { defaultValue: 0 })
  @IntegerRange(0, Number.MAX_SAFE_INTEGER)
  after!: number

  @NullableField(
    () => [String],
    'Event types to return, such as `file.accepted`, or `file.*` for all file events. Null means all types.',
  )
  @EventTypes()
  types?: string[] | null
}

@ArgsType()
export class EventPageArgs extends EventsArgs {
  @Field(() => Int, 'Maximum number of events to return, 1 to 1,000.', { defaultValue: 100 })
  @IntegerRange(1, 1000)
  limit!: number
}
