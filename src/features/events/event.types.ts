import { ArgsType, Field, ID, Int, ObjectType } from 'type-graphql'
import { Optional, Rule, Whole } from '../../api/graphql/rules.js'
import { JsonObjectScalar, LongScalar } from '../../api/graphql/scalars.js'
import { type EventType, eventTypes } from '../../ledger/event-types.js'

@ObjectType({ simpleResolvers: true, description: 'A change of the tenant, or a verdict on a file.' })
export class Event {
  @Field(() => LongScalar, { description: 'Its place in the journal, from 1, without a gap, in the order of commits.' })
  sequence!: number
  @Field(() => ID, { description: 'Shape evt_….' })
  eventId!: string
  @Field(() => String, { description: 'Such as file.accepted.' })
  type!: string
  @Field(() => Date, { description: 'When it was committed.' })
  occurredAt!: Date
  @Field(() => JsonObjectScalar, { description: 'What changed, and who changed it; for a verdict, the file.' })
  data!: Record<string, unknown>
}

@ObjectType({ simpleResolvers: true, description: 'Events behind a place in the journal.' })
export class EventPage {
  @Field(() => [Event], { description: 'In ascending order.' })
  data!: Event[]
  @Field(() => LongScalar, { description: 'How many events the journal has.' })
  lastSequence!: number
}

const known = Object.keys(eventTypes) as EventType[]
const kinds = [...new Set(known.map((type) => `${type.slice(0, type.indexOf('.'))}.*`))]
const mostTypes = 50

const isType = (value: unknown): boolean => value === '*' || kinds.includes(value as string) || known.includes(value as EventType)

/** The types that names and kinds such as `file.*` stand for; null for all. */
export const typesOf = (names: readonly string[] | null | undefined): EventType[] | null =>
  !names || names.includes('*')
    ? null
    : known.filter((type) => names.includes(type) || names.includes(`${type.slice(0, type.indexOf('.'))}.*`))

/** A list of types of events: names, kinds such as `file.*`, or `*`. */
export const EventTypes = () =>
  Rule(
    (value) => Array.isArray(value) && value.length > 0 && value.length <= mostTypes && value.every(isType),
    `must name types of events, each one of *, ${[...kinds, ...known].join(', ')}`,
    { minItems: 1, maxItems: mostTypes },
  )

@ArgsType()
export class EventsArgs {
  @Field(() => LongScalar, { defaultValue: 0, description: 'What follows this place in the journal; 0: from the beginning.' })
  @Whole(0, Number.MAX_SAFE_INTEGER)
  after!: number

  @Field(() => [String], {
    nullable: true,
    description: 'Only these types; file.* stands for all of a kind. All types where it is left out.',
  })
  @Optional()
  @EventTypes()
  types?: string[] | null
}

@ArgsType()
export class EventPageArgs extends EventsArgs {
  @Field(() => Int, { defaultValue: 100, description: 'How many: 1 to 1000.' })
  @Whole(1, 1000)
  limit!: number
}
