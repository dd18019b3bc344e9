import type { IncomingMessage, ServerResponse } from 'node:http'
import cors from 'cors'
import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express'
import helmet from 'helmet'
import type { Logger } from 'pino'
import type { Admission } from '../admission/admission.js'
import type { SecurityTrail } from '../admission/security-trail.js'
import type { Origin } from '../auth/actor.js'
import type { Authentication } from '../auth/authenticate.js'
import type { Spool } from '../body/spool.js'
import { AssayError, badUserInput, notFound } from '../errors.js'
import type { GraphqlHandler } from '../graphql/server.js'
import { newId } from '../ids.js'
import type { Metrics } from '../metrics.js'
import { publicError } from '../public-error.js'
import { sendError } from '../rest/envelope.js'
import type { RestHandler } from '../rest/router.js'
import { inSpan, type Span, type Tracing } from '../tracing/tracing.js'
import { callOf, clientAddress, type Known, targetOf } from './caller.js'
import { guardDownloads } from './download-guard.js'
import { dropWhereStalled, isLingering, settleEarlyAnswers } from './early-answers.js'
import { framingFault } from './framing.js'
import { graphqlDoor, sendGraphqlError } from './graphql-door.js'
import { mountGraphqlPage } from './graphql-page.js'
import type { Health } from './health.js'
import { metricsEndpoint } from './metrics-endpoint.js'
import { tellAge } from './read-age.js'

export interface EdgeParts {
  authenticate(rawHeaders: readonly string[], origin: Origin): Promise<Authentication>
  /** Counts a credential that belongs to no tenant; throws 429 where its address sends too many. */
  refusedCredential(ip: string): Promise<void>
  admission: Admission
  security: SecurityTrail
  rest: RestHandler
  graphql: GraphqlHandler
  download: RequestHandler<{ fileId: string }> | undefined
  exports: RequestHandler | undefined
  /** Events as a stream; what is not asked for as one is left to REST. */
  events: RequestHandler
  log: RequestHandler
  /** Where it is on. */
  dashboard: ((app: Express) => void) | undefined
  /** Uploads in several requests, and what they answer to OPTIONS. */
  resumable: { describe: RequestHandler; handle: RequestHandler; exposedHeaders: string[] }
  documentation: (app: Express) => void
  jwks(): Promise<unknown>
  health: Health
  metrics: Metrics
  metricsToken: string | undefined
  /** Undefined where traces are not collected. */
  tracing: Tracing | undefined
  metricsElsewhere: boolean
  /** Whether a replica of the database may serve lists. */
  readsFromReplica: boolean
  spool: Spool
  corsOrigins: string[]
  trustProxy: false | number | string[]
  explorer: boolean
  logger: Logger
}

/** The Express application: request ids, headers, logging, and the doors. */
export function createEdge(parts: EdgeParts): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('trust proxy', parts.trustProxy)
  app.set('query parser', 'simple')
  // A proxy's rule for a path must hold for what is served under it: no other case, no other slashes.
  app.enable('case sensitive routing')
  app.enable('strict routing')
  app.use(identify(parts))
  app.use(
    helmet({
      contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
      crossOriginResourcePolicy: { policy: 'same-site' },
    }),
  )
  if (parts.readsFromReplica) app.use(tellAge)
  app.use(parts.resumable.describe)
  if (parts.corsOrigins.length > 0)
    app.use(
      cors({
        origin: parts.corsOrigins.includes('*') ? '*' : parts.corsOrigins,
        exposedHeaders: [
          'X-Request-Id',
          'Link',
          'Age',
          'RateLimit',
          'RateLimit-Policy',
          'Retry-After',
          ...parts.resumable.exposedHeaders,
        ],
        maxAge: 600,
      }),
    )

  // What is asked most comes first: Express tries every route in turn.
  if (parts.download) app.get('/download/:fileId', guardDownloads(), parts.download)
  app.use('/api/v1/files', restDoor(parts))
  app.get('/health/live', (_request, response) => void response.json({ status: 'live' }))
  app.get('/health/ready', async (_request, response) => {
    const { ready, checks } = await parts.health.ready()
    response
      .status(ready ? 200 : 503)
      .set('Cache-Control', 'no-store')
      .json({ status: ready ? 'ready' : 'not_ready', checks })
  })
  if (!parts.metricsElsewhere) app.get('/metrics', metricsEndpoint(parts.metrics, parts.metricsToken))
  app.get(
    '/.well-known/jwks.json',
    async (_request, response) => void response.set('Cache-Control', 'public, max-age=300').json(await parts.jwks()),
  )
  parts.dashboard?.(app)
  parts.documentation(app)
  app.all('/graphql', graphqlDoor(parts))
  if (parts.explorer) mountGraphqlPage(app)
  if (parts.exports) app.use(parts.exports)
  app.use(parts.events)
  app.use(parts.log)
  app.use(parts.resumable.handle)
  app.use('/api/v1', restDoor(parts))
  app.use((request) => {
    throw notFound('endpoint', request.path)
  })
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) =>
    fail(parts, error, request as Known, response),
  )
  return app
}

