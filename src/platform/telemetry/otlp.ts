import {
  type Context,
  ROOT_CONTEXT,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base'
import { settlesWithin } from '../time-limit.js'
import type { Span, Tracing } from './tracing.js'

// Timeout for an export, so that an unresponsive collector delays neither calls nor the shutdown.
const exportTimeoutMs = 5_000
// Value of ExportResultCode.FAILED in @opentelemetry/core, which is not a dependency of this package.
const exportFailed = 1

/** Sends spans in batches to an OTLP/HTTP collector. Does not change global instrumentation or context. */
export function openOtlp(endpoint: string): Tracing {
  const exporter = createExporterWithTimeout(
    () => new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: exportTimeoutMs }),
  )
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'assay' }),
    spanProcessors: [new BatchSpanProcessor(exporter, { maxQueueSize: 4096, exportTimeoutMillis: exportTimeoutMs })],
  })
  const tracer = provider.getTracer('assay')
  return {
    request: (name, { traceparent, attributes }) =>
      startSpan(tracer, name, { kind: SpanKind.SERVER, attributes }, parseRemoteContext(traceparent)),
    // Ignore errors, because lost spans must not make the shutdown fail.
    close: () => provider.shutdown().catch(() => {}),
  }
}

/**
 * Creates an exporter, and replaces it when an export times out, because an exporter with 30 pending exports rejects all spans.
 */
export function createExporterWithTimeout(open: () => SpanExporter, timeoutMs = exportTimeoutMs): SpanExporter {
  let current = open()
  return {
    export: (spans, done) => {
      const active = current
      const timer = setTimeout(() => {
        if (current === active) current = open()
        done({ code: exportFailed, error: new Error(`No response from the collector within ${timeoutMs} ms.`) })
      }, timeoutMs)
      active.export(spans, (result) => {
        clearTimeout(timer)
        done(result)
      })
    },
    shutdown: async () => void (await settlesWithin(timeoutMs, current.shutdown())),
  }
}

function startSpan(tracer: Tracer, name: string, options: SpanOptions, parent: Context): Span {
  const span = tracer.startSpan(name, options, parent)
  const { traceId, spanId, traceFlags } = span.spanContext()
  return {
    traceId,
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    startChild: (childName) => startSpan(tracer, childName, {}, trace.setSpan(parent, span)),
    setAttributes: (attributes) => void span.setAttributes(attributes),
    end: (error) => {
      if (error !== undefined) {
        // Send only the error code, because the message may contain client data.
        const { code = 'error' } = error as { code?: unknown }
        span.setStatus({ code: SpanStatusCode.ERROR, message: String(code) })
      }
      span.end()
    },
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
