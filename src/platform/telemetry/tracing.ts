import { AsyncLocalStorage } from 'node:async_hooks'
import type { Span, Tracing } from './span.js'

const current = new AsyncLocalStorage<Span>()

/** Runs `work` as a part of `span`. */
export const inSpan = <T>(span: Span, work: () => T): T => current.run(span, work)

/** Times `work` as a span of the request that asks for it; outside of a traced request, `work` alone. */
export function traced<T>(name: string, work: () => Promise<T>): Promise<T> {
  const parent = current.getStore()
  return parent ? timed(parent.child(name), work) : work()
}

async function timed<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    const result = await current.run(span, work)
    span.end()
    return result
  } catch (error) {
    span.end(error)
    throw error
  }
}

/** The headers that carry the trace on to another service. */
export function traceHeaders(): { traceparent?: string } {
  const span = current.getStore()
  return span ? { traceparent: span.traceparent } : {}
}

/** Spans to the collector at `endpoint`; undefined, and nothing of it loaded, where there is none. */
export async function openTracing(endpoint: string | undefined): Promise<Tracing | undefined> {
  if (endpoint === undefined) return undefined
  const { openOtlp } = await import('./otlp.js')
  return openOtlp(endpoint)
}
