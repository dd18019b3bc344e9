import { graphql } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'

const contextsDocument = graphql(`
  query ContextNames {
    contexts(pageSize: 100) {
      data { id contextKey displayName status allowedExtensions maxFileSizeMb rejectBlankFiles rejectCorruptFiles scanForViruses }
    }
  }
`)

/** Loads the contexts for select fields. At most 100. */
export function useContexts() {
  const result = useQuery(contextsDocument, {})
  return { ...result, list: result.data?.contexts?.data ?? [] }
}
