import { IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Express } from 'express'
import { isSubscription } from './subscriptions.js'

// This is the only file that changes how Node.js handles requests, responses and connections. Each change states its reason.
// test/unit/http-messages.test.ts and test/unit/request-bodies.test.ts fail if Node.js no longer calls the overridden methods.

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[]

const smallChunkBytes = 4_096
const blockBytes = 16_384
// The parser takes 1 to 2 µs per chunk, so a megabyte of one-byte chunks would block the process for seconds.
const maxTinyChunks = 16_384
const tinyChunkBytes = 32

// An unread rest of a body up to this size is read and discarded, so that the connection can be reused.
const maxUnreadBytes = 64 * 1024
const maxLingerMs = 60_000
const maxSilenceMs = 5_000

/** Part of a body that arrives in small chunks. */
interface Block {
  bytes: Buffer | undefined
  used: number
  tinyChunks: number
}

// Extra state of requests, responses and sockets.
const upgrades = new WeakSet<IncomingMessage>()
const blocks = new WeakMap<IncomingMessage, Block>()
const continued = new WeakSet<ServerResponse>()
const halfClosed = new WeakSet<Socket>()

type Request = InstanceType<ReturnType<typeof createRequestClass>>

/**
 * The classes of a server's requests and responses (options of `http.createServer`). Express sets the prototype of each request and
 * response to that of its application. An object whose prototype changes is slow: this doubled the CPU time of a small request. So the
 * classes are also the prototypes of the application, and nothing changes.
 */
export function createMessageClasses(app: Express | undefined) {
  const [Request, Response] = [createRequestClass(), createResponseClass()]
  if (app) {
    app.request = Object.setPrototypeOf(Request.prototype, app.request)
    app.response = Object.setPrototypeOf(Response.prototype, app.response)
  }
  return { IncomingMessage: Request, ServerResponse: Response }
}

/** True if our side of the connection is closed. No further requests on it are handled. */
export const isHalfClosed = (socket: Socket): boolean => halfClosed.has(socket)

function createRequestClass() {
  return class Request extends IncomingMessage {
    /**
     * A server with an `upgrade` listener treats each request to upgrade as a WebSocket. Java's client requests h2c with every request.
     * Requests that are not for our WebSocket are handled as if no such listener existed.
     */
    get upgrade(): boolean {
      return upgrades.has(this) && (this.method === 'CONNECT' || isSubscription(this))
    }

    set upgrade(requested: boolean) {
      if (requested) upgrades.add(this)
      else upgrades.delete(this)
    }

    /**
     * Combines small chunks of the body that arrive in the same iteration of the event loop. The parser creates a Buffer for each chunk, so
     * one-byte chunks would take a hundred times their size. Disconnects a client that sends thousands of tiny chunks, which common clients
     * never do.
     */
    override push(chunk: Buffer | null): boolean {
      if (chunk === null || chunk.length >= smallChunkBytes) {
        flush(this)
        return super.push(chunk)
      }
      const block = blocks.get(this) ?? { bytes: undefined, used: 0, tinyChunks: 0 }
      blocks.set(this, block)
      if (chunk.length < tinyChunkBytes && ++block.tinyChunks > maxTinyChunks) {
        this.socket.destroy()
        return false
      }
      if (block.used + chunk.length > blockBytes) flush(this)
      if (!block.bytes) {
        block.bytes = Buffer.allocUnsafe(blockBytes)
        setImmediate(flush, this)
      }
      block.used += chunk.copy(block.bytes, block.used)
      return this.readableLength + block.used < this.readableHighWaterMark
    }

    pushWhole(bytes: Buffer): void {
      super.push(bytes)
    }
  }
}

function flush(request: Request): void {
  const block = blocks.get(request)
  if (!block?.bytes) return
  const bytes = block.bytes.subarray(0, block.used)
  block.bytes = undefined
  block.used = 0
  request.pushWhole(bytes)
}

function createResponseClass() {
  return class Response extends ServerResponse<Request> {
    /** Node.js calls this for every response, even if our code does not. */
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

/** According to the headers, which also determine how the parser frames the request. */
const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

/**
 * Prepares a response that does not wait for the whole body. If a connection is closed with unread bytes, the operating system resets it,
 * and the client sees the reset instead of the response. Therefore the rest of the body is read and discarded. If it is large, or was not
 * requested yet (Expect: 100-continue), our side of the connection is closed and the client's side is read for a while (RFC 9112, section
 * 9.6).
 */
function prepareEarlyResponse(request: IncomingMessage, response: ServerResponse): void {
  if (!request.complete && !canReuseConnection(request, response)) {
    response.setHeader('Connection', 'close')
    closeOwnSideOnly(request.socket)
  }
  response.once('finish', () => discardRest(request))
}

function canReuseConnection({ headers }: IncomingMessage, response: ServerResponse): boolean {
  if (headers.expect !== undefined && !continued.has(response)) return false
  return Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= maxUnreadBytes
}

/** Node.js calls `socket.destroySoon()` after a response with `Connection: close`, which closes both sides. It has no option for this. */
function closeOwnSideOnly(socket: Socket): void {
  socket.destroySoon = () => {
    halfClosed.add(socket)
    socket.end()
    closeWhenSilent(socket, () => false)
  }
}

function discardRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  request.unpipe()
  request.removeAllListeners('data')
  request.on('error', () => {})
  request.resume()
  const { socket } = request
  if (isHalfClosed(socket)) return
  // Do not add a listener for each request of a reused connection.
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
