import 'reflect-metadata'
import { type GraphQLSchema, getNullableType, isObjectType, lexicographicSortSchema, printSchema } from 'graphql'
import { buildSchemaSync, type NonEmptyArray } from 'type-graphql'
import type { Endpoint } from '../../access/endpoint.js'
import { argumentValidator, type FindErrors } from './rules.js'
import { DateTimeScalar } from './scalars.js'

/** Builds the schema from the instances of the resolvers. The map of the instances is type-graphql's container. */
export function buildSchema(resolvers: object[], findSettingsErrors?: FindErrors): GraphQLSchema {
  const instances = new Map<unknown, object>(resolvers.map((resolver) => [resolver.constructor, resolver]))
  const schema = buildSchemaSync({
    resolvers: [...instances.keys()] as NonEmptyArray<new () => object>,
    // type-graphql creates the classes of field resolvers itself and does not request them here.
    container: instances,
    validateFn: argumentValidator(findSettingsErrors),
    validate: false,
    // It would run an introspection to see whether the schema is sound, which the first validation of a document asks, too.
    skipCheck: true,
    // Subscriptions read events from their root value, so that no topics are needed.
    pubSub: {
      publish: () => {},
      subscribe: () => {
        throw new Error('No topics are published here.')
      },
    },
    scalarsMap: [{ type: Date, scalar: DateTimeScalar }],
  })
  freeRootFields(schema)
  describeAccess(schema)
  return schema
}

// Any root field can be refused, for its scope or an unknown id. Were it not nullable, its refusal would take away what the others
// beside it answered, such as the secret of a key that was just made.
function freeRootFields(schema: GraphQLSchema): void {
  for (const root of [schema.getQueryType(), schema.getMutationType()])
    for (const field of Object.values(root?.getFields() ?? {})) field.type = getNullableType(field.type)
}

/** Sentences that state the required credential. */
export const accessText = ({ access, tenantWide }: Endpoint): string =>
  [
    access === 'public'
      ? 'Requires no credential.'
      : access === 'any'
        ? 'Accepts any valid credential.'
        : `Requires scope \`${access}\`.`,
    ...(tenantWide ? ['Rejects API keys that are restricted to contexts.'] : []),
  ].join(' ')

// Appends the required scope to descriptions, from the declaration of each field.
function describeAccess(schema: GraphQLSchema): void {
  const fields = Object.values(schema.getTypeMap())
    .filter(isObjectType)
    .flatMap((type) => Object.values(type.getFields()))
  for (const field of fields) {
    const endpoint = field.extensions.endpoint as Endpoint | undefined
    if (endpoint) field.description = `${field.description} ${accessText(endpoint)}`
  }
}

/** The text of schema.graphql: sorted, so that its diffs show changes and not moves. */
export const schemaText = (schema: GraphQLSchema): string => `${printSchema(lexicographicSortSchema(schema))}\n`
