import { gql } from '@urql/core'
import type { initGraphQLTada } from 'gql.tada'
import type { introspection } from '../generated/schema.js'

interface Configuration {
  introspection: introspection
  scalars: { DateTime: string; Long: number; JSONObject: Record<string, unknown>; Upload: never }
  disableMasking: true
}

/** Documents with the types of their answers, from schema.graphql. Types are all that is taken of gql.tada: urql reads the text. */
export const graphql = gql as unknown as ReturnType<typeof initGraphQLTada<Configuration>>

export type { ResultOf, VariablesOf } from 'gql.tada'
