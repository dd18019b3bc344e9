import 'reflect-metadata'
import { type GraphQLSchema, getNullableType, isObjectType, lexicographicSortSchema, printSchema } from 'graphql'
import { buildSchemaSync, type NonEmptyArray } from 'type-graphql'
import type { Endpoint } from '../../access/endpoint.js'
import { createArgumentValidator, type FindErrors } from './rules.js'
import { DateTimeScalar } from './scalars.js'

/** Builds the schema from resolver instances. type-graphql uses the map of instances as its container. */
export function buildSchema(resolvers: object[], findSettingsErrors?: FindErrors): GraphQLSchema {
  const instances = new Map<unknown, object>(resolvers.map((resolver) => [resolver.constructor, resolver]))
  const schema = buildSchemaSync({
    resolvers: [...instances.keys()] as NonEmptyArray<new () => object>,
    container: instances,
    validateFn: createArgumentValidator(findSettingsErrors),
    validate: false,
    // Skips type-graphql's schema check, because validating the first document also checks the schema.
    skipCheck: true,
    // type-graphql requires this option for subscriptions. It is never used, because subscriptions read events from their root
    // value.
    pubSub: {
      publish: () => {},
      subscribe: () => {
        throw new Error('The service does not use PubSub topics.')
      },
    },
    scalarsMap: [{ type: Date, scalar: DateTimeScalar }],
  })
  makeRootFieldsNullable(schema)
  addAccessDescriptions(schema)
  return schema
}

// Makes all root fields nullable, because any of them can be rejected. Otherwise, one rejected field would discard the results of
// all other fields, such as the secret of a new API key.
function makeRootFieldsNullable(schema: GraphQLSchema): void {
  for (const root of [schema.getQueryType(), schema.getMutationType()])
    for (const field of Object.values(root?.getFields() ?? {})) field.type = getNullableType(field.type)
}

/** Returns sentences that describe the required credential. */
export const describeRequiredAccess = ({ access, tenantWide }: Endpoint): string =>
  [
    access === 'public'
      ? 'Requires no credential.'
      : access === 'any'
        ? 'Available with any valid credential.'
        : `Requires the \`${access}\` scope.`,
    ...(tenantWide ? ['Rejects API keys that are restricted to certain contexts.'] : []),
  ].join(' ')

/** Descriptions of the root types, which have no class in the code. */
const rootTypes: Record<string, string> = {
  Query: 'Operations that read data. Each description states the required credential and scope.',
  Mutation: 'Operations that change data. Mutations in one request run sequentially.',
  Subscription: 'Event streams over a WebSocket (graphql-transport-ws). Send the credential in `connection_init`.',
}

// Appends the required scope to the description of each field.
function addAccessDescriptions(schema: GraphQLSchema): void {
  for (const [name, description] of Object.entries(rootTypes)) schema.getType(name)!.description = description
  const fields = Object.values(schema.getTypeMap())
    .filter(isObjectType)
    .flatMap((type) => Object.values(type.getFields()))
  for (const field of fields) {
    const endpoint = field.extensions.endpoint as Endpoint | undefined
    if (endpoint) field.description = `${field.description} ${describeRequiredAccess(endpoint)}`
  }
}

/** Returns the content of schema.graphql. Types are sorted, so that moved declarations cause no diff. */
export const formatSchema = (schema: GraphQLSchema): string => `${printSchema(lexicographicSortSchema(schema))}\n`
