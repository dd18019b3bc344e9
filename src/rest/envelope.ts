import type { IncomingMessage, ServerResponse } from 'node:http'
import { jsonInTurns } from '../body/json-in-turns.js'
import { errorBody } from '../error-body.js'
import { httpStatus, type PublicError } from '../errors.js'
import type { Route } from './routes.js'

/** Answers as the specification wraps successes (spec §2). */
export async function sendSuccess(response: ServerResponse, route: Route, data: unknown): Promise<void> {
  const body = {
    status: 'SUCCESS',
    ...(route.message !== undefined && { message: route.message }),
    data,
    ...(route.timestamp !== false && { timestamp: new Date().toISOString() }),
  }
  send(response, route.status ?? 200, 'application/json; charset=utf-8', await jsonInTurns(body))
}

/** Answers as contract §1 wraps failures: the one shape, or RFC 9457 where the client accepts that. */
export function sendError(request: IncomingMessage, response: ServerResponse, error: PublicError, requestId: string): void {
  const status = httpStatus[error.code]
  if (error.code === 'unauthenticated')
    response.setHeader('WWW-Authenticate', request.headers.authorization ? 'Bearer error="invalid_token"' : 'Bearer')
  if (error.retryAfter !== undefined) response.setHeader('Retry-After', String(error.retryAfter))
  else if (status === 503) response.setHeader('Retry-After', '5')
  if (/application\/problem\+json/i.test(request.headers.accept ?? '')) {
    const problem = {
      type: `urn:assay:error:${error.code}`,
      title: error.code.replaceAll('_', ' '),
      status,
      detail: error.message,
      instance: `urn:assay:request:${requestId}`,
      code: error.code,
      details: error.details,
    }
    send(response, status, 'application/problem+json; charset=utf-8', JSON.stringify(problem))
    return
  }
  send(response, status, 'application/json; charset=utf-8', JSON.stringify(errorBody(error, requestId)))
}

function send(response: ServerResponse, status: number, type: string, json: string): void {
  // It may have taken some turns to write: the client may have gone meanwhile.
  if (response.destroyed) return
  const bytes = Buffer.from(json)
  response.statusCode = status
  response.setHeader('Content-Type', type)
  response.setHeader('Content-Length', bytes.length)
  response.setHeader('Cache-Control', 'no-store')
  response.end(bytes)
}
