import type { IncomingMessage, ServerResponse } from 'node:http'
import { httpStatus, type PublicError } from '../errors.js'
import type { Route } from './routes.js'

/** Answers as the specification wraps successes (spec §2). */
export function sendSuccess(response: ServerResponse, route: Route, data: unknown): void {
  const body = {
    status: 'SUCCESS',
    ...(route.message !== undefined && { message: route.message }),
    data,
    ...(route.timestamp !== false && { timestamp: new Date().toISOString() }),
  }
  send(response, route.status ?? 200, 'application/json; charset=utf-8', body)
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
    send(response, status, 'application/problem+json; charset=utf-8', problem)
    return
  }
  send(response, status, 'application/json; charset=utf-8', {
    status: 'ERROR',
    message: error.message,
    error: { code: error.code, details: error.details },
    request_id: requestId,
    timestamp: new Date().toISOString(),
  })
}

function send(response: ServerResponse, status: number, type: string, body: unknown): void {
  const bytes = Buffer.from(JSON.stringify(body))
  response.statusCode = status
  response.setHeader('Content-Type', type)
  response.setHeader('Content-Length', bytes.length)
  response.setHeader('Cache-Control', 'no-store')
  response.end(bytes)
}
