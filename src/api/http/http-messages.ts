import { IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Express } from 'express'
import { isSubscription } from './subscriptions.js'

// Only this file changes how Node.js handles requests, responses and connections. Each change is documented with its reason.
// test/unit/http-messages.test.ts and test/unit/request-bodies.test.ts fail if Node.js no longer calls the overridden methods.

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[]

const smallChunkBytes = 4_096
const blockBytes = 16_384
// Maximum number of tiny chunks per request. The parser takes 1 to 2 µs per chunk, so a megabyte of one-byte chunks would block
// the process for seconds.
const maxTinyChunks = 16_384
const tinyChunkBytes = 32

// Maximum size of a body whose unread bytes are discarded after an early response, so that the connection can be reused. After a
// response to a request with a larger body, the connection is closed.
const maxUnreadBytes = 64 * 1024
const maxLingerMs = 60_000
const maxSilenceMs = 5_000

/** Buffer that collects small chunks of a body. */
interface Block {
  bytes: Buffer | undefined
  used: number
  tinyChunks: number
}

// Additional state of requests and sockets.
const upgrades = new WeakSet<IncomingMessage>()
const blocks = new WeakMap<IncomingMessage, Block>()
const continued = new WeakSet<ServerResponse>()
const halfClosed = new WeakSet<Socket>()

type Request = InstanceType<ReturnType<typeof createRequestClass>>

/**
 * Creates the request and response classes for `http.createServer`. Express changes the prototype of each request and response to
 * its own, which doubles the CPU time of a small request. These classes already have Express's prototypes, so Express does not
 * change them.
 */
export function createMessageClasses(app: Express | undefined) {
  const [Request, Response] = [createRequestClass(), createResponseClass()]
  if (app) {
    app.request = Object.setPrototypeOf(Request.prototype, app.request)
    app.response = Object.setPrototypeOf(Response.prototype, app.response)
  }
  return { IncomingMessage: Request, ServerResponse: Response }
}

/** Returns true if the service has closed its side of the connection. Further requests on the connection are ignored. */
export const isHalfClosed = (socket: Socket): boolean => halfClosed.has(socket)

function createRequestClass() {
  return class Request extends IncomingMessage {
    /**
     * A Node.js server with an `upgrade` listener treats every upgrade request as a WebSocket, although, for example, Java's HTTP
     * client requests an h2c upgrade in every request. Therefore, this getter returns true only for subscription and CONNECT
     * requests.
     */
    get upgrade(): boolean {
      return upgrades.has(this) && (this.method === 'CONNECT' || isSubscription(this))
    }

    set upgrade(requested: boolean) {
      if (requested) upgrades.add(this)
      else upgrades.delete(this)
    }

    /**
     * Combines small body chunks that arrive in the same iteration of the event loop. The parser creates a Buffer per chunk, so
     * one-byte chunks would use a hundred times as much memory as their content. Disconnects a client that sends thousands of
     * tiny chunks, because common clients never do.
     */
    override push(chunk: Buffer | null): boolean {
      if (chunk === null || chunk.length >= smallChunkBytes) {
        flushBlock(this)
        return super.push(chunk)
      }
      const block = blocks.get(this) ?? { bytes: undefined, used: 0, tinyChunks: 0 }
      blocks.set(this, block)
      if (chunk.length < tinyChunkBytes && ++block.tinyChunks > maxTinyChunks) {
        this.socket.destroy()
        return false
      }
      if (block.used + chunk.length > blockBytes) flushBlock(this)
      if (!block.bytes) {
        block.bytes = Buffer.allocUnsafe(blockBytes)
        setImmediate(flushBlock, this)
      }
      block.used += chunk.copy(block.bytes, block.used)
      return this.readableLength + block.used < this.readableHighWaterMark
    }

    pushDirectly(bytes: Buffer): void {
      super.push(bytes)
    }
  }
}

function flushBlock(request: Request): void {
  const block = blocks.get(request)
  if (!block?.bytes) return
  const bytes = block.bytes.subarray(0, block.used)
  block.bytes = undefined
  block.used = 0
  request.pushDirectly(bytes)
}

function createResponseClass() {
  return class Response extends ServerResponse<Request> {
    /** Node.js calls this method for every response, even if the headers are sent implicitly. */
    override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
      if (hasBody(this.req)) prepareEarlyResponse(this.req, this)
      return super.writeHead(status, reason as string, headers)
    }

    override writeContinue(callback?: () => void): void {
      continued.add(this)
      super.writeContinue(callback)
    }
  }
}

/** Returns true if the headers declare a body. Node.js's parser uses the same headers. */
const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

/**
 * Prepares a response that is sent before the whole body is read. Closing a connection with unread bytes resets it, so the client
 * would see the reset instead of the response. If little of the body remains, it is discarded. If much remains, or the body was
 * not requested yet (Expect: 100-continue), only the service's side of the connection is closed (RFC 9112, section 9.6).
 */
function prepareEarlyResponse(request: IncomingMessage, response: ServerResponse): void {
  if (!request.complete && !canReuseConnection(request, response)) {
    response.setHeader('Connection', 'close')
    halfCloseSocket(request.socket)
  }
  response.once('finish', () => discardRemainingBody(request))
}

function canReuseConnection({ headers }: IncomingMessage, response: ServerResponse): boolean {
  if (headers.expect !== undefined && !continued.has(response)) return false
  return Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= maxUnreadBytes
}

/** Prevents Node.js from closing both sides of the connection after `Connection: close`. Node.js has no option for this. */
function halfCloseSocket(socket: Socket): void {
  socket.destroySoon = () => {
    halfClosed.add(socket)
    socket.end()
    closeWhenIdle(socket, () => false)
  }
}

function discardRemainingBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  request.unpipe()
  request.removeAllListeners('data')
  request.on('error', () => {})
  request.resume()
  const { socket } = request
  if (isHalfClosed(socket)) return
  // Stop watching when the request closes. Otherwise, every request on a reused connection would add another listener.
  request.once(
    'close',
    closeWhenIdle(socket, () => request.complete),
  )
}

/** Closes the socket after a period without data. Returns a function that stops watching. */
function closeWhenIdle(socket: Socket, isDone: () => boolean): () => void {
  const until = Date.now() + maxLingerMs
  let lastBytesRead = socket.bytesRead
  const watch = setInterval(() => {
    if (isDone() || socket.destroyed) return stopWatching()
    if (socket.bytesRead === lastBytesRead || Date.now() > until) socket.destroy()
    lastBytesRead = socket.bytesRead
  }, maxSilenceMs)
  watch.unref()
  const stopWatching = () => {
    clearInterval(watch)
    socket.off('close', stopWatching)
  }
  socket.once('close', stopWatching)
  return stopWatching
}
