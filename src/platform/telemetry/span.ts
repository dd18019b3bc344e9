export type Attributes = Record<string, string | number | boolean>

/** One operation in a trace. */
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
  /** Sends the pending spans. */
  close(): Promise<void>
}
