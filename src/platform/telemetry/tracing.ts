import { AsyncLocalStorage } from 'node:async_hooks'
import type { Span, Tracing } from './span.js'

const current = new AsyncLocalStorage<Span>()

/** Makes `span` the parent of all spans that `work` starts. */
export const withActiveSpan = <T>(span: Span, work: () => T): T => current.run(span, work)

/** Runs `work` in a child of the current span. If there is no current span, runs `work` without tracing. */
export function withSpan<T>(name: string, work: () => Promise<T>): Promise<T> {
  const parent = current.getStore()
  return parent ? runAndEndSpan(parent.startChild(name), work) : work()
}

async function runAndEndSpan<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    const result = await current.run(span, work)
    span.end()
    return result
  } catch (error) {
    span.end(error)
    throw error
  }
}

/** Returns the headers that continue the trace in another service. */
export function getTraceHeaders(): { traceparent?: string } {
  const span = current.getStore()
  return span ? { traceparent: span.traceparent } : {}
}

/** Opens the connection to the collector. Loads no tracing modules if `endpoint` is undefined. */
export async function openTracing(endpoint: string | undefined): Promise<Tracing | undefined> {
  if (endpoint === undefined) return undefined
  const { openOtlp } = await import('./otlp.js')
  return openOtlp(endpoint)
}
