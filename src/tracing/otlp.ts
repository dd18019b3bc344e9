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
import type { Attributes, Span, Tracing } from './tracing.js'

// A collector that does not answer holds up neither calls nor the end.
const exportTimeoutMs = 5_000

/** Spans in batches to a collector that speaks OTLP over HTTP. The process's own instrumentation and context stay as they are. */
export function openOtlp(endpoint: string): Tracing {
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: exportTimeoutMs })
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'assay' }),
    spanProcessors: [new BatchSpanProcessor(exporter, { maxQueueSize: 4096, exportTimeoutMillis: exportTimeoutMs })],
  })
  const tracer = provider.getTracer('assay')
  return {
    request: (name, { traceparent, attributes }) => {
      const parent = remoteContext(traceparent)
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent)
      return new TracedSpan(tracer, span, parent)
    },
    close: () => provider.shutdown(),
  }
}

class TracedSpan implements Span {
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

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#span.spanContext()
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  }

  child(name: string): Span {
    return new TracedSpan(this.#tracer, this.#tracer.startSpan(name, {}, this.#context), this.#context)
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes)
  }

  end(error?: unknown): void {
    if (error !== undefined) {
      // Its code, not its words: these may hold what a client sent.
      const { code = 'error' } = error as { code?: unknown }
      this.#span.setStatus({ code: SpanStatusCode.ERROR, message: String(code) })
    }
    this.#span.end()
  }
}

const pattern = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-|$)/

// A caller's flag decides whether its trace is sampled; one that is no traceparent is passed over.
function remoteContext(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = pattern.exec(traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT
  const traceFlags = Number.parseInt(flags ?? '00', 16) & TraceFlags.SAMPLED
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}
