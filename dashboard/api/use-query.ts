import { useSignal } from '@preact/signals'
import type { AnyVariables, TypedDocumentNode } from '@urql/core'
import { useEffect } from 'preact/hooks'
import { client, generation } from './client.js'
import { type Fault, faultOf } from './fault.js'

export interface Answer<Data> {
  /** What was answered last; while other variables are asked for, what those before gave. */
  data: Data | undefined
  fault: Fault | undefined
  /** Nothing can be shown yet. */
  isFirst: boolean
  /** What is shown is being asked anew. */
  isAsking: boolean
  again(): void
}

interface Options {
  /** Asks again so often, while the page is looked at. */
  everyMs?: number
  /** Where not, nothing is asked. */
  when?: boolean
}

/** What a document gives now: from memory at once where it was asked before, and from the service. */
export function useQuery<Data, Variables extends AnyVariables>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  { everyMs, when = true }: Options = {},
): Answer<Data> {
  const state = useSignal<{ data?: Data; fault?: Fault; isAsking: boolean }>({ isAsking: when })
  const round = useSignal(0)
  const key = JSON.stringify(variables)
  useEffect(() => {
    if (!when) return
    state.value = { ...state.peek(), isAsking: true }
    const requestPolicy = round.value > 0 ? 'network-only' : 'cache-and-network'
    const { unsubscribe } = client.query(document, variables, { requestPolicy }).subscribe(({ data, error, stale }) => {
      // A field that was refused leaves the others of the answer standing.
      state.value = {
        ...(data !== undefined && data !== null ? { data } : keep(state.peek().data)),
        ...(error && { fault: faultOf(error) }),
        isAsking: stale,
      }
    })
    return unsubscribe
  }, [document, key, when, round.value, generation.value])
  useEffect(() => (everyMs && when ? whileSeen(everyMs, () => round.value++) : undefined), [everyMs, when])
  const { data, fault, isAsking } = state.value
  return { data, fault, isAsking, isFirst: data === undefined && fault === undefined, again: () => round.value++ }
}

const keep = <Data>(data: Data | undefined) => (data === undefined ? {} : { data })

function whileSeen(everyMs: number, work: () => void): () => void {
  const timer = setInterval(() => {
    if (document.visibilityState === 'visible' && navigator.onLine) work()
  }, everyMs)
  const onSeen = () => document.visibilityState === 'visible' && work()
  document.addEventListener('visibilitychange', onSeen)
  return () => {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', onSeen)
  }
}
