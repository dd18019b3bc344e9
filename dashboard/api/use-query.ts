import { useSignal } from '@preact/signals'
import type { AnyVariables, TypedDocumentNode } from '@urql/core'
import { useEffect } from 'preact/hooks'
import { type ApiError, toApiError } from './api-error.js'
import { client, reloadCount } from './client.js'

export interface QueryState<Data> {
  /** Latest data. It stays available while data for new variables is loading. */
  data: Data | undefined
  error: ApiError | undefined
  /** True until the first data or error arrives. */
  isLoading: boolean
  /** True while a request is in progress. */
  isRefreshing: boolean
  reload(): void
}

interface Options {
  /** Interval at which the query is repeated while the tab is visible. */
  pollIntervalMs?: number
  /** If false, the query does not run. Default: true. */
  isEnabled?: boolean
}

/** Runs a query. Returns cached data immediately, then the service's response. */
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
        // Keep the data even if there is an error, because other root fields may have succeeded.
        state.value = {
          ...(data !== undefined && data !== null ? { data } : toDataProperty(state.peek().data)),
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

const toDataProperty = <Data>(data: Data | undefined) => (data === undefined ? {} : { data })

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
