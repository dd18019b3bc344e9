import { AsyncLocalStorage } from 'node:async_hooks'

type Attributes = Record<string, string | number | boolean>

export interface Span {
  readonly traceId: string
  /** Value of the header that continues the trace in another service: https://www.w3.org/TR/trace-context/ */
  readonly traceparent: string
  startChild(name: string): Span
  setAttributes(attributes: Attributes): void
  end(error?: unknown): void
}

/** Creates spans. Available only if the operator configures a collector. */
export interface Tracing {
  /** Starts the span of a request. A `traceparent` header from the client continues the client's trace. */
  request(name: string, options: { traceparent: string | undefined; attributes: Attributes }): Span
  close(): Promise<void>
}

const current = new AsyncLocalStorage<Span>()

/** Makes `span` the parent of all spans that `work` starts. */
export const withActiveSpan = <T>(span: Span, work: () => T): T => current.run(span, work)

/** Runs `work` in a child of the current span. If there is no current span, runs `work` without tracing. */
export async function withSpan<T>(name: string, work: () => Promise<T>): Promise<T> {
  const span = current.getStore()?.startChild(name)
  if (!span) return work()
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
