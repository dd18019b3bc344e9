import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorBody, errorHeaders, problemBody } from '../../access/public-error.js'
import { httpStatus, type PublicError } from '../../platform/errors/errors.js'
import { createCursor, maxPages } from '../../platform/ids.js'
import { stringifyInTurns } from '../bodies/long-lists.js'
import type { Route } from './routes.js'

/** Sends a success in the standard envelope. */
export async function sendSuccess(response: ServerResponse, route: Route, data: unknown): Promise<void> {
  const body = {
    status: 'SUCCESS',
    ...(route.message !== undefined && { message: route.message }),
    data,
    ...(route.timestamp !== false && { timestamp: new Date().toISOString() }),
  }
  send(response, route.status ?? 200, 'application/json; charset=utf-8', await stringifyInTurns(body))
}

/** Sends a small JSON response that comes from no stored document. */
export const sendJson = (response: ServerResponse, status: number, body: object): void =>
  send(response, status, 'application/json; charset=utf-8', JSON.stringify(body))

/** Sends an error in the standard envelope, or as RFC 9457 if the client accepts that. */
export function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  error: PublicError,
  requestId: string,
  status = httpStatus[error.code],
): void {
  const headers = errorHeaders(error, request.headers.authorization)
  for (const name in headers) response.setHeader(name, headers[name]!)
  const isProblem = /application\/problem\+json/i.test(request.headers.accept ?? '')
  const body = isProblem ? problemBody(error, requestId) : errorBody(error, requestId)
  send(response, status, `application/${isProblem ? 'problem+json' : 'json'}; charset=utf-8`, JSON.stringify(body))
}

function send(response: ServerResponse, status: number, type: string, json: string): void {
  // The client may have disconnected while a long list was serialized.
  if (response.destroyed) return
  response.statusCode = status
  response.setHeader('Content-Type', type)
  // RFC 9110, section 8.6: a HEAD response may omit Content-Length. The body of the GET is not always known, because no download URL is
  // created.
  if (response.req.method !== 'HEAD') response.setHeader('Content-Length', Buffer.byteLength(json))
  response.setHeader('Cache-Control', 'no-store')
  response.end(json)
}

interface Listed {
  data: Record<string, string | number>[]
  pagination: { page: number; has_next: boolean }
}

/** Returns the link (RFC 8288) to the next page of a list, which starts after the last item of this page. Undefined on the last page. */
export function nextPage(route: Route, target: { path: string; query: URLSearchParams }, page: unknown): string | undefined {
  if (route.listedBy === undefined) return undefined
  const { data, pagination } = page as Listed
  const last = data.at(-1)
  if (!pagination.has_next || last === undefined) return undefined
  const query = new URLSearchParams(target.query)
  const sort = route.sortedBy ?? getRequestedSort(target.query)
  query.set('page', String(Math.min(pagination.page + 1, maxPages)))
  query.set('after', createCursor(String(last[route.listedBy]), sort ? { sort, key: String(last[sort]) } : undefined))
  return `<${target.path}?${query}>; rel="next"`
}

/** Undefined for the default order. Only `GET /files` has these parameters. */
function getRequestedSort(query: URLSearchParams): string | undefined {
  const sort = query.get('sort') ?? (query.has('name_prefix') ? 'original_filename' : 'created_at')
  return sort === 'created_at' ? undefined : sort
}
