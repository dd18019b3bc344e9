import {
  type Context,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { settlesWithin } from '../time-limit.js'

// A collector that does not respond must delay neither calls nor the shutdown.
const exportTimeoutMs = 5_000

type Attributes = Record<string, string | number | boolean>

/** Creates spans. Available only if the operator configures a collector. */
export type Tracing = ReturnType<typeof openOtlp>

/** Sends spans in batches to an OTLP/HTTP collector. Does not change global instrumentation or context. */
export function openOtlp(endpoint: string) {
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: exportTimeoutMs })
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'assay' }),
    spanProcessors: [new BatchSpanProcessor(exporter, { maxQueueSize: 4096, exportTimeoutMillis: exportTimeoutMs })],
  })
  const tracer = provider.getTracer('assay')
  return {
    /** Starts the span of a request. A `traceparent` header from the client continues the client's trace. */
    request(name: string, { traceparent, attributes }: { traceparent: string | undefined; attributes: Attributes }): Span {
      const parent = parseRemoteContext(traceparent)
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent)
      return new Span(tracer, span, parent)
    },
    /** Sends the pending spans. Ignores errors and has a timeout, because lost spans must not fail or delay the shutdown. */
    async close(): Promise<void> {
      await settlesWithin(
        exportTimeoutMs,
        provider.shutdown().catch(() => {}),
      )
    },
  }
}

/** One operation in a trace. */
export class Span {
  readonly #tracer: Tracer
  readonly #span: OtelSpan
  readonly #context: Context

  constructor(tracer: Tracer, span: OtelSpan, parent: Context) {
    this.#tracer = tracer
    this.#span = span
    this.#context = trace.setSpan(parent, span)
  }

  get traceId(): string {
    return this.#span.spanContext().traceId
  }

  /** Value of the header that continues the trace in another service: https://www.w3.org/TR/trace-context/ */
  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#span.spanContext()
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  }

  startChild(name: string): Span {
    return new Span(this.#tracer, this.#tracer.startSpan(name, {}, this.#context), this.#context)
  }

  setAttributes(attributes: Attributes): void {
    this.#span.setAttributes(attributes)
  }

  end(error?: unknown): void {
    if (error !== undefined) {
      // Send only the error code, because the message may contain client data.
      const { code = 'error' } = error as { code?: unknown }
      this.#span.setStatus({ code: SpanStatusCode.ERROR, message: String(code) })
    }
    this.#span.end()
  }
}

const traceparentPattern = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-|$)/

// The sampling flag in the caller's header determines whether the trace is sampled. Invalid headers are ignored.
function parseRemoteContext(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = traceparentPattern.exec(traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT
  const traceFlags = Number.parseInt(flags ?? '00', 16) & TraceFlags.SAMPLED
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}
