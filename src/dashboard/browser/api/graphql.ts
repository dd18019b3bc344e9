import { initGraphQLTada } from 'gql.tada'
import type { introspection } from '../generated/schema.js'

/** Documents with the types of their answers, from schema.graphql. */
export const graphql = initGraphQLTada<{
  introspection: introspection
  scalars: { DateTime: string; Long: number; JSONObject: Record<string, unknown>; Upload: never }
  disableMasking: true
}>()

export type { ResultOf, VariablesOf } from 'gql.tada'
