import { signal } from '@preact/signals'
import {
  type AnyVariables,
  Client,
  type CombinedError,
  cacheExchange,
  fetchExchange,
  mapExchange,
  type TypedDocumentNode,
} from '@urql/core'
import { type ApiError, toApiError } from './api-error.js'

/** How often the service has refused this session since the page was opened. */
export const unauthenticatedCount = signal(0)

/** Changes whenever all that is shown must be asked anew: another user, or back on line. */
export const reloadCount = signal(0)

/** Goes along with whatever the cookie is to count for. */
export const dashboardHeaders = { 'X-Assay-Request': 'dashboard' }

function createClient(): Client {
  const created: Client = new Client({
    url: '/graphql',
    preferGetMethod: false,
    // What an earlier session is refused says nothing of this one.
    exchanges: [
      mapExchange({ onError: (error) => created === client && countUnauthenticated(error) }),
      cacheExchange,
      fetchExchange,
    ],
    fetchOptions: { headers: dashboardHeaders, credentials: 'same-origin' },
  })
  return created
}

function countUnauthenticated(error: CombinedError): void {
  if (toApiError(error).code === 'UNAUTHENTICATED') unauthenticatedCount.value++
}

export let client = createClient()

/** Another user must not see what was kept for the one before. */
export function clearCache(): void {
  client = createClient()
  reloadCount.value++
}

/** What lists show is asked anew. */
export const reloadData = (): void => {
  reloadCount.value++
}

addEventListener('online', () => reloadCount.value++)

/** Does something, and gives its answer or the error. */
export async function mutate<Data, Variables extends AnyVariables>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
): Promise<{ data: Data; error?: undefined } | { data?: undefined; error: ApiError }> {
  const { data, error: queryError } = await client.mutation(document, variables).toPromise()
  return queryError || !data ? { error: toApiError(queryError) } : { data }
}
