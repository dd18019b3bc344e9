import { IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Express } from 'express'
import { hasBody, prepareEarlyAnswer } from './early-answers.js'
import { isSubscription } from './subscription-door.js'

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[]

const smallChunkBytes = 4_096
const blockBytes = 16_384
// The parser takes 1 to 2 µs per chunk. A megabyte of one-byte chunks would block the process for seconds.
const maxTinyChunks = 16_384
const tinyChunkBytes = 32

/** State of a body that arrives in small chunks. */
interface Block {
  bytes: Buffer | undefined
  used: number
  tinyChunks: number
}

// State of requests and responses.
const upgrades = new WeakSet<object>()
const blocks = new WeakMap<object, Block>()
const continued = new WeakSet<object>()

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
     * Joins small chunks of the body that arrive in one turn of the event loop. The parser creates a Buffer for each: one-byte chunks
     * would take a hundred times their size. Disconnects a client that sends thousands of tiny chunks, as no usual client does.
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

function createResponseClass() {
  return class Response extends ServerResponse<Request> {
    /** Node.js calls this for every response, also if our code does not. */
    override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
      if (hasBody(this.req)) prepareEarlyAnswer(this.req, this, continued.has(this))
      return super.writeHead(status, reason as string, headers)
    }

    override writeContinue(callback?: () => void): void {
      continued.add(this)
      super.writeContinue(callback)
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