/** The request's id, and one line of log when it is answered: never a query string, which may be a signed URL. */
function identify({ logger, metrics, tracing }: EdgeParts): RequestHandler {
  return (request, response, next) => {
    // Sent after a request whose answer ended the connection.
    if (isLingering(request.socket)) return void request.resume()
    settleEarlyAnswers(request, response)
    dropWhereStalled(response)
    const known = request as Known
    known.callId = newId('req')
    response.setHeader('X-Request-Id', known.callId)
    const start = performance.now()
    const path = request.path
    // Now: once the answer has closed, the socket that it is read from may be gone.
    const ip = clientAddress(request)
    const span = tracing && spanOf(tracing, request)
    response.once('close', () => {
      const ms = performance.now() - start
      span?.set({ 'http.response.status_code': response.statusCode, 'assay.request_id': known.callId })
      span?.end(response.statusCode >= 500 ? { code: response.statusCode } : undefined)
      metrics.requests.observe({ edge: edgeOf(path), status: response.statusCode }, ms / 1000)
      if (logger.isLevelEnabled('info'))
        logger.info({
          req: known.callId,
          method: request.method,
          path: path.slice(0, 200),
          status: response.statusCode,
          ms: Math.round(ms * 10) / 10,
          ip,
          ...(span && { trace_id: span.traceId }),
          ...(!response.writableFinished && { aborted: true }),
        })
    })
    const fault = framingFault(request)
    if (!fault) return span ? inSpan(span, next) : next()
    // What follows on the connection may be part of this request, or may not.
    response.shouldKeepAlive = false
    next(badUserInput([fault]))
  }
}

function spanOf(tracing: Tracing, request: Request): Span {
  const { method, path, headers } = request
  const traceparent = typeof headers.traceparent === 'string' ? headers.traceparent : undefined
  return tracing.request(`${method} ${edgeOf(path)}`, {
    traceparent,
    attributes: { 'http.request.method': method, 'url.path': path.slice(0, 200) },
  })
}

const edgeOf = (path: string) => (path.startsWith('/api/') ? 'rest' : path.startsWith('/graphql') ? 'graphql' : 'other')

function restDoor(parts: EdgeParts): RequestHandler {
  return async (request, response) => {
    const call = await callOf(parts, request)
    const key = request.headers['idempotency-key']
    if (typeof key === 'string' && request.method === 'POST') call.idempotencyKey = key
    await parts.rest(request, response, call, targetOf(request))
  }
}

function fail({ logger }: EdgeParts, error: unknown, request: Known, response: Response): void {
  // Express's own faults: a path that cannot be decoded, and the like.
  const status = (error as { status?: number }).status
  const told =
    !(error instanceof AssayError) && status !== undefined && status >= 400 && status < 500
      ? badUserInput([{ field: 'request', message: (error as Error).message }])
      : publicError(error)
  if (told.code === 'internal_server_error')
    logger.error({ req: request.callId, err: error }, 'A request failed for a reason of ours.')
  if (response.headersSent) {
    response.destroy()
    return
  }
  const graphql = request.path.startsWith('/graphql')
  if (graphql) sendGraphqlError(request, response, told)
  else sendError(request as IncomingMessage, response as ServerResponse, told, request.callId)
}
