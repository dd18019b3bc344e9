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

/** Number of `UNAUTHENTICATED` errors since the page was opened. */
export const unauthenticatedCount = signal(0)

/** All queries reload when this counter changes, for example after a mutation or a reconnection. */
export const reloadCount = signal(0)

/** The service accepts the session cookie only with this header. HTML forms cannot send it, which prevents CSRF. */
export const dashboardHeaders = { 'X-Assay-Request': 'dashboard' }

function createClient(): Client {
  const created: Client = new Client({
    url: '/graphql',
    preferGetMethod: false,
    // Do not count errors from requests of an earlier session.
    exchanges: [
      mapExchange({ onError: (error) => created === client && countUnauthenticatedError(error) }),
      cacheExchange,
      fetchExchange,
    ],
    fetchOptions: { headers: dashboardHeaders, credentials: 'same-origin' },
  })
  return created
}

function countUnauthenticatedError(error: CombinedError): void {
  if (toApiError(error).code === 'UNAUTHENTICATED') unauthenticatedCount.value++
}

export let client = createClient()

/** Clears the cache, so that a new user does not see the previous user's data. */
export function clearCache(): void {
  client = createClient()
  reloadCount.value++
}

export const reloadData = (): void => {
  reloadCount.value++
}

addEventListener('online', () => reloadCount.value++)

export async function mutate<Data, Variables extends AnyVariables>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
): Promise<{ data: Data; error?: undefined } | { data?: undefined; error: ApiError }> {
  const { data, error: queryError } = await client.mutation(document, variables).toPromise()
  return queryError || !data ? { error: toApiError(queryError) } : { data }
}
