import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import cors from 'cors'
import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express'
import helmet from 'helmet'
import type { Logger } from 'pino'
import { toPublicError } from '../../access/public-error.js'
import type { Config } from '../../platform/config/config.js'
import type { Database } from '../../platform/db/client.js'
import { AssayError, badUserInput, type FieldError, invalidField, notFound, rejectMethod } from '../../platform/errors/errors.js'
import { newId } from '../../platform/ids.js'
import { type Span, type Tracing, withActiveSpan } from '../../platform/telemetry/tracing.js'
import { sendError } from '../bodies/json-responses.js'
import type { RestHandler } from '../rest/router.js'
import { addAgeHeader } from './age-header.js'
import {
  createAddressReader,
  createCall,
  type GetAddress,
  getPath,
  getTarget,
  type IdentifiedRequest,
  toLoggedPath,
} from './caller.js'
import type { Dashboard } from './dashboard.js'
import { mountDocumentation } from './documentation.js'
import { createGraphqlHandler, type GraphqlHandlerDependencies, sendGraphqlError } from './graphql-handler.js'
import type { Health } from './health.js'
import { isHalfClosed } from './http-messages.js'
import { createMetricsEndpoint } from './metrics.js'
import { mountUploader } from './uploader.js'

export interface ApplicationDependencies extends GraphqlHandlerDependencies {
  rest: RestHandler
  /** Serves downloads from the local store. Undefined if files are stored in a bucket, which serves its own downloads. */
  download: RequestHandler<{ fileId: string }> | undefined
  exports: RequestHandler | undefined
  /** Serves event streams. The REST handler serves all other event requests. */
  events: RequestHandler
  log: RequestHandler
  /** Dashboard pages. Undefined if the dashboard is disabled. */
  dashboard: Dashboard | undefined
  /** Handlers for resumable uploads and for their OPTIONS requests. */
  resumable: { describe: RequestHandler; handle: RequestHandler; exposedHeaders: string[] }
  /** Serves upload links, which have separate CORS rules. */
  uploadLinks: RequestHandler
  jwks(): Promise<unknown>
  health: Health
  /** Trace exporter. Undefined if tracing is disabled. */
  tracing: Tracing | undefined
  config: Config
  database: Database
  logger: Logger
}

export interface Application {
  app: Express
  listener: RequestListener
  getAddress: GetAddress
}

/**
 * Creates the Express application with all handlers. Its listener sets the request id and common response headers, and logs each
 * request.
 */
export function createApplication(dependencies: ApplicationDependencies): Application {
  const app = createExpressApp(dependencies)
  const getAddress = createAddressReader(app, dependencies.config.trustProxy)
  const begin = createRequestLog(dependencies, getAddress)
  const listener: RequestListener = (incoming, response) => {
    // The service has closed its side of this connection and cannot respond, so discard further requests.
    if (isHalfClosed(incoming.socket)) return void incoming.resume()
    const request = incoming as IdentifiedRequest
    disconnectIfStalled(response)
    const span = begin(request, response)
    const handleRequest = () => app(request, response)
    if (span) withActiveSpan(span, handleRequest)
    else handleRequest()
  }
  return { app, listener, getAddress }
}

const stallTimeoutMs = 60_000

/**
 * Disconnects clients that do not read their response, because each of them occupies memory and a socket. The socket stays open
 * if no bytes are waiting to be sent.
 */
export function disconnectIfStalled(response: ServerResponse, timeoutMs = stallTimeoutMs): void {
  response.setTimeout(timeoutMs, () => {
    if (response.socket && response.socket.writableLength > 0) response.destroy()
  })
}

/**
 * Creates a function that sets the request id and common headers, and writes one log line per response. The line omits the query
 * string, which may contain a signature.
 */
