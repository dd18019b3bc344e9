import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Express } from 'express'
import { createErrorBody } from '../../access/public-error.js'
import type { ErrorCode } from '../../platform/errors/errors.js'
import { newId } from '../../platform/ids.js'
import { toOriginForm } from './caller.js'
import { createMessageClasses } from './http-messages.js'

const maxHeaderBytes = 16_384
// Maximum number of pipelined requests on a connection that wait for earlier responses.
const maxPipelined = 64
/** Time limit for the request headers. Slower clients are disconnected (Slowloris). */
const headersMs = 20_000
const checkEveryMs = 2_000

/**
 * Creates the HTTP server. Requests that cannot be parsed also get a JSON response. `app` is the listener's Express
 * application.
 */
export function createHttpServer(listener: RequestListener, app?: Express): Server {
  const answer = handleSequentially(listener)
  const server = createServer(
    {
      headersTimeout: headersMs,
      // No limit, because a large upload may take a long time. `watchBody` disconnects a client that stops sending.
      requestTimeout: 0,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: checkEveryMs,
      maxHeaderSize: maxHeaderBytes,
      // The application rejects a missing Host header with a JSON error. Node.js would send 400 without a body.
      requireHostHeader: false,
      highWaterMark: 256 * 1024,
      ...createMessageClasses(app),
    },
    (request, response) => {
      request.url = toOriginForm(request.url)
      answer(request, response)
    },
  )
  // Disable the limit on the number of headers, because Node.js silently drops headers beyond it, such as a second Host header.
  // The total size of the headers is limited instead.
  server.maxHeadersCount = 0
  // Handle a request with `Expect: 100-continue` like any other. The handler that reads the body sends 100 Continue.
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
  // Ignore other expectations, as RFC 9110, section 10.1.1 permits. Node.js would send 417 without a JSON body.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  // Without a listener, Node.js would close the connection without a response.
  server.on('connect', (_request, socket) => rejectConnection({ code: 'CONNECT' }, socket as Socket))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => rejectConnection(error, socket as Socket))
  return server
}

const errors: Record<string, [status: number, message: string, code?: ErrorCode]> = {
  CONNECT: [405, 'Method CONNECT is not allowed.', 'method_not_allowed'],
  HPE_HEADER_OVERFLOW: [431, `The request line and headers exceed ${maxHeaderBytes} bytes.`],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request headers were not received in time.'],
}

function rejectConnection(error: { code?: string }, socket: Socket): void {
  // Like Node.js's own handler, do not send an error response if another response has already started.
  const answering = (socket as { _httpMessage?: { _headerSent?: boolean } })._httpMessage?._headerSent
  if (!socket.writable || answering || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const [status, message, code = 'bad_user_input'] = errors[error.code ?? ''] ?? [400, 'Malformed HTTP request.']
  const requestId = newId('req')
  const body = JSON.stringify(createErrorBody({ code, message, details: { fields: [{ field: 'request', message }] } }, requestId))
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'X-Content-Type-Options: nosniff',
    'Cache-Control: no-store',
    ...(status === 405 ? ['Allow: GET, HEAD, POST, PUT, PATCH, DELETE'] : []),
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  // Keep reading, because closing a socket with unread bytes would reset the connection. The client would then see the reset
  // instead of the response.
  socket.resume()
  setTimeout(() => socket.destroy(), 2_000).unref()
}

/**
 * Handles the requests of each connection one at a time. Node.js starts all pipelined requests together, so the responses to one
 * client could use too much memory. Disconnects a client that pipelines too many requests.
 */
function handleSequentially(handle: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, (() => void)[]>()
  return (request, response) => {
    const { socket } = request
    // This request was parsed together with an earlier one that exceeded the limit. The client is already disconnected.
    if (socket.destroyed) return
    const line = waiting.get(socket)
    if (line && line.length >= maxPipelined) return void socket.destroy()
    const handleNow = () => {
      response.once('close', handleNext)
      handle(request, response)
    }
    const handleNext = () => {
      const following = socket.destroyed ? undefined : waiting.get(socket)?.shift()
      if (following) following()
      else waiting.delete(socket)
    }
    if (line) return void line.push(handleNow)
    waiting.set(socket, [])
    handleNow()
  }
}
