import 'reflect-metadata'
import { type GraphQLSchema, getNullableType, lexicographicSortSchema, printSchema } from 'graphql'
import { buildSchemaSync, type NonEmptyArray } from 'type-graphql'
import { argumentValidator, type FaultsOf } from './rules.js'
import { DateTimeScalar } from './scalars.js'

/** Builds the schema from the instances of the resolvers. The map of the instances is type-graphql's container. */
export function buildSchema(resolvers: object[], faultsOfSettings?: FaultsOf): GraphQLSchema {
  const instances = new Map<unknown, object>(resolvers.map((resolver) => [resolver.constructor, resolver]))
  const schema = buildSchemaSync({
    resolvers: [...instances.keys()] as NonEmptyArray<new () => object>,
    // type-graphql creates the classes of field resolvers itself and does not request them here.
    container: instances,
    validateFn: argumentValidator(faultsOfSettings),
    validate: false,
    // It would run an introspection to see whether the schema is sound, which the first validation of a document asks, too.
    skipCheck: true,
    // Where events come from is what a subscription runs on: its root value.
    pubSub: {
      publish: () => {},
      subscribe: () => {
        throw new Error('No topics are published here.')
      },
    },
    scalarsMap: [{ type: Date, scalar: DateTimeScalar }],
  })
  freeRootFields(schema)
  return schema
}

// Any root field can be refused, for its scope or an unknown id. Were it not nullable, its refusal would take away what the others
// beside it answered, such as the secret of a key that was just made.
function freeRootFields(schema: GraphQLSchema): void {
  for (const root of [schema.getQueryType(), schema.getMutationType()])
    for (const field of Object.values(root?.getFields() ?? {})) field.type = getNullableType(field.type)
}

/** The text of schema.graphql: sorted, so that its diffs show changes and not moves. */
export const schemaText = (schema: GraphQLSchema): string => `${printSchema(lexicographicSortSchema(schema))}\n`