function createRequestLog({ logger, metrics, tracing }: ApplicationDependencies, getAddress: GetAddress) {
  const headers = getSecurityHeaders()
  return (request: IdentifiedRequest, response: ServerResponse): Span | undefined => {
    const path = getPath(request.url!)
    request.callId = newId('req')
    // Read the address now, because the socket may be closed when the response is logged.
    request.address = getAddress(request)
    response.setHeader('X-Request-Id', request.callId)
    for (const [name, value] of headers) response.setHeader(name, value)
    const start = performance.now()
    const span = tracing && startSpan(tracing, request, path)
    response.once('close', () => {
      const ms = performance.now() - start
      span?.setAttributes({ 'http.response.status_code': response.statusCode, 'assay.request_id': request.callId })
      span?.end(response.statusCode >= 500 ? { code: response.statusCode } : undefined)
      metrics.requests.observe({ edge: getInterface(path), status: response.statusCode }, ms / 1000)
      if (logger.isLevelEnabled('info'))
        logger.info({
          req: request.callId,
          method: request.method,
          path: toLoggedPath(path),
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

/** Runs helmet once and returns the headers that it sets, because they are the same for every response. */
function getSecurityHeaders(): [string, string][] {
  const headers: [string, string][] = []
  const response = { setHeader: (name: string, value: string) => headers.push([name, value]), removeHeader: () => {} }
  const set = helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    crossOriginResourcePolicy: { policy: 'same-site' },
  })
  set({} as IncomingMessage, response as unknown as ServerResponse, () => {})
  return headers
}

function startSpan(tracing: Tracing, { method, headers }: IncomingMessage, path: string): Span {
  const traceparent = typeof headers.traceparent === 'string' ? headers.traceparent : undefined
  return tracing.request(`${method} ${getInterface(path)}`, {
    traceparent,
    attributes: { 'http.request.method': method!, 'url.path': toLoggedPath(path) },
  })
}

const getInterface = (path: string) => (path.startsWith('/api/') ? 'rest' : path.startsWith('/graphql') ? 'graphql' : 'other')

function createExpressApp(dependencies: ApplicationDependencies): Express {
  const { config, database } = dependencies
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('trust proxy', config.trustProxy)
  app.set('query parser', 'simple')
  // Paths are case-sensitive and trailing slashes are significant, so that a proxy's path rules cannot be bypassed.
  app.enable('case sensitive routing')
  app.enable('strict routing')
  app.use(rejectBadFraming)
  app.use(dependencies.resumable.describe)
  app.use(dependencies.uploadLinks)
  mountUploader(app)
  if (database.replica) app.use(addAgeHeader)
  if (config.corsOrigins.length > 0) app.use(createCorsHandler(dependencies))
  registerReadRoutes(app, dependencies)
  app.all('/graphql', createGraphqlHandler(dependencies))
  dependencies.graphqlPage?.mount(app)
  if (dependencies.exports) app.use(dependencies.exports)
  app.use(dependencies.events)
  app.use(dependencies.log)
  app.use(dependencies.resumable.handle)
  app.use('/api/v1', createRestListener(dependencies))
  if (dependencies.dashboard) app.use(dependencies.dashboard.notFound)
  app.use((request) => {
    throw notFound('endpoint', request.path)
  })
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) =>
    sendFailure(dependencies, error, request as Request & IdentifiedRequest, response),
  )
  return app
}

const createCorsHandler = ({ config: { corsOrigins }, resumable }: ApplicationDependencies): RequestHandler =>
  cors({
    origin: corsOrigins.includes('*') ? '*' : corsOrigins,
    exposedHeaders: ['X-Request-Id', 'Link', 'Age', 'RateLimit', 'RateLimit-Policy', 'Retry-After', ...resumable.exposedHeaders],
    maxAge: 600,
  })

/** Registers endpoints that support only GET and HEAD. */
function registerReadRoutes(app: Express, dependencies: ApplicationDependencies): void {
  const { config, metrics } = dependencies
  const registerReadRoute = (path: string, handler: RequestHandler) => app.route(path).get(handler).all(rejectMethod)
  if (dependencies.download) app.route('/download/:fileId').get(dependencies.download).all(rejectMethod)
  registerReadRoute('/health/live', (_request, response) => void response.json({ status: 'live' }))
  registerReadRoute('/health/ready', async (_request, response) => {
    const { ready, checks } = await dependencies.health.checkReadiness()
    response
      .status(ready ? 200 : 503)
      .set('Cache-Control', 'no-store')
      .json({ status: ready ? 'ready' : 'not_ready', checks })
  })
  if (config.metricsPort === undefined) registerReadRoute('/metrics', createMetricsEndpoint(metrics, config.metricsToken))
  registerReadRoute(
    '/.well-known/jwks.json',
    async (_request, response) => void response.set('Cache-Control', 'public, max-age=300').json(await dependencies.jwks()),
  )
  dependencies.dashboard?.mount(app)
  mountDocumentation(app, { explorer: config.graphqlExplorer })
}

function createRestListener(dependencies: ApplicationDependencies): RequestHandler {
  return async (request, response) => {
    const call = await createCall(dependencies, request)
    const key = request.headers['idempotency-key']
    if (typeof key === 'string' && request.method === 'POST') call.idempotencyKey = key
    await dependencies.rest(request, response, call, getTarget(request))
  }
}

/** Responds to errors that no handler caught. */
function sendFailure(
  { logger }: ApplicationDependencies,
  error: unknown,
  request: IdentifiedRequest,
  response: ServerResponse,
): void {
  // Express sets a status for its own errors, such as an invalid percent-encoding in the path.
  const status = (error as { status?: number }).status
  const reported =
    !(error instanceof AssayError) && status !== undefined && status >= 400 && status < 500
      ? invalidField('request', `is malformed (${(error as Error).message})`)
      : toPublicError(error)
  if (reported.code === 'internal_server_error')
    logger.error({ req: request.callId, err: error }, 'A request failed with an unexpected error.')
  if (response.headersSent) {
    response.destroy()
    return
  }
  if (getPath(request.url!).startsWith('/graphql'))
    sendGraphqlError(request as Request & IdentifiedRequest, response as Response, reported)
  else sendError(request, response, reported, request.callId)
}

function rejectBadFraming(request: Request, response: Response, next: NextFunction): void {
  const error = findFramingError(request)
  if (!error) {
    next()
    return
  }
  // Close the connection, because it is unclear where this request ends: any further bytes could be misread as a new request.
  response.shouldKeepAlive = false
  next(badUserInput([error]))
}

/** Returns an error for a request whose length or host a proxy could interpret differently (request smuggling). */
function findFramingError({ headersDistinct, headers, httpVersion }: IncomingMessage): FieldError | undefined {
  // A request must have exactly one Host header (RFC 9112, section 3.2). Node.js's own check is disabled, because its error
  // response has no body.
  const hosts = headersDistinct.host?.length ?? 0
  if (hosts > 1) return { field: 'Host', message: 'must not be sent more than once' }
  if (hosts === 0 && httpVersion === '1.1') return { field: 'Host', message: 'is required' }
  // HTTP/1.0 has no chunked encoding (RFC 9112, section 6.1). An old proxy could treat the chunks as the next request.
  if (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined)
    return { field: 'Transfer-Encoding', message: 'is not supported for HTTP/1.0 requests. Send Content-Length, or use HTTP/1.1' }
  return undefined
}
