import { gql } from '@urql/core'
import type { initGraphQLTada } from 'gql.tada'
import type { introspection } from '../generated/schema.js'

interface Configuration {
  introspection: introspection
  scalars: { DateTime: string; Long: number; JSONObject: Record<string, unknown>; Upload: never }
  disableMasking: true
}

/** Parses a GraphQL document. gql.tada derives the types of its result from schema.graphql. */
export const graphql = gql as unknown as ReturnType<typeof initGraphQLTada<Configuration>>

export type { ResultOf, VariablesOf } from 'gql.tada'
