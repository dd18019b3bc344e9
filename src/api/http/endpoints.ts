import type { IncomingMessage, ServerResponse } from 'node:http'
import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express'
import { publicError } from '../../access/public-error.js'
import { AssayError, badUserInput, type FieldFault, notFound, refuseMethod } from '../../platform/errors/errors.js'
import { sendError } from '../rest/envelope.js'
import { callOf, type Known, pathOf, targetOf } from './caller.js'
import type { EdgeParts } from './edge-parts.js'
import { graphqlDoor, sendGraphqlError } from './graphql-door.js'
import { mountGraphqlPage } from './graphql-page.js'
import { metricsEndpoint } from './metrics-endpoint.js'

/** What a request passes on its way to a door. */
export type Step = (request: IncomingMessage, response: ServerResponse, next: () => void) => void

/** The Express application: every door. */
export function createEndpoints(parts: EdgeParts, steps: readonly Step[]): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('trust proxy', parts.trustProxy)
  app.set('query parser', 'simple')
  // A proxy's rule for a path must hold for what is served under it: no other case, no other slashes.
  app.enable('case sensitive routing')
  app.enable('strict routing')
  app.use(rejectBadFraming)
  app.use(parts.resumable.describe)
  for (const step of steps) app.use(step)
  const reads = (path: string, ...handlers: RequestHandler[]) =>
    app
      .route(path)
      .get(...handlers)
      .all(refuseMethod)
  if (parts.download) app.route('/download/:fileId').get(parts.download).all(refuseMethod)
  reads('/health/live', (_request, response) => void response.json({ status: 'live' }))
  reads('/health/ready', (_request, response) => sendReadiness(parts, response))
  if (!parts.metricsElsewhere) reads('/metrics', metricsEndpoint(parts.metrics, parts.metricsToken))
  reads(
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
  const rest = restDoor(parts)
  app.use('/api/v1', (request, response) => rest(request as Request & Known, response))
  app.use((request) => {
    throw notFound('endpoint', request.path)
  })
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) =>
    fail(parts, error, request as Request & Known, response),
  )
  return app
}

function rejectBadFraming(request: Request, response: Response, next: NextFunction): void {
  const fault = framingFault(request)
  if (!fault) {
    next()
    return
  }
  // What follows on the connection may or may not be part of this request.
  response.shouldKeepAlive = false
  next(badUserInput([fault]))
}

async function sendReadiness({ health }: EdgeParts, response: Response): Promise<void> {
  const { ready, checks } = await health.ready()
  response
    .status(ready ? 200 : 503)
    .set('Cache-Control', 'no-store')
    .json({ status: ready ? 'ready' : 'not_ready', checks })
}

/** A call by REST. */
function restDoor(parts: EdgeParts): (request: Known, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const call = await callOf(parts, request)
    const key = request.headers['idempotency-key']
    if (typeof key === 'string' && request.method === 'POST') call.idempotencyKey = key
    await parts.rest(request, response, call, targetOf(request))
  }
}

/** Answers what no door answered. */
function fail({ logger }: EdgeParts, error: unknown, request: Known, response: ServerResponse): void {
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
  if (pathOf(request.url!).startsWith('/graphql')) sendGraphqlError(request as Request & Known, response as Response, told)
  else sendError(request, response, told, request.callId)
}

/** The fault of a request that a proxy may frame differently: one request for the proxy, another one for us. */
function framingFault({ rawHeaders, headers, httpVersion }: IncomingMessage): FieldFault | undefined {
  // RFC 9112 §3.2. Node's own check is off, because it answers with nothing at all.
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]!.length === 4 && rawHeaders[at]!.toLowerCase() === 'host') hosts++
  if (hosts > 1) return { field: 'Host', message: 'must be sent once' }
  if (hosts === 0 && httpVersion === '1.1') return { field: 'Host', message: 'must be sent' }
  // RFC 9112 §6.1: HTTP/1.0 knows no chunks, and a proxy of that age passes them on as the next request.
  if (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined)
    return { field: 'Transfer-Encoding', message: 'must not be sent with HTTP/1.0' }
  return undefined
}
