import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { graphql } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'

const contextsDocument = graphql(`
  query ContextNames {
    contexts(pageSize: 100) {
      data { id contextKey displayName status allowedExtensions maxFileSizeMb rejectBlankFiles rejectCorruptFiles scanForViruses }
    }
  }
`)

/** Names of all contexts loaded so far, by context key. */
export const contextNames = signal<ReadonlyMap<string, string>>(new Map())

/** Loads up to 100 contexts for select fields, and their names for lists. */
export function useContexts() {
  const result = useQuery(contextsDocument, {})
  const list = result.data?.contexts?.data
  useEffect(() => {
    if (list) contextNames.value = new Map(list.map(({ contextKey, displayName }) => [contextKey, displayName]))
  }, [list])
  return { ...result, list: list ?? [] }
}
