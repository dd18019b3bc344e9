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
import { type Fault, faultOf } from './fault.js'

/** How often the service has refused this session since the page was opened. */
export const refusedSession = signal(0)

/** Changes whenever all that is shown must be asked anew: another user, or back on line. */
export const generation = signal(0)

/** Goes along with whatever the cookie is to count for. */
export const sign = { 'X-Assay-Request': 'dashboard' }

function makeClient(): Client {
  const made: Client = new Client({
    url: '/graphql',
    preferGetMethod: false,
    // What an earlier session is refused says nothing of this one.
    exchanges: [mapExchange({ onError: (error) => made === client && noteRefusal(error) }), cacheExchange, fetchExchange],
    fetchOptions: { headers: sign, credentials: 'same-origin' },
  })
  return made
}

function noteRefusal(error: CombinedError): void {
  if (faultOf(error).code === 'UNAUTHENTICATED') refusedSession.value++
}

export let client = makeClient()

/** Another user must not see what was kept for the one before. */
export function forgetAnswers(): void {
  client = makeClient()
  generation.value++
}

/** What lists show is asked anew. */
export const forgetLists = (): void => {
  generation.value++
}

addEventListener('online', () => generation.value++)

/** Does something, and gives its answer or the fault. */
export async function change<Data, Variables extends AnyVariables>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
): Promise<{ data: Data; fault?: undefined } | { data?: undefined; fault: Fault }> {
  const { data, error } = await client.mutation(document, variables).toPromise()
  return error || !data ? { fault: faultOf(error) } : { data }
}
