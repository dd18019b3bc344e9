import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { isHalfClosed, replaceClose } from './half-close.js'

// An unread rest up to this size is read, so that the connection can be kept.
const maxKeptBytes = 64 * 1024
const maxLingerMs = 60_000
const maxSilenceMs = 5_000

/**
 * For a response that does not wait for the whole body; called before its headers are written. The operating system resets a connection
 * that is closed with unread bytes, and the client would see that instead of the response. So the rest of the body is read and discarded.
 * If it is large, or was not requested (Expect: 100-continue), the connection ends: our side is closed, and the client's side is read
 * for a while (RFC 9112, section 9.6).
 */
export function prepareEarlyAnswer(request: IncomingMessage, response: ServerResponse, isContinued: boolean): void {
  if (!request.complete && !mayBeKept(request, isContinued)) {
    response.setHeader('Connection', 'close')
    replaceClose(request.socket, () => {
      request.socket.end()
      closeWhenSilent(request.socket, () => false)
    })
  }
  response.once('finish', () => discardRest(request))
}

/** As the headers say, which is how the parser frames the request. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

function mayBeKept({ headers }: IncomingMessage, isContinued: boolean): boolean {
  if (headers.expect !== undefined && !isContinued) return false
  return Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= maxKeptBytes
}

function discardRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  request.unpipe()
  request.removeAllListeners('data')
  request.on('error', () => {})
  request.resume()
  const { socket } = request
  // A kept connection must not collect a listener for each request.
  if (!isHalfClosed(socket))
    request.once(
      'close',
      closeWhenSilent(socket, () => request.complete),
    )
}

/** Closes the socket if nothing arrives for a while. Returns the function that ends the watch. */
function closeWhenSilent(socket: Socket, isDone: () => boolean): () => void {
  const until = Date.now() + maxLingerMs
  let seen = socket.bytesRead
  const watch = setInterval(() => {
    if (isDone() || socket.destroyed) return stop()
    if (socket.bytesRead === seen || Date.now() > until) socket.destroy()
    seen = socket.bytesRead
  }, maxSilenceMs)
  watch.unref()
  const stop = () => {
    clearInterval(watch)
    socket.off('close', stop)
  }
  socket.once('close', stop)
  return stop
}

const stallTimeoutMs = 60_000

/**
 * Disconnects a client that does not read the response: otherwise the response would hold its bytes and its socket forever. A socket
 * without unsent bytes stays open.
 */
export function disconnectIfStalled(response: ServerResponse, timeoutMs = stallTimeoutMs): void {
  response.setTimeout(timeoutMs, () => {
    if (response.socket && response.socket.writableLength > 0) response.destroy()
  })
}
