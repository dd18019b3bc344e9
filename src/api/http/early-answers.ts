import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

// What is left of a body up to this size is read rather than the connection given up.
const keepBytes = 64 * 1024
const lingerMs = 60_000
const silenceMs = 5_000

const lingering = new WeakSet<Socket>()

/** True for a connection that is only read from until its client hangs up: whatever request still comes on it is not answered. */
export const isLingering = (socket: Socket): boolean => lingering.has(socket)

/**
 * Answers that do not wait for the whole body. A socket that is closed on unread bytes is reset, and the client would see that
 * instead of the answer: so the rest is read and thrown away. A small rest, and the connection lives on; a large one, or one that
 * was never asked for (Expect: 100-continue), and the connection ends: our side is closed, theirs is read to its end, for a while.
 */
export function settleEarlyAnswers(request: IncomingMessage, response: ServerResponse): void {
  if (!hasBody(request)) return
  const { writeHead, writeContinue } = response
  let continued = false
  const noteContinue: typeof writeContinue = (callback) => {
    continued = true
    writeContinue.call(response, callback)
  }
  const settle = ((...parameters: Parameters<typeof writeHead>) => {
    if (!request.complete && !mayBeKept(request, continued)) {
      response.setHeader('Connection', 'close')
      request.socket.destroySoon = () => linger(request.socket)
    }
    return writeHead.apply(response, parameters)
  }) as typeof writeHead
  // Named before: a function that is made where a property is assigned outlives its call, with all that it sees, up to a full collection.
  response.writeContinue = noteContinue
  // Every answer comes by here: Node itself calls it where no code does.
  response.writeHead = settle
  response.once('finish', () => discardRest(request))
}

/** By what it says of itself, which is how the parser frames it. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

function mayBeKept({ headers }: IncomingMessage, continued: boolean): boolean {
  if (headers.expect !== undefined && !continued) return false
  return Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= keepBytes
}

function discardRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  request.unpipe()
  request.removeAllListeners('data')
  request.on('error', () => {})
  request.resume()
  const { socket } = request
  // The connection lives on: what watches it must not, or each request would leave a listener there.
  if (!lingering.has(socket))
    request.once(
      'close',
      endWhereSilent(socket, () => request.complete),
    )
}

// What Node does instead is to close both sides once the answer is written: https://www.rfc-editor.org/rfc/rfc9112#section-9.6
function linger(socket: Socket): void {
  lingering.add(socket)
  socket.end()
  endWhereSilent(socket, () => false)
}

function endWhereSilent(socket: Socket, isDone: () => boolean): () => void {
  const until = Date.now() + lingerMs
  let seen = socket.bytesRead
  const watch = setInterval(() => {
    if (isDone() || socket.destroyed) return stop()
    if (socket.bytesRead === seen || Date.now() > until) socket.destroy()
    seen = socket.bytesRead
  }, silenceMs)
  watch.unref()
  const stop = () => {
    clearInterval(watch)
    socket.off('close', stop)
  }
  socket.once('close', stop)
  return stop
}

const usualMs = 60_000

/**
 * Drops a client that takes nothing of what waits for it: without that, an answer that is not read holds its bytes and its socket for
 * ever. A socket on which nothing moves because there is nothing to send is left alone.
 */
export function dropWhereStalled(response: ServerResponse, stalledMs = usualMs): void {
  response.setTimeout(stalledMs, () => {
    if (response.socket && response.socket.writableLength > 0) response.destroy()
  })
}
