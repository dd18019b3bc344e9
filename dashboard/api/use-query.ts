import { useSignal } from '@preact/signals'
import type { AnyVariables, TypedDocumentNode } from '@urql/core'
import { useEffect } from 'preact/hooks'
import { type ApiError, toApiError } from './api-error.js'
import { client, reloadCount } from './client.js'

export interface QueryState<Data> {
  /** What was answered last; while other variables are asked for, what those before gave. */
  data: Data | undefined
  error: ApiError | undefined
  /** Nothing can be shown yet. */
  isLoading: boolean
  /** What is shown is being asked anew. */
  isRefreshing: boolean
  reload(): void
}

interface Options {
  /** Asks again so often, while the page is looked at. */
  pollIntervalMs?: number
  /** Where not, nothing is asked. */
  isEnabled?: boolean
}

/** What a document gives now: from memory at once where it was asked before, and from the service. */
export function useQuery<Data, Variables extends AnyVariables>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  { pollIntervalMs, isEnabled = true }: Options = {},
): QueryState<Data> {
  const state = useSignal<{ data?: Data; error?: ApiError; isRefreshing: boolean }>({ isRefreshing: isEnabled })
  const requestCount = useSignal(0)
  const key = JSON.stringify(variables)
  useEffect(() => {
    if (!isEnabled) return
    state.value = { ...state.peek(), isRefreshing: true }
    const requestPolicy = requestCount.value > 0 ? 'network-only' : 'cache-and-network'
    const { unsubscribe } = client
      .query(document, variables, { requestPolicy })
      .subscribe(({ data, error: queryError, stale }) => {
        // A field that was refused leaves the others of the answer standing.
        state.value = {
          ...(data !== undefined && data !== null ? { data } : keepData(state.peek().data)),
          ...(queryError && { error: toApiError(queryError) }),
          isRefreshing: stale,
        }
      })
    return unsubscribe
  }, [document, key, isEnabled, requestCount.value, reloadCount.value])
  useEffect(
    () => (pollIntervalMs && isEnabled ? pollWhileVisible(pollIntervalMs, () => requestCount.value++) : undefined),
    [pollIntervalMs, isEnabled],
  )
  const { data, error, isRefreshing } = state.value
  return {
    data,
    error,
    isRefreshing,
    isLoading: data === undefined && error === undefined,
    reload: () => requestCount.value++,
  }
}

const keepData = <Data>(data: Data | undefined) => (data === undefined ? {} : { data })

function pollWhileVisible(pollIntervalMs: number, poll: () => void): () => void {
  const timer = setInterval(() => {
    if (document.visibilityState === 'visible' && navigator.onLine) poll()
  }, pollIntervalMs)
  const onVisibilityChange = () => document.visibilityState === 'visible' && poll()
  document.addEventListener('visibilitychange', onVisibilityChange)
  return () => {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', onVisibilityChange)
  }
}
