import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Express } from 'express'
import { errorBody } from '../../access/public-error.js'
import type { ErrorCode } from '../../platform/errors/errors.js'
import { newId } from '../../platform/ids.js'
import { originForm } from './caller.js'
import { createMessageClasses } from './http-messages.js'

const maxHeaderBytes = 16_384
// Requests of one connection that wait for the response before them.
const maxPipelined = 64
/** A client that sends its headers drop by drop is dropped (slow loris). */
const headersMs = 20_000
const checkEveryMs = 2_000

/** The HTTP server around a listener, which may hand requests to `app`: what goes wrong before there is a request is answered in JSON as well. */
export function httpServer(listener: RequestListener, app?: Express): Server {
  const answer = oneAtATime(listener)
  const server = createServer(
    {
      headersTimeout: headersMs,
      // An upload may take its time; watchBody sees to it that it keeps coming.
      requestTimeout: 0,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: checkEveryMs,
      maxHeaderSize: maxHeaderBytes,
      // The edge answers it in the one shape of all errors; Node would answer 400 with nothing at all.
      requireHostHeader: false,
      highWaterMark: 256 * 1024,
      ...createMessageClasses(app),
    },
    (request, response) => {
      request.url = originForm(request.url)
      answer(request, response)
    },
  )
  // Node would leave out the headers beyond so many without a word, and with them a second Host; their bytes are bounded.
  server.maxHeadersCount = 0
  // Answered where the body is wanted, and only then (Expect: 100-continue).
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
  // Any other expectation may be ignored (RFC 9110 §10.1.1); Node would answer 417 in its own words.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  // Without a listener Node drops the connection without a word. No tunnel is ever made here.
  server.on('connect', (_request, socket) => refuse({ code: 'CONNECT' }, socket as Socket))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuse(error, socket as Socket))
  return server
}

const faults: Record<string, [status: number, message: string, code?: ErrorCode]> = {
  CONNECT: [405, 'CONNECT is not allowed here.', 'method_not_allowed'],
  HPE_HEADER_OVERFLOW: [431, `The request line and the headers have more than ${maxHeaderBytes} bytes.`],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The headers did not come in time.'],
}

function refuse(error: { code?: string }, socket: Socket): void {
  // As Node's own handler does: an answer that has begun must not be followed by another.
  const answering = (socket as { _httpMessage?: { _headerSent?: boolean } })._httpMessage?._headerSent
  if (!socket.writable || answering || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const [status, message, code = 'bad_user_input'] = faults[error.code ?? ''] ?? [400, 'This is no well-formed HTTP request.']
  const requestId = newId('req')
  const body = JSON.stringify(errorBody({ code, message, details: { fields: [{ field: 'request', message }] } }, requestId))
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
  // Closed on unread bytes it would be reset, and the client would see that instead of the answer.
  socket.resume()
  setTimeout(() => socket.destroy(), 2_000).unref()
}

/**
 * Handles the requests of one connection one at a time. Node.js starts all pipelined requests at once: a thousand would hold a thousand
 * responses in memory, which the client need not read. A client that sends too many ahead is disconnected.
 */
function oneAtATime(handle: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, (() => void)[]>()
  return (request, response) => {
    const { socket } = request
    // What was parsed together with the request that went too far.
    if (socket.destroyed) return
    const line = waiting.get(socket)
    if (line && line.length >= maxPipelined) return void socket.destroy()
    const begin = () => {
      response.once('close', next)
      handle(request, response)
    }
    const next = () => {
      const following = socket.destroyed ? undefined : waiting.get(socket)?.shift()
      if (following) following()
      else waiting.delete(socket)
    }
    if (line) return void line.push(begin)
    waiting.set(socket, [])
    begin()
  }
}
