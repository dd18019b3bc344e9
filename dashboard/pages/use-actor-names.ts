import { graphql } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { hasScope } from '../session.js'

const actorsDocument = graphql(`
  query ActorNames {
    users(pageSize: 100) { data { id name } }
    apiKeys(pageSize: 100) { data { id name } }
  }
`)

/** Returns a function that maps the id of a user or API key to its name. Unknown ids stay unchanged. Requires the `admin` scope. */
export function useActorNames(): (id: string) => string {
  const { data } = useQuery(actorsDocument, {}, { isEnabled: hasScope('admin') })
  const names = new Map([...(data?.users?.data ?? []), ...(data?.apiKeys?.data ?? [])].map(({ id, name }) => [id, name]))
  return (id) => names.get(id) ?? id
}
