import { createHash, timingSafeEqual } from 'node:crypto'
import express, { type Express, type RequestHandler } from 'express'
import { unauthenticated } from '../../platform/errors/errors.js'
import type { Metrics } from './metrics.js'

/** Serves `GET /metrics`, publicly or only with METRICS_TOKEN. */
export function metricsEndpoint(metrics: Metrics, token: string | undefined): RequestHandler {
  return async (request, response) => {
    if (token !== undefined && !isToken(request.headers.authorization, token))
      throw unauthenticated('The metrics require a token. Send `Authorization: Bearer <METRICS_TOKEN>`.')
    response
      .set('Cache-Control', 'no-store')
      .type(metrics.registry.contentType)
      .send(await metrics.text())
  }
}

export function metricsApp(metrics: Metrics, token: string | undefined): Express {
  const app = express()
  app.disable('x-powered-by')
  app.enable('case sensitive routing')
  app.enable('strict routing')
  app.get('/metrics', metricsEndpoint(metrics, token))
  app.use((_error: unknown, _request: express.Request, response: express.Response, _next: express.NextFunction) => {
    response.status(401).set('WWW-Authenticate', 'Bearer').end()
  })
  return app
}

const digest = (text: string) => createHash('sha256').update(text).digest()
const isToken = (header: string | undefined, token: string): boolean =>
  timingSafeEqual(digest(header?.replace(/^bearer +/i, '') ?? ''), digest(token))
