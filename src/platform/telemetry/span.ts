export type Attributes = Record<string, string | number | boolean>

/** One piece of work in a trace. */
export interface Span {
  readonly traceId: string
  /** How the next one in line learns of it: https://www.w3.org/TR/trace-context/ */
  readonly traceparent: string
  child(name: string): Span
  set(attributes: Attributes): void
  end(error?: unknown): void
}

/** Where spans go. There is none unless the operator names a collector. */
export interface Tracing {
  /** The span of a request, in the caller's trace where it came with a `traceparent`. */
  request(name: string, facts: { traceparent: string | undefined; attributes: Attributes }): Span
  /** Sends what is left. */
  close(): Promise<void>
}
