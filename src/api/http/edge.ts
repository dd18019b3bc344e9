import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import cors from 'cors'
import type { Express } from 'express'
import helmet from 'helmet'
import { newId } from '../../platform/ids.js'
import type { Span, Tracing } from '../../platform/telemetry/span.js'
import { inSpan } from '../../platform/telemetry/tracing.js'
import { type AddressOf, addressesBy, type Known, pathOf } from './caller.js'
import { disconnectIfStalled } from './early-answers.js'
import type { EdgeParts } from './edge-parts.js'
import { createEndpoints, type Step } from './endpoints.js'
import { isHalfClosed } from './half-close.js'
import { tellAge } from './read-age.js'

export interface Edge {
  app: Express
  listener: RequestListener
  addressOf: AddressOf
}

/** Request ids, headers and the request log, and behind them Express. */
export function createEdge(parts: EdgeParts): Edge {
  const steps = stepsOf(parts)
  const app = createEndpoints(parts, steps)
  const addressOf = addressesBy(app, parts.trustProxy)
  const begin = beginning(parts, addressOf)
  const listener: RequestListener = (incoming, response) => {
    // Sent after a request whose answer ended the connection.
    if (isHalfClosed(incoming.socket)) return void incoming.resume()
    const request = incoming as Known
    const path = pathOf(request.url!)
    const span = begin(request, response, path)
    const enter = () => app(request, response)
    if (span) inSpan(span, enter)
    else enter()
  }
  return { app, listener, addressOf }
}

/** What every request gets: its id, the headers of every answer, and one line of log when it is answered: never a query string, which may be a signed URL. */
function beginning({ logger, metrics, tracing }: EdgeParts, addressOf: AddressOf) {
  const headers = protectingHeaders()
  return (request: Known, response: ServerResponse, path: string): Span | undefined => {
    disconnectIfStalled(response)
    request.callId = newId('req')
    // Now: once the answer has closed, the socket that it is read from may be gone.
    request.address = addressOf(request)
    response.setHeader('X-Request-Id', request.callId)
    for (const [name, value] of headers) response.setHeader(name, value)
    const start = performance.now()
    const span = tracing && spanOf(tracing, request, path)
    response.once('close', () => {
      const ms = performance.now() - start
      span?.set({ 'http.response.status_code': response.statusCode, 'assay.request_id': request.callId })
      span?.end(response.statusCode >= 500 ? { code: response.statusCode } : undefined)
      metrics.requests.observe({ edge: edgeOf(path), status: response.statusCode }, ms / 1000)
      if (logger.isLevelEnabled('info'))
        logger.info({
          req: request.callId,
          method: request.method,
          path: path.slice(0, 200),
          status: response.statusCode,
          ms: Math.round(ms * 10) / 10,
          ip: request.address,
          ...(span && { trace_id: span.traceId }),
          ...(!response.writableFinished && { aborted: true }),
        })
    })
    return span
  }
}

/** Helmet's, which are the same for every answer. */
function protectingHeaders(): [string, string][] {
  const headers: [string, string][] = []
  const response = { setHeader: (name: string, value: string) => headers.push([name, value]), removeHeader: () => {} }
  const set = helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    crossOriginResourcePolicy: { policy: 'same-site' },
  })
  set({} as IncomingMessage, response as unknown as ServerResponse, () => {})
  return headers
}

function spanOf(tracing: Tracing, { method, headers }: IncomingMessage, path: string): Span {
  const traceparent = typeof headers.traceparent === 'string' ? headers.traceparent : undefined
  return tracing.request(`${method} ${edgeOf(path)}`, {
    traceparent,
    attributes: { 'http.request.method': method!, 'url.path': path.slice(0, 200) },
  })
}

const edgeOf = (path: string) => (path.startsWith('/api/') ? 'rest' : path.startsWith('/graphql') ? 'graphql' : 'other')

function stepsOf({ readsFromReplica, corsOrigins, resumable }: EdgeParts): Step[] {
  const origins = cors<IncomingMessage>({
    origin: corsOrigins.includes('*') ? '*' : corsOrigins,
    exposedHeaders: ['X-Request-Id', 'Link', 'Age', 'RateLimit', 'RateLimit-Policy', 'Retry-After', ...resumable.exposedHeaders],
    maxAge: 600,
  })
  return [...(readsFromReplica ? [tellAge] : []), ...(corsOrigins.length > 0 ? [origins] : [])]
}
